"""Which package of ``src/cassini_core`` may import which: nothing imports what stands above it, and no module itself.

The imports are read from the sources, those inside functions and those for type checkers alone included.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = "cassini_core"
SOURCES = Path(__file__).resolve().parents[2] / "src" / PACKAGE

ENGINE = {"kernel", "links", "periods", "joint", "ranking"}
INPUTS = {"problem_file", "profiles", "topology", "placement"}
SYSTEM = {"schedulers", "simulation"}

MAY_IMPORT: Mapping[str, set[str]] = {
    "kernel": set(),
    "links": {"kernel"},
    "periods": {"kernel", "links"},
    "joint": {"kernel", "links"},
    "ranking": {"kernel", "links", "periods", "joint"},
    "problem_file": set(),
    "profiles": set(),
    "topology": set(),
    "placement": {"problem_file", "topology"},
    "schedulers": {*INPUTS, *ENGINE},
    "simulation": {"topology", "placement", "schedulers", *ENGINE},
    "plots": {"profiles", "topology", "placement", "simulation", *ENGINE},
    "report": {"plots", *INPUTS, *SYSTEM, *ENGINE},
    "service": {*INPUTS, *SYSTEM, *ENGINE},
    "cli": {"plots", "report", "service", *INPUTS, *SYSTEM, *ENGINE},
}
"""By package: the other packages that it may import. Each may import the modules of the root. Some are yet to come."""

ROOT_MAY_IMPORT: Mapping[str, set[str]] = {"__init__": {*INPUTS, *SYSTEM, *ENGINE}, "__main__": {"cli"}}
"""The modules of the root that may import packages; all others import only modules of the root."""

AGENT_MAY_BE_IMPORTED: Mapping[str, tuple[str, ...]] = {
    "simulation": ("cassini_agent.control", "cassini_agent.schedule")
}
"""Of the agent: arithmetic on times, and what a schedule is."""

EXTENSION = f"{PACKAGE}.kernel._kernel"


class Import(NamedTuple):
    """A module of the package, the line, and the name that it imports there: of a module, as far as it is known."""

    module: str
    path: str
    line: int
    name: str


def imports_of(sources: Mapping[str, str]) -> list[Import]:
    """What each module imports of the package and of the agent; ``sources`` is text by path in the package."""
    modules = {_module_name(path) for path in sources}
    found = []
    for path, text in sources.items():
        module = _module_name(path)
        package = module if path.endswith("__init__.py") else module.rpartition(".")[0]
        for line, name in _names(ast.parse(text, path), package):
            known = name if name in modules or name == EXTENSION else name.rpartition(".")[0]
            if name.partition(".")[0] == "cassini_agent":
                found.append(Import(module, path, line, name))
            elif name.partition(".")[0] == PACKAGE:
                found.append(Import(module, path, line, known or name))
    return found


def offences(sources: Mapping[str, str]) -> list[str]:
    """A line for each import against the rule and for a circle of modules."""
    found = imports_of(sources)
    wrong = [
        f"{one.path}:{one.line}: {one.module} imports {one.name}"
        for one in dict.fromkeys(found)
        if not _is_allowed(one)
    ]
    graph: dict[str, set[str]] = {}
    for one in found:
        # A package is imported together with any of its modules: that alone makes no circle.
        if one.module != PACKAGE and not one.module.startswith(f"{one.name}."):
            graph.setdefault(one.module, set()).add(one.name)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        wrong.append("a circle: " + " -> ".join(reversed(error.args[1])))
    return wrong


def _module_name(path: str) -> str:
    parts = [PACKAGE, *Path(path).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _short(name: str) -> str:
    return name.removeprefix(f"{PACKAGE}.")


def _names(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.rsplit(".", node.level - 1)[0] if node.level else ""
            base = ".".join(filter(None, (above, node.module)))
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def _room(module: str) -> str:
    """The package of a module; empty for those of the root."""
    room = module.split(".")[1] if "." in module else ""
    return room if room in MAY_IMPORT else ""


def _is_allowed(one: Import) -> bool:
    importer, imported = _room(one.module), _room(one.name)
    if one.name.partition(".")[0] == "cassini_agent":
        allowed = AGENT_MAY_BE_IMPORTED.get(importer, ())
        return any(f"{one.name}.".startswith(f"{package}.") for package in allowed)
    if one.name == EXTENSION:
        return importer == "kernel"
    if importer == "":
        name = "__init__" if one.module == PACKAGE else _short(one.module)
        return imported == "" or imported in ROOT_MAY_IMPORT.get(name, set())
    return imported in ("", importer) or imported in MAY_IMPORT[importer]


def read_sources() -> dict[str, str]:
    return {path.relative_to(SOURCES).as_posix(): path.read_text() for path in sorted(SOURCES.rglob("*.py"))}


def test_each_package_imports_only_what_stands_below_it() -> None:
    assert offences(read_sources()) == []


def test_every_package_has_its_place_in_the_rule() -> None:
    packages = {path.parent.name for path in SOURCES.glob("*/__init__.py")}
    assert packages <= MAY_IMPORT.keys()


PLANTED = {
    "__init__.py": "from .links.one_link import solve_link",
    "__main__.py": "from .cli import main",
    "units.py": "import math",
    "kernel/__init__.py": "",
    "kernel/prepared.py": "from . import _kernel\nfrom ..units import ticks",
    "links/__init__.py": "",
    "links/one_link.py": "from ..kernel.prepared import Prepared\nfrom cassini_core.units import ticks",
    "cli/__init__.py": "from ..links import one_link",
}


def test_a_good_package_passes() -> None:
    assert offences(PLANTED) == []


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("kernel/up.py", "\n\nfrom ..links.one_link import x", "kernel/up.py:3: cassini_core.kernel.up imports"),
        ("kernel/up.py", "import cassini_core.links.one_link", "kernel/up.py:1:"),
        ("kernel/up.py", "from .. import links", "kernel/up.py:1:"),
        ("kernel/late.py", "def f():\n    from ..links import one_link", "kernel/late.py:2:"),
        ("links/ext.py", "from ..kernel import _kernel", "imports cassini_core.kernel._kernel"),
        ("links/ext.py", "from ..kernel._kernel import Link", "imports cassini_core.kernel._kernel"),
        ("periods/joint.py", "from ..joint.affinity import x", "periods/joint.py:1:"),
        ("joint/periods.py", "from ..periods.paces import x", "joint/periods.py:1:"),
        ("profiles/a.py", "import cassini_agent.sysfs", "imports cassini_agent"),
        ("profiles/a.py", "from cassini_agent.control.phase import wrap", "imports cassini_agent"),
        ("simulation/a.py", "from cassini_agent import loop", "imports cassini_agent"),
        ("simulation/a.py", "from cassini_agent.controls import x", "imports cassini_agent"),
        ("simulation/a.py", "from cassini_agent.control.phase import wrap", ""),
        ("problem_file/a.py", "from ..kernel import prepared", "problem_file/a.py:1:"),
        ("model.py", "from .kernel.prepared import Prepared", "model.py:1:"),
        ("ranking/a.py", "from ..cli import main", "ranking/a.py:1:"),
        ("units.py", "from . import units", "a circle"),
        ("errors.py", "from .units import x", ""),
    ],
)
def test_a_planted_import_is_found(path: str, text: str, expected: str) -> None:
    found = "\n".join(offences({"periods/paces.py": "", "joint/affinity.py": "", **PLANTED, path: text}))
    assert expected in found
    assert bool(found) == bool(expected)


def test_a_planted_circle_is_found_with_its_modules() -> None:
    planted = {"units.py": "from .errors import x", "errors.py": "def f():\n    from .units import y"}
    (found,) = offences({**PLANTED, **planted})
    assert found.startswith("a circle: ")
    assert "cassini_core.units" in found
    assert "cassini_core.errors" in found
