"""The folders of the kernel: a file includes files of its own and of earlier folders, and never in a circle."""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "csrc"
FOLDERS = ("base", "demand", "robustness", "link", "joint", "api")


def includes(root: Path) -> dict[str, list[str]]:
    """What each C or C++ file below ``root`` includes in quotes, both as paths relative to ``root``."""
    found = {}
    for path in sorted(root.rglob("*")):
        if path.suffix in {".c", ".cpp", ".h", ".hpp"}:
            text = path.read_text(encoding="utf-8")
            found[path.relative_to(root).as_posix()] = re.findall(r'^ *# *include *"([^"]+)"', text, re.MULTILINE)
    return found


def against_the_order(graph: dict[str, list[str]]) -> list[str]:
    """The includes that name no file of ``graph``, or one in a later folder. Only `api` sees the public header."""
    wrong = []
    for file, named in graph.items():
        folder = file.partition("/")[0]
        allowed = FOLDERS[: FOLDERS.index(folder) + 1]
        for include in named:
            fits = include in graph and include.partition("/")[0] in allowed
            if not fits and (folder, include) != ("api", "cassini/cassini.h"):
                wrong.append(f"{file} includes {include}")
    return wrong


def test_every_file_lies_in_a_folder_and_includes_only_downwards():
    graph = includes(ROOT / "src")
    assert {file.partition("/")[0] for file in graph} == set(FOLDERS)
    assert against_the_order(graph) == []


def test_no_file_includes_itself_by_way_of_others():
    TopologicalSorter(includes(ROOT / "src")).prepare()


def test_a_source_file_includes_the_header_of_its_name_first():
    graph = includes(ROOT / "src")
    for file, named in graph.items():
        header = file.removesuffix(".cpp") + ".hpp"
        if file.endswith(".cpp") and header in graph:
            assert named[0] == header, file


def test_tests_lie_in_the_folders_of_what_they_test():
    graph = includes(ROOT / "tests")
    folders = {file.partition("/")[0] for file in graph if "/" in file}
    assert folders <= set(FOLDERS)
    for file, named in graph.items():
        if "/test_" in file and not file.startswith("api/"):
            assert any(include.startswith(file.partition("/")[0] + "/") for include in named), file


@pytest.mark.parametrize(
    "include", ["link/solve.hpp", "lost.hpp", "cassini/cassini.h"], ids=["upwards", "unknown", "public"]
)
def test_an_include_against_the_order_is_seen(include: str):
    graph = {"demand/demand.hpp": [include], "link/solve.hpp": ["demand/demand.hpp"]}
    assert against_the_order(graph) == [f"demand/demand.hpp includes {include}"]


def test_a_circle_is_seen():
    with pytest.raises(CycleError):
        TopologicalSorter({"link/a.hpp": ["link/b.hpp"], "link/b.hpp": ["link/a.hpp"]}).prepare()
