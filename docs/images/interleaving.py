"""Draws interleaving.svg: what a link of the best placement of the example carries, before and after the shifts.

The ranking is made anew, so the picture shows what ``cassini-core rank examples/three-racks.json`` answers.
Colours are those of Okabe and Ito, which colour-blind readers can tell apart. ::

    python docs/images/interleaving.py
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import cassini_core as cc

HERE = Path(__file__).parent
PROBLEM = HERE.parents[1] / "examples" / "three-racks.json"
PICTURE = HERE / "interleaving.svg"

JOB_COLOURS = ("#0072B2", "#E69F00")
WIDTH, LEFT, RIGHT = 820, 62, 12
PANEL_HEIGHT, PANEL_TOPS, HEIGHT = 130, (62, 262), 440
SHOWN_MS, HIGHEST_GBPS = 750.0, 100.0

Step = tuple[float, float, float]
"""From, until (ms), and the demand there (Gbit/s)."""


def gbps_at(job: cc.Job, shift_ms: float, time_ms: float) -> float:
    """Demand of a job that starts ``shift_ms`` late, Gbit/s."""
    into = (time_ms - shift_ms) % job.iteration_ms
    return sum(p.gbps for p in job.phases if (into - p.start_ms) % job.iteration_ms < p.duration_ms)


def steps(jobs: Sequence[cc.Job], shifts_ms: Mapping[str, float]) -> Iterator[tuple[float, float, list[float]]]:
    """The stretches of time in which no job's demand changes: from, until, and the demand of each job."""
    edges = {0.0, SHOWN_MS}
    for job in jobs:
        for phase in job.phases:
            for into in (phase.start_ms, phase.start_ms + phase.duration_ms):
                first = (into + shifts_ms[job.id]) % job.iteration_ms
                edges |= {first + k * job.iteration_ms for k in range(int(SHOWN_MS / job.iteration_ms) + 1)}
    times = sorted(time for time in edges if time <= SHOWN_MS)
    for start, end in itertools.pairwise(times):
        yield start, end, [gbps_at(job, shifts_ms[job.id], (start + end) / 2) for job in jobs]


def x(time_ms: float) -> float:
    return LEFT + time_ms / SHOWN_MS * (WIDTH - LEFT - RIGHT)


def y(gbps: float, top: float) -> float:
    return top + PANEL_HEIGHT * (1 - gbps / HIGHEST_GBPS)


def box(start: float, end: float, low: float, high: float, top: float, fill: str) -> str:
    size = f'width="{x(end) - x(start):.1f}" height="{y(low, top) - y(high, top):.1f}"'
    return f'<rect x="{x(start):.1f}" y="{y(high, top):.1f}" {size} fill="{fill}"/>'


def text(at_x: float, at_y: float, words: str, more: str = "") -> str:
    return f'<text x="{at_x:.1f}" y="{at_y:.1f}"{more}>{words}</text>'


def panel(
    top: float, title: str, jobs: Sequence[cc.Job], shifts_ms: Mapping[str, float], link: cc.Link
) -> Iterator[str]:
    """Demand of the jobs on top of each other, the capacity as a line, what exceeds it hatched."""
    yield text(LEFT, top - 8, title, ' font-weight="bold"')
    for start, end, demands in steps(jobs, shifts_ms):
        low = 0.0
        for colour, demand in zip(JOB_COLOURS, demands, strict=True):
            if demand:
                yield box(start, end, low, low + demand, top, colour)
            low += demand
        if low > link.capacity_gbps:
            yield box(start, end, link.capacity_gbps, low, top, "url(#excess)")
    bottom, capacity = y(0, top), y(link.capacity_gbps, top)
    yield f'<path d="M{LEFT} {top}V{bottom}H{WIDTH - RIGHT}" fill="none" stroke="#000"/>'
    yield f'<path d="M{LEFT} {capacity}H{WIDTH - RIGHT}" stroke="#000" stroke-width="2" stroke-dasharray="7 4"/>'
    for gbps in (0, 50, 100):
        yield text(LEFT - 6, y(gbps, top) + 4, f"{gbps}", ' text-anchor="end"')
    for time in range(0, int(SHOWN_MS) + 1, 250):
        more = f' text-anchor="{"end" if time == SHOWN_MS else "middle"}"'
        yield text(x(time), bottom + 16, f"{time}", more)


def picture() -> str:
    """The whole SVG file."""
    problem = cc.load_problem(PROBLEM)
    ranking = cc.rank(problem)
    best = ranking[0]
    link = next(link for link in problem.links if link.id == "S2-up1")
    routes = next(one for one in problem.candidates if one.id == best.id).routes
    jobs = [
        cc.Job(job.id, ranking.paces_ms[job.id], job.phases)
        for job in problem.jobs
        if link.id in routes.get(job.id, ())
    ]
    together = {job.id: 0.0 for job in jobs}
    shifted = {job.id: best.shifts_ms[job.id] for job in jobs}
    before, after = (cc.score_link(jobs, link, shifts) for shifts in (together, shifted))
    first, second = (job.id for job in jobs)
    titles = (
        f"No shifts: score {before:.2f}",
        f"{second} starts {shifted[second] - shifted[first]:.1f} ms later: score {after:.2f}",
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        ' font-family="sans-serif" font-size="14">',
        f"<title>Demand on link {link.id} before and after the shifts</title>",
        '<defs><pattern id="excess" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<rect width="7" height="7" fill="#fff" fill-opacity="0.35"/><path d="M0 0V7" stroke="#000" stroke-width="3"/>'
        "</pattern></defs>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
    ]
    at = float(LEFT)
    for fill, words in (*zip(JOB_COLOURS, (job.id for job in jobs), strict=True), ("url(#excess)", "above capacity")):
        lines += [
            f'<rect x="{at:.1f}" y="9" width="16" height="14" fill="{fill}" stroke="#000"/>',
            text(at + 22, 21, words),
        ]
        at += 50 + 8 * len(words)
    lines += [
        f'<path d="M{at} 16h28" stroke="#000" stroke-width="2" stroke-dasharray="7 4"/>',
        text(at + 34, 21, f"capacity of link {link.id}, {link.capacity_gbps:g} Gbit/s"),
    ]
    for top, title, shifts in zip(PANEL_TOPS, titles, (together, shifted), strict=True):
        lines += panel(top, title, jobs, shifts, link)
    middle = sum(PANEL_TOPS) / 2 + PANEL_HEIGHT / 2
    turned = f' text-anchor="middle" transform="rotate(-90 16 {middle:.0f})"'
    lines += [
        text(16, middle, "demand, Gbit/s", turned),
        text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, "time, ms", ' text-anchor="middle"'),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
