"""Every picture can be drawn, shows the names as they are, and is the same bytes each time."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from matplotlib.image import imread

import cassini_core as cc
from cassini_core import Job, Phase, Problem
from cassini_core.plots.affinity import affinity_plot_data
from cassini_core.plots.affinity_drawing import affinity_figure
from cassini_core.plots.candidates import candidates_figure, candidates_plot_data
from cassini_core.plots.circles import circles_figure, circles_plot_data
from cassini_core.plots.demand import demand_figure, demand_plot_data
from cassini_core.plots.figures import DARK, LIGHT, PALETTE, Theme, figure_bytes, plot_label
from cassini_core.plots.job import job_figure
from cassini_core.plots.job_styles import job_styles
from cassini_core.plots.landscape import landscape_figure, landscape_plot_data
from cassini_core.plots.placed_links import placed_links
from strategies import loop_problems

NAMES = ["$x^2$", "a\nb", "\u202eabc", "x" * 200, "日本語", "<&>%#_{}\\", "a", "b", "c", "d", "e", "f"]
CROWD = [Job(name, 200, [Phase(15 * at, 30, 20)]) for at, name in enumerate(NAMES)]
SHIFTS = {name: 7.0 * at for at, name in enumerate(NAMES)}


def pictures(problem: Problem) -> list[Callable[[Theme], Any]]:
    """All pictures of a problem's best candidate and of its worst link."""
    ranking = cc.rank(problem)
    data = candidates_plot_data(ranking)
    found: list[Callable[[Theme], Any]] = [lambda theme: candidates_figure(data, theme=theme)]
    assert ranking.best is not None
    links = placed_links(problem, ranking, ranking.best)
    known = [job.id for job in problem.jobs]
    if links:
        one = links[0]
        on_link: Any = (one.jobs, one.capacity_gbps, one.shifts_ms)
        found += [
            lambda theme: demand_figure(demand_plot_data(*on_link, one.free_jobs), known_jobs=known, theme=theme),
            lambda theme: circles_figure(circles_plot_data(*on_link, one.free_jobs), known_jobs=known, theme=theme),
        ]
        if len(one.jobs) > 1:
            found.append(lambda theme: landscape_figure(landscape_plot_data(*on_link), theme=theme))
    if any(len(link.jobs) > 1 for link in links):
        found.append(lambda theme: affinity_figure(affinity_plot_data(links), theme=theme))
    return found


@settings(max_examples=2)
@given(loop_problems(max_candidates=2), st.sampled_from([LIGHT, DARK]))
def test_whatever_is_valid_can_be_drawn(problem: Problem, theme: Theme) -> None:
    for draw in pictures(problem):
        assert figure_bytes(draw(theme), "svg").startswith(b"<?xml")


def test_names_are_shown_as_they_are_and_of_many_jobs_some() -> None:
    data = demand_plot_data(CROWD, 50, SHIFTS)
    for figure in (demand_figure(data), circles_figure(circles_plot_data(CROWD, 50, SHIFTS))):
        text = figure_bytes(figure, "svg").decode()
        assert "$x^2$, shift 0 ms" in text
        assert r"a\nb, shift 7 ms" in text
        assert "and 5 more jobs" in text
    figure_bytes(demand_figure(data), "png")  # glyphs that the font lacks are no error and no warning


def test_labels_are_short_and_keep_both_ends() -> None:
    assert plot_label("x" * 28) == "x" * 28
    assert plot_label("head" + "x" * 200 + "tail") == "head" + "x" * 10 + "…" + "x" * 9 + "tail"
    assert plot_label("$a$\n") == r"\$a\$\n"


def test_each_picture_is_the_same_bytes_each_time() -> None:
    problem = cc.load_problem("examples/three-racks.json")
    once, twice = ([draw(DARK) for draw in pictures(problem)[::2]] for _ in range(2))
    assert [figure_bytes(figure, "svg") for figure in once] == [figure_bytes(figure, "svg") for figure in twice]


def test_jobs_are_told_apart_and_keep_their_colour() -> None:
    known = [f"j{at:02}" for at in range(42)]
    styles = job_styles(known)
    assert len(set(styles.values())) == 42
    assert all(style.hatch == "" for style in list(styles.values())[: len(PALETTE)])
    assert job_styles(["j03", "j30"], known) == {job: styles[job] for job in ("j03", "j30")}
    crowd = [f"j{at:03}" for at in range(500)]
    assert len(set(job_styles(["j000", "j042", "j084"], crowd).values())) == 3


def luminance(colour: str) -> float:
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
    return float(0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2])


def contrast(one: str, two: str) -> float:
    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_texts_stand_out_and_jobs_differ_from_what_is_behind_them(theme: Theme) -> None:
    assert contrast(theme.ink, theme.background) >= 7
    assert contrast(theme.muted, theme.background) >= 7
    # Every area of a job has an outline of ink or lies beside others.
    assert all(contrast(colour, theme.background) >= (3 if theme is DARK else 1.2) for colour in PALETTE)


def test_what_is_above_the_capacity_is_hatched_and_nothing_else() -> None:
    twins = [Job(name, 100, [Phase(0, 50, 40)]) for name in "ab"]
    figure = demand_figure(demand_plot_data(twins, 50, {"b": 50}))
    pixels = imread(io.BytesIO(figure_bytes(figure, "png")), format="png")

    def colours(axes: Any, times: tuple[float, float], gbps: tuple[float, float]) -> int:
        (left, low), (right, high) = (
            axes.transData.transform(at) * 150 / figure.dpi for at in zip(times, gbps, strict=True)
        )
        height = pixels.shape[0]
        part = pixels[height - round(high) : height - round(low), round(left) : round(right), :3]
        return len({tuple(pixel) for row in (part * 255).round().astype(int).tolist() for pixel in row})

    before, after = figure.axes
    assert colours(before, (5, 45), (55, 75)) > 2
    assert colours(before, (5, 45), (5, 35)) == 1
    assert colours(after, (5, 45), (5, 35)) == 1


def test_modules_of_pictures_load_no_matplotlib() -> None:
    program = """
import sys
from cassini_core.plots import affinity, affinity_drawing, candidates, circles, demand, job, landscape
print([name for name in ("matplotlib", "networkx") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_an_svg_names_its_jobs_as_text() -> None:
    job = Job("vgg16", 255, [Phase(141, 114, 45)])
    assert re.search("<text[^>]*>vgg16</text>", figure_bytes(job_figure(job, DARK), "svg").decode())
