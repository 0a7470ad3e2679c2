"""The pages on simulations name every key of the files, every figure, and every option with its default."""

from __future__ import annotations

import json
import re
from inspect import signature

import pytest

pytest.importorskip("numba")

from cassini_core.cli.simulate import simulate
from cassini_core.schedulers.tasks_file import TaskWire, load_tasks, tasks_from_bytes
from cassini_core.simulation.comparison import compare_schedulers
from cassini_core.simulation.run_figures import FIGURES
from cassini_core.topology.generated import paper_testbed
from pages import ROOT, blocks, part, rows

FORMATS = ROOT / "docs/formats.md"


def test_every_key_of_a_task_is_told() -> None:
    told = rows(part(FORMATS, "## Tasks: `cassini-tasks/1`"))
    named = {name for cell in told for name in re.findall(r"`(\w+)`", cell)}
    assert named == set(TaskWire.__struct_fields__)
    block = re.search(r'"tasks": \[\{(.*?)\}\]', part(FORMATS, "## Tasks: `cassini-tasks/1`"), re.DOTALL)
    assert block is not None
    assert set(re.findall(r'"(\w+)"', block[1])) == set(TaskWire.__struct_fields__)


def test_the_tasks_that_are_shown_are_read() -> None:
    (block,) = (one.text for one in blocks(ROOT / "docs/simulation.md") if one.language == "json")
    shown = tasks_from_bytes(block.encode())
    example = {one.id: one for one in load_tasks(ROOT / "examples/testbed-tasks.json")}
    assert [one.id for one in shown] == ["vgg16-a", "dlrm-a"]
    assert shown == [example[one.id] for one in shown]


def test_every_figure_and_key_of_a_simulation_is_told(tmp_path) -> None:  # type: ignore[no-untyped-def]
    text = part(FORMATS, "## Simulation: `cassini-simulation/1`")
    assert {name.strip("`"): meaning for name, (meaning,) in rows(text).items() if name != "figure"} == FIGURES
    tasks = load_tasks(ROOT / "examples/testbed-tasks.json")[:1]
    found = compare_schedulers(paper_testbed(), tasks, ["packed"], seeds=1, folder=tmp_path)
    written = set(re.findall(r'"(\w+)":', found.to_json().decode())) - set(FIGURES)
    assert written <= set(re.findall(r'"(\w+)"', text))
    record = json.loads((tmp_path / "packed" / "seed-0.json").read_text())["record"]
    for key in {*record, *record["tasks"][0]}:
        assert f"`{key}`" in text or f'"{key}"' in text, key


def said(value: object) -> str:
    """A default as the page has it."""
    if value is None:
        return "the agent's"
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"`{value}`" if isinstance(value, str) else f"{value:g}"


def test_the_options_that_are_told_have_their_defaults() -> None:
    told = rows(part(ROOT / "docs/simulation.md", "## What is assumed"))
    for options, (default, _) in told.items():
        if options == "option":
            continue
        names = [name.replace("-", "_") for name in re.findall(r"`--([\w-]+)`", options)]
        values = [signature(simulate).parameters[name].default for name in names]
        assert default == ", ".join(map(said, values))
