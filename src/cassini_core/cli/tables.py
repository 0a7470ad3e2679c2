"""Tables for people: a ranking, the shifts of a candidate, one link, a profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from ..formats import magnitude_text, ms_text, ms_text_down, score_text
from ..model import Job
from ..profiles.phases import demand_steps, volume_mbit
from ..ranking.conclusion import proof_text
from ..results import LinkScore, LinkSolution, NarrowLink, RankedCandidate, Ranking
from .console import one_line

if TYPE_CHECKING:
    from ..profiles.kineto import CollectiveProfile, KinetoProfile

__all__ = [
    "Listing",
    "collective_table",
    "group_table",
    "link_table",
    "narrow_table",
    "phase_table",
    "ranking_table",
    "shift_table",
    "volume_sentence",
]

FREE = "shift does not matter"

LEAST_WIDTH = 10
"""Columns below which a folded text cannot be read any more."""

GAP = 2
"""Columns between two cells."""

MOST_COLLECTIVES = 20
"""More than these are summarised."""


@dataclass
class Listing:
    """A table, or one paragraph per row where the terminal is too narrow for a table.

    ``alignment`` has one letter per column: ``l`` left and folded (never cut) where space is short, ``r`` right and
    ``c`` left, both never broken.
    """

    title: str
    headers: tuple[str, ...]
    alignment: str
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add(self, *cells: str) -> None:
        """Append a row, whatever characters it holds."""
        self.rows.append(tuple(one_line(cell) for cell in cells))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._as_table() if self._least_width() <= options.max_width else self._as_paragraphs()

    def _least_width(self) -> int:
        widths = [max(map(cell_len, column)) for column in zip(self.headers, *self.rows, strict=True)]
        shrunk = (min(w, LEAST_WIDTH) if how == "l" else w for w, how in zip(widths, self.alignment, strict=True))
        return sum(shrunk) + GAP * len(widths)

    def _as_table(self) -> Table:
        # A Text is never read as markup: an id such as "[red]" stays what it is.
        table = Table(
            title=Text(self.title), title_justify="left", title_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 0)
        )
        for header, how in zip(self.headers, self.alignment, strict=True):
            table.add_column(
                Text(header), justify="right" if how == "r" else "left", overflow="fold", no_wrap=how != "l"
            )
        for row in self.rows:
            table.add_row(*map(Text, row))
        return table

    def _as_paragraphs(self) -> Text:
        lines = [
            ", ".join(f"{header} {cell}".strip() for header, cell in zip(self.headers, row, strict=True))
            for row in self.rows
        ]
        return Text("\n".join([self.title, *lines, ""]), overflow="fold")


def ranking_table(ranking: Ranking, top: int | None = None) -> Listing:
    """One row per candidate, best first, at most ``top``. Jobs are counted where candidates place more or fewer."""
    counts = len({candidate.jobs_placed for candidate in ranking.candidates}) > 1
    headers = ("", "candidate", *["jobs"] * counts, "score", "bound", "proof", "status", "hold ms", "worst link")
    table = Listing("Candidates, best first", headers, f"rl{'r' * counts}rrccrl")
    for row, candidate in enumerate(ranking.candidates[:top], start=1):
        table.add(
            str(row),
            candidate.id,
            *[str(candidate.jobs_placed)] * counts,
            "-" if candidate.score is None else score_text(candidate.score),
            score_text(candidate.upper_bound),
            proof_text(candidate),
            candidate.status.replace("_", " "),
            "-" if candidate.hold_ms is None else ms_text_down(candidate.hold_ms),
            _worst_text(candidate),
        )
    return table


def shift_table(candidate: RankedCandidate, jobs: Sequence[Job], paces_ms: Mapping[str, float]) -> Listing:
    """Shift, slack and pace of every job of a candidate that shares a link, in the order of ``jobs``."""
    headers = ("job", "shift ms", "slack ms", "pace ms", "longer by")
    table = Listing(f'Shifts of "{one_line(candidate.id)}"', headers, "lrrrr")
    free = set(candidate.free_jobs)
    for job in jobs:
        if job.id not in candidate.shifts_ms and job.id not in free:
            continue
        pace = paces_ms.get(job.id, job.iteration_ms)
        longer = pace / job.iteration_ms - 1
        cells = _shift_cells(job.id, candidate.shifts_ms, candidate.slack_ms, free)
        table.add(job.id, *cells, ms_text(pace), f"{magnitude_text(100 * longer)} %" if longer > 0 else "-")
    return table


def narrow_table(candidate: RankedCandidate, rows: int) -> Listing:
    """The worst links that are too narrow for their only job, and how much of its demand finds no room."""
    headers = ("link", "job", "Gbit/s above capacity, on average", "score")
    table = Listing("Narrow links: too narrow for their only job", headers, "llrr")
    for link in sorted(candidate.narrow_links, key=lambda one: (one.score, one.id))[:rows]:
        table.add(link.id, link.job, magnitude_text(link.excess_gbps), score_text(link.score))
    return table


def link_table(solution: LinkSolution, jobs: Sequence[Job]) -> Listing:
    """Shift and slack of every job of one link."""
    table = Listing("Shifts", ("job", "iteration ms", "shift ms", "slack ms"), "lrrr")
    free = set(solution.free_jobs)
    for job in jobs:
        table.add(job.id, ms_text(job.iteration_ms), *_shift_cells(job.id, solution.shifts_ms, solution.slack_ms, free))
    return table


def phase_table(job: Job) -> Listing:
    """The phases of a job in which it uses the network."""
    table = Listing(f'Phases of "{one_line(job.id)}"', ("start ms", "duration ms", "Gbit/s", "MB"), "rrrr")
    for phase in job.phases:
        megabytes = phase.duration_ms * phase.gbps / 8
        table.add(ms_text(phase.start_ms), ms_text(phase.duration_ms), f"{phase.gbps:.3f}", f"{megabytes:.3f}")
    return table


def volume_sentence(job: Job) -> str:
    """What the job sends in an iteration."""
    volume, peak = volume_mbit(job.phases), demand_steps(job.phases, job.iteration_ms)[1].max()
    return (
        f"One iteration takes {ms_text(job.iteration_ms)} ms and puts {volume / 8:.3f} MB on the wire "
        f"({volume / job.iteration_ms:.3f} Gbit/s on average, {peak:.3f} at most)."
    )


def collective_table(profile: KinetoProfile) -> Listing:
    """The collectives of an iteration: what was measured; many as one line per kind and group."""
    if len(profile.collectives) > MOST_COLLECTIVES:
        return _collective_summary(profile)
    headers = ("collective", "group", "ranks", "MB on the wire", "start ms", "typical ms", "least", "most", "Gbit/s")
    table = Listing("Collectives of one iteration", headers, "llrrrrrrr")
    for one in profile.collectives:
        table.add(
            one.name,
            one.group or "-",
            "-" if one.group_size is None else str(one.group_size),
            _mb_text(one.wire_bytes),
            ms_text(one.start_ms),
            *(ms_text(time) for time in (one.duration_ms.typical, one.duration_ms.least, one.duration_ms.most)),
            f"{one.gbps:.3f}" + (" given" if one.assumed else ""),
        )
    return table


def _collective_summary(profile: KinetoProfile) -> Listing:
    headers = ("collective", "group", "ranks", "count", "MB on the wire", "typical ms in all", "most Gbit/s")
    table = Listing("Collectives of one iteration", headers, "llrrrrr")
    alike: dict[tuple[str, str, int | None], list[CollectiveProfile]] = {}
    for one in profile.collectives:
        alike.setdefault((one.name, one.group, one.group_size), []).append(one)
    for (name, group, size), rows in sorted(alike.items(), key=lambda item: -sum(r.wire_bytes or 0 for r in item[1])):
        known = [row.wire_bytes for row in rows if row.wire_bytes is not None]
        table.add(
            name,
            group or "-",
            "-" if size is None else str(size),
            str(len(rows)),
            _mb_text(sum(known) if len(known) == len(rows) else None),
            ms_text(sum(row.duration_ms.typical for row in rows)),
            f"{max(row.gbps for row in rows):.3f}" + (" given" if any(row.assumed for row in rows) else ""),
        )
    return table


def group_table(profile: KinetoProfile) -> Listing:
    """The process groups, and which of them count."""
    table = Listing("Process groups", ("group", "ranks", "collectives", "MB on the wire", "counted"), "llrrl")
    for group in profile.groups:
        ranks = ", ".join(map(str, group.ranks[:8])) + (", ..." if len(group.ranks) > 8 else "")
        table.add(
            group.name or "-",
            ranks or ("-" if group.size is None else f"{group.size} ranks"),
            f"{group.collectives:g}",
            _mb_text(group.wire_bytes),
            "yes" if group.counted else "no",
        )
    return table


def _mb_text(size: float | None) -> str:
    return "not recorded" if size is None else f"{size / 1e6:.3f}"


def _shift_cells(job: str, shifts: Mapping[str, float], slacks: Mapping[str, float], free: set[str]) -> tuple[str, str]:
    if job in free:
        return FREE, "any"
    return ms_text(shifts[job]), ms_text_down(slacks[job]) if job in slacks else "-"


def _worst_text(candidate: RankedCandidate) -> str:
    if candidate.worst_link is None:
        return "-"
    links: list[LinkScore | NarrowLink] = [*candidate.links, *candidate.narrow_links]
    scores = [link.score for link in links if link.id == candidate.worst_link]
    if not scores or scores[0] is None:
        return candidate.worst_link
    return f"{candidate.worst_link} {score_text(scores[0])}"
