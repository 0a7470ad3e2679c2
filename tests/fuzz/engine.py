"""Runs one target under the fuzzing engine: ``python tests/fuzz/engine.py kineto CORPUS... [-max_total_time=60 ...]``.

Needs atheris (PyPI, Linux). Options and output are libFuzzer's.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import warnings
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parent.parent))
# What it does says nothing of the target: not instrumented.
from fuzz import json_mutator

with atheris.instrument_imports(include=["cassini_core"], enable_loader_override=False):
    _target = importlib.import_module(f"fuzz.{sys.argv[1]}")


def _main() -> None:
    warnings.simplefilter("error")  # as in the tests: a warning on a user's terminal is a finding too
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)

        def custom_mutator(data: bytes, max_size: int, seed: int) -> bytes:
            return json_mutator.mutate(data, max_size, seed, atheris.Mutate)

        atheris.Setup(
            [sys.argv[0], *sys.argv[2:]], lambda data: _target.run(data, folder), custom_mutator=custom_mutator
        )
        atheris.Fuzz()


_main()
