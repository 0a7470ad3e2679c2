"""The rule of ``bench/README.md``: all folders may import ``measuring``, and of each other only what is said here."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BELOW = {"answers": {"ranking"}, "gpu": {"netlab"}, "netlab": {"control"}, "placement": {"ranking"}}
"""What else a room may import."""


def sources(*folders: str) -> dict[str, str]:
    """Text by path from the folder of the package."""
    packages = [ROOT / folder for folder in folders]
    return {
        str(path.relative_to(package.parent)): path.read_text(encoding="utf-8")
        for package in packages
        for path in package.rglob("*.py")
    }


def imports(text_by_path: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each module with each name that it imports, of a module or in one, wherever in the file."""
    for path, text in text_by_path.items():
        module, own = _module(path), path.removesuffix(".py").split("/")[:-1]
        for node in ast.walk(ast.parse(text, path)):
            if isinstance(node, ast.Import):
                yield from ((module, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                start = own[: len(own) + 1 - node.level] if node.level else []
                base = ".".join([*start, *filter(None, [node.module])])
                yield from ((module, f"{base}.{alias.name}") for alias in node.names)


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def offences(text_by_path: Mapping[str, str]) -> list[str]:
    """A line for each import from a room that may not be imported, and for a circle of modules."""
    modules = {_module(path) for path in text_by_path}
    wrong, needs = [], {}
    for module, name in imports(text_by_path):
        if not name.startswith("bench."):
            continue
        room, other = (*module.split("."), "")[1], name.split(".")[1]
        if other not in {room, "measuring", *BELOW.get(room, ())}:
            wrong.append(f"{module} imports {name}")
        needed = name if name in modules else name.rpartition(".")[0]
        # A package is imported before its modules: that alone is no circle.
        if not module.startswith(f"{needed}."):
            needs.setdefault(module, set()).add(needed)
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        wrong.append("circle: " + ", ".join(error.args[1]))
    return wrong


def test_rooms_import_only_what_stands_below_them_and_nothing_in_a_circle() -> None:
    found = sources("bench")
    assert len(found) > 50
    assert offences(found) == []


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        ({"bench/link/x.py": "from bench.ranking.y import z"}, "bench.link.x imports bench.ranking.y.z"),
        ({"bench/link/x.py": "def f():\n    import bench.gpu.y"}, "bench.link.x imports bench.gpu.y"),
        ({"bench/link/x.py": "from ..control import y"}, "bench.link.x imports bench.control.y"),
        ({"bench/link/x.py": "from bench import control"}, "bench.link.x imports bench.control"),
        ({"bench/measuring/x.py": "from bench.link import y"}, "bench.measuring.x imports bench.link.y"),
        ({"bench/ranking/x.py": "from bench.answers import y"}, "bench.ranking.x imports bench.answers.y"),
        ({"bench/link/x.py": "from . import y", "bench/link/y.py": "from .x import z"}, "circle: "),
        (
            {"bench/link/a/__init__.py": "from bench.link.b import c", "bench/link/b.py": "import bench.link.a"},
            "circle: ",
        ),
    ],
)
def test_what_breaks_the_rule_is_found(planted: dict[str, str], said: str) -> None:
    (line,) = offences(planted)
    assert line.startswith(said)


def test_the_packages_never_import_the_benchmarks() -> None:
    for module, name in imports(sources("src/cassini_core", "agent/cassini_agent")):
        assert name.partition(".")[0] != "bench", f"{module} imports {name}"
