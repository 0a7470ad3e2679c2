"""The examples in docstrings are what comes out."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from types import ModuleType

import pytest

import cassini_agent
import cassini_core


def examples_run(module: ModuleType) -> int:
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder().find(module):
        if test.examples:  # to run none takes time, too
            runner.run(test)
    assert runner.failures == 0, module.__name__  # the differences are printed
    return runner.tries


@pytest.mark.parametrize("package", [cassini_core, cassini_agent])
def test_examples_of_docstrings_hold(package: ModuleType) -> None:
    run = 0
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        # A program runs when it is imported, and an integration needs its framework.
        if not found.name.endswith("__main__") and ".integrations" not in found.name:
            run += examples_run(importlib.import_module(found.name))
    assert run > 0
