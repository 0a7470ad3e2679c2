"""The picture of a job: its numbers are the job's, what is drawn are its numbers, and the file shows it."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import imread

from cassini_core import InputError, Job, Phase
from cassini_core.plots.figures import FORMATS, PALETTE, figure_bytes, plot_format
from cassini_core.plots.job import job_figure, job_plot_data
from cassini_core.profiles.phases import volume_mbit
from strategies import jobs

VGG = Job("vgg16", 255, [Phase(141, 114, 45)])
TOUCHING = Job("touching", 100, [Phase(80, 30, 20), Phase(10, 0.3, 5), Phase(10.3, 20, 40)])


def drawn(job: Job) -> tuple[Any, Any]:
    along, circle = job_figure(job).axes
    return along, circle


@given(jobs(20))
def test_the_numbers_carry_the_bytes_of_the_job(job: Job) -> None:
    data = job_plot_data(job)
    times, rates = data["demand"]["time_ms"], data["demand"]["gbps"]
    assert times == sorted(times)
    assert (times[0], times[-1]) == (0, job.iteration_ms)
    area = sum((end - begin) * rate for begin, end, rate in zip(times, times[1:], rates, strict=False))
    assert area == pytest.approx(volume_mbit(job.phases))
    turned = sum((arc["to_degrees"] - arc["from_degrees"]) * arc["gbps"] for arc in data["circle"])
    assert turned * job.iteration_ms / 360 == pytest.approx(volume_mbit(job.phases))
    assert all(0 <= arc["from_degrees"] < arc["to_degrees"] <= 360 + 1e-9 for arc in data["circle"])


def test_touching_phases_do_not_fall_to_nothing_in_between() -> None:
    data = job_plot_data(TOUCHING)["demand"]
    between = [rate for time, rate in zip(data["time_ms"], data["gbps"], strict=True) if 10 < time < 30]
    assert min(between) >= 5


@given(st.integers(1, 10**7), st.integers(1, 10**7))
def test_a_phase_that_ends_with_the_iteration_does_not_begin_it(begins: int, lasts: int) -> None:
    """Times as files have them: three digits, whose sums are off by rounding errors."""
    job = Job("a", (begins + lasts) / 1000, [Phase(begins / 1000, lasts / 1000, 5)])
    circle = job_plot_data(job)["circle"]
    assert [arc["to_degrees"] for arc in circle] == [pytest.approx(360)]


@pytest.mark.parametrize("job", [VGG, TOUCHING, Job("idle", 40)])
def test_what_is_drawn_are_the_numbers(job: Job) -> None:
    data = job_plot_data(job)
    along, circle = drawn(job)
    (curve,) = along.lines
    assert curve.get_xdata() == pytest.approx(data["demand"]["time_ms"])
    assert curve.get_ydata() == pytest.approx(data["demand"]["gbps"])
    assert along.get_xlim() == (0, job.iteration_ms)
    arcs = [patch for patch in circle.patches if patch.get_width() > 0]
    assert [np.degrees(arc.get_x()) for arc in arcs] == pytest.approx([one["from_degrees"] for one in data["circle"]])
    assert along.get_title(loc="left") == job.id


def test_the_rendered_picture_is_blue_where_the_job_sends_and_nowhere_else() -> None:
    figure = job_figure(VGG)
    picture = imread(io.BytesIO(figure_bytes(figure, "png")), format="png")
    along = figure.axes[0]
    height = picture.shape[0]

    def pixel(time_ms: float, gbps: float) -> Any:
        x, y = along.transData.transform((time_ms, gbps)) * 150 / figure.dpi
        return picture[height - 1 - round(y), round(x)][:3]

    white = np.ones(3)
    line = np.array([int(PALETTE[0][at : at + 2], 16) for at in (1, 3, 5)]) / 255
    for time_ms in (150, 200, 250):
        assert np.abs(pixel(time_ms, 25) - (0.25 * line + 0.75 * white)).max() < 0.02
    for time_ms in (20, 70, 130):
        assert pixel(time_ms, 25) == pytest.approx(white, abs=0.02)


@pytest.mark.parametrize("format", FORMATS)
def test_files_are_the_same_each_time_and_what_their_names_say(format: str) -> None:
    once, twice = (figure_bytes(job_figure(VGG), format) for _ in range(2))
    assert once == twice
    assert {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[format] == once[: 5 if format == "svg" else 4]
    assert plot_format(f"a.b/JOB.{format.upper()}") == format


@pytest.mark.parametrize("name", ["job", "job.gif", "job.png.gz", ""])
def test_other_endings_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"plot: expected a file name ending in .png, .svg, .pdf, got"):
        plot_format(name)


def test_an_id_is_shown_as_it_is() -> None:
    along, _ = drawn(Job("$x^2$ \u202e[red]", 10))
    figure_bytes(along.figure, "svg")  # a formula would have to be parsed


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InputError, match=r"pip install 'cassini-core\[plots\]'"):
        job_figure(VGG)


def test_drawing_touches_nothing_global() -> None:
    program = """
import sys
from cassini_core import Job, Phase
from cassini_core.plots import figures, job
assert not any(name.startswith("matplotlib") for name in sys.modules)
import matplotlib
before = matplotlib.rcParams.copy()
figures.figure_bytes(job.job_figure(Job("a", 10, [Phase(0, 5, 10)])), "svg")
print(matplotlib.rcParams.copy() == before, "matplotlib.pyplot" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("True False\n", "")
