"""The affinity graph drawn in two columns: jobs on the left, links on the right, time-shifts on the lines between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..formats import counted, score_text, short
from ..joint.affinity import affinity_graph, components, job_node, link_node
from .figures import LIGHT, PALETTE, Look, Theme, figure_title, key_below, new_figure, plot_label
from .job_styles import job_styles
from .link_legend import shift_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["affinity_figure"]

Rows = Mapping[tuple[int, str], float]
"""Node to its height in the picture; 0 is the uppermost."""

SWEEPS = 8
"""How often each column is put in the order of its neighbours: crossings hardly get fewer after some."""

LOOP_COLOURS = (PALETTE[5], PALETTE[0], PALETTE[2], PALETTE[3])
LOOP_LINES = ("-", (0, (6, 2)), (0, (6, 2, 1, 2)), (0, (1, 1)))

PLACES = (0.5, 0.36, 0.64, 0.22, 0.78, 0.29, 0.71, 0.43, 0.57, 0.12, 0.88)
"""Where on an edge its label may lie, the best first; 0 is at the job."""

LABEL_WIDTH, LABEL_HEIGHT = 0.13, 0.5
"""About what a label takes, in units of the picture's width and of a row."""

LINE_DISTANCE = 0.2
"""How near another line may come to the middle of a label, in rows."""


def affinity_figure(
    data: Mapping[str, Any], *, title: str = "", known_jobs: Sequence[str] = (), theme: Theme = LIGHT
) -> Figure:
    """Draw the numbers of :func:`~cassini_core.plots.affinity.affinity_plot_data`.

    ``known_jobs`` are all jobs of the answer: a job has one colour in all its pictures. InputError where matplotlib is
    missing.
    """
    rows = _rows(data)
    n_rows = 1 + max(rows.values())
    figure = new_figure(9.0, 1.9 + 0.42 * n_rows, theme)
    figure_title(figure, title or "Affinity graph", theme)
    axes = figure.subplots()
    _draw_edges(axes, data, rows, theme)
    _draw_jobs(axes, data, rows, known_jobs, theme)
    _draw_links(axes, data, rows, theme)
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(n_rows - 0.5, -0.5)
    axes.set_axis_off()
    key_below(figure, _key(data, theme), theme, _left_out(data))
    return figure


def _rows(data: Mapping[str, Any]) -> Rows:
    """Heights: one component below the other, and in each both columns in the order of their neighbours."""
    links = {link["id"]: dict[str, int]() for link in data["links"]}
    for edge in data["edges"]:
        links[edge["link"]][edge["job"]] = 0
    graph = affinity_graph(links)
    rows: dict[tuple[int, str], float] = {}
    top = 0.0
    for component in components(graph):
        columns = [[job_node(job) for job in component.jobs], [link_node(link) for link in component.links]]
        tall = max(map(len, columns))
        for sweep in range(SWEEPS):
            for side in (1, 0) if sweep else (0, 1):
                column = columns[side]
                if sweep:
                    mean = {node: sum(rows[other] for other in graph[node]) / len(graph[node]) for node in column}
                    column.sort(key=lambda node: (mean[node], node))
                rows |= {node: top + (at + 0.5) * tall / len(column) - 0.5 for at, node in enumerate(column)}
        top += tall
    return rows


def _draw_jobs(axes: Axes, data: Mapping[str, Any], rows: Rows, known_jobs: Sequence[str], theme: Theme) -> None:
    styles = job_styles([job["id"] for job in data["jobs"]], known_jobs)
    for job in data["jobs"]:
        at, style = rows[job_node(job["id"])], styles[job["id"]]
        shift = f"\n{shift_words(job)}" if job["is_free"] or job["shift_ms"] is not None else ""
        look: Look = {"marker": "s", "markersize": 13, "color": style.colour, "markeredgecolor": theme.ink}
        axes.plot([0], [at], **look, zorder=3)
        _name(axes, 0, at, -14, f"{plot_label(job['id'])}{shift}", theme)


def _draw_links(axes: Axes, data: Mapping[str, Any], rows: Rows, theme: Theme) -> None:
    for link in data["links"]:
        at = rows[link_node(link["id"])]
        loop = _loop(data, link["block"])
        look: Look = {"marker": "o", "markersize": 13, "color": theme.background, "markeredgewidth": 2.2}
        outline = theme.muted if loop is None else LOOP_COLOURS[loop % len(LOOP_COLOURS)]
        axes.plot([1], [at], **look, markeredgecolor=outline, zorder=3)
        _name(axes, 1, at, 14, _link_words(link, loop), theme)


def _draw_edges(axes: Axes, data: Mapping[str, Any], rows: Rows, theme: Theme) -> None:
    block_of = {link["id"]: link["block"] for link in data["links"]}
    taken: list[tuple[float, float]] = []
    lines = [(rows[job_node(edge["job"])], rows[link_node(edge["link"])], edge) for edge in data["edges"]]
    for begin, end, edge in sorted(lines, key=lambda line: (line[0], line[1], line[2]["job"], line[2]["link"])):
        loop = _loop(data, block_of[edge["link"]])
        if edge["is_free"]:
            look: Look = {"color": theme.muted, "linewidth": 1.0, "linestyle": ":"}
        elif loop is None:
            look = {"color": theme.muted, "linewidth": 1.4}
        else:
            look = _loop_look(loop)
        axes.plot([0, 1], [begin, end], zorder=1, **look)
        if edge["is_free"] or edge["shift_ms"] is None:
            continue
        others = [(low, high) for low, high, other in lines if other is not edge]
        place = _label_place((begin, end), others, taken)
        taken.append(place)
        box = {"facecolor": theme.background, "edgecolor": "none", "pad": 1.2}
        axes.text(
            *place, short(edge["shift_ms"]), ha="center", va="center", fontsize=8, color=theme.ink, bbox=box, zorder=2
        )


def _label_place(
    line: tuple[float, float], others: Sequence[tuple[float, float]], taken: Sequence[tuple[float, float]]
) -> tuple[float, float]:
    """Where on a line its label may lie: best where no other line or label is near, else where no label is."""
    begin, end = line
    places = [(share, begin + share * (end - begin)) for share in PLACES]
    clear = [
        (x, y)
        for x, y in places
        if all(abs(x - at_x) >= LABEL_WIDTH or abs(y - at_y) >= LABEL_HEIGHT for at_x, at_y in taken)
    ]
    alone = [
        (x, y) for x, y in clear if all(abs(y - (low + x * (high - low))) >= LINE_DISTANCE for low, high in others)
    ]
    return [*alone, *clear, *places][0]


def _loop(data: Mapping[str, Any], block: int | None) -> int | None:
    """The number of a cyclic block among the cyclic ones."""
    if block is None or not data["blocks"][block]["is_cyclic"]:
        return None
    return sum(bool(one["is_cyclic"]) for one in data["blocks"][:block])


def _loop_look(loop: int) -> Look:
    kind = loop % len(LOOP_COLOURS)
    return {"color": LOOP_COLOURS[kind], "linewidth": 2.2, "linestyle": LOOP_LINES[kind]}


def _link_words(link: Mapping[str, Any], loop: int | None) -> str:
    """The id, how many links pose its problem, its score and its loop."""
    n_equal = len(link["ids"])
    name = plot_label(link["id"]) + (f" and {n_equal - 1} equal" if n_equal > 1 else "")
    score = (
        f"at most {score_text(link['upper_bound'])}" if link["score"] is None else f"score {score_text(link['score'])}"
    )
    return f"{name}\n{score}{'' if loop is None else f', loop {loop + 1}'}"


def _name(axes: Axes, x: float, y: float, offset: float, words: str, theme: Theme) -> None:
    axes.annotate(
        words,
        (x, y),
        xytext=(offset, 0),
        textcoords="offset points",
        ha="left" if offset > 0 else "right",
        va="center",
        fontsize=9,
        color=theme.ink,
        annotation_clip=False,
    )


def _left_out(data: Mapping[str, Any]) -> str:
    jobs, links = data["left_out"]["jobs"], data["left_out"]["links"]
    if not jobs and not links:
        return ""
    return f"not shown: {counted(jobs, 'more job')}, {counted(links, 'more shared link')}"


def _key(data: Mapping[str, Any], theme: Theme) -> list[Any]:
    from matplotlib.lines import Line2D

    job: Look = {"marker": "s", "markersize": 9, "color": theme.fill, "markeredgecolor": theme.ink, "linestyle": ""}
    link: Look = {"marker": "o", "markersize": 9, "color": theme.background, "markeredgewidth": 2, "linestyle": ""}
    key = [
        Line2D([], [], **job, label="job, with its shift"),
        Line2D([], [], **link, markeredgecolor=theme.muted, label="link that jobs share"),
        Line2D([], [], color=theme.muted, linewidth=1.4, label="number: time-shift on the link, ms"),
    ]
    if any(edge["is_free"] for edge in data["edges"]):
        key.append(Line2D([], [], color=theme.muted, linestyle=":", label="the job's shift does not matter here"))
    if any(block["is_cyclic"] for block in data["blocks"]):
        key.append(Line2D([], [], **_loop_look(0), label="loop: its links are solved together"))
    return key
