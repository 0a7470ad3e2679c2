"""How a job shows itself in a notebook: its demand is drawn as it is, and no id breaks out."""

from __future__ import annotations

import re
import subprocess
import sys
from html import escape
from xml.etree import ElementTree

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import cassini_core as cc
import wild_strategies as wild
from cassini_core.errors import worded
from cassini_core.notebook import HEIGHT, WIDTH
from cassini_core.profiles.phases import demand_steps
from strategies import jobs


def heights(picture: str) -> list[float]:
    """Of each column of the picture, pixels above the axis."""
    (path,) = re.findall(r'd="M0,\d+(H[^"]+)Z"', picture)
    found: list[float] = []
    height = 0.0
    for column, y in re.findall(r"H(\d+)V([\d.]+)", path):
        found += [height] * (int(column) - len(found))
        height = HEIGHT - float(y)
    return found


@given(st.integers(5, 40).flatmap(jobs))
def test_each_column_is_as_high_as_the_demand_gets_there(job: cc.Job) -> None:
    drawn = heights(job._repr_html_())
    assert len(drawn) == WIDTH
    edges, levels = demand_steps(job.phases, job.iteration_ms)
    middles = (np.arange(WIDTH) + 0.5) * job.iteration_ms / WIDTH
    at = np.clip(np.searchsorted(edges, middles, "right") - 1, 0, len(levels) - 1)
    wanted = levels[at] / (levels.max() or 1) * HEIGHT
    assert all(column >= one - 0.06 for column, one in zip(drawn, wanted, strict=True))
    assert max(drawn) <= HEIGHT
    # Only a column in which the demand changes may be higher.
    changing = {int(edge / job.iteration_ms * WIDTH + side) for edge in edges for side in (-1e-6, 0, 1e-6)}
    assert all(column in changing or abs(drawn[column] - wanted[column]) <= 0.06 for column in range(WIDTH))


@given(wild.ids, st.integers(5, 40).flatmap(jobs))
def test_the_picture_is_well_formed_and_no_id_breaks_out(name: str, job: cc.Job) -> None:
    text = cc.Job(name, job.iteration_ms, job.phases)._repr_html_()
    tree = ElementTree.fromstring(f"<div>{text}</div>")
    assert f"<strong>{escape(worded(name))}</strong>" in text
    assert {one.tag for one in tree.iter()} == {"div", "strong", "svg", "path", "text"}


def test_many_phases_make_no_large_picture() -> None:
    job = cc.Job("a", 1000, [cc.Phase(k / 10, 0.05, k % 7) for k in range(10_000)])
    assert len(job._repr_html_()) < 10_000


def test_import_does_not_load_it() -> None:
    probe = "import sys, cassini_core; sys.exit('cassini_core.notebook' in sys.modules)"
    subprocess.run([sys.executable, "-c", probe], check=True)
