"""The names of ``cassini_core``: an editor, ``dir`` and ``import *`` know them all; every call shows how it is used."""

from __future__ import annotations

import doctest
import inspect
import subprocess
import sys

import pytest

import cassini_core as cc

CALLS = [name for name in cc.__all__ if inspect.isfunction(getattr(cc, name))]
SHOWN = [*CALLS, "Candidate.moved", "Problem", "ProblemBuilder", "Ranker"]


def test_import_star_gives_every_public_name() -> None:
    names: dict[str, object] = {}
    exec("from cassini_core import *", names)
    assert sorted(names.keys() - {"__builtins__"}) == sorted(cc.__all__) == dir(cc)
    assert all(names[name] is getattr(cc, name) for name in cc.__all__ if name != "__version__")


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'cassini_core' has no attribute 'nonsense'"):
        _ = cc.nonsense  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", SHOWN)
def test_every_call_shows_how_it_is_used_and_that_runs(name: str) -> None:
    found = cc
    for part in name.split("."):
        found = getattr(found, part)
    tests = [test for test in doctest.DocTestFinder(recurse=False).find(found, name, globs={}) if test.examples]
    assert tests, f"{name} has no example"
    for test in tests:
        # What an example needs it imports, as a reader would have to.
        assert doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL).run(test).failed == 0


def test_import_loads_nothing_slow() -> None:
    slow = ["networkx", "msgspec", "rich", "cyclopts", "importlib.metadata", "html", "doctest", "inspect"]
    program = f"import sys; import numpy; before = set(sys.modules); import cassini_core; after = set(sys.modules); \
print(sorted((after - before) & set({slow})))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "[]\n"
