"""The example of an augmented scheduler runs and shows a gain."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "augmented_bin_packing.py"


def test_the_bin_packing_scheduler_is_augmented(capsys: pytest.CaptureFixture[str]) -> None:
    spec = importlib.util.spec_from_file_location("augmented_bin_packing", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main()
    *_, score, shifts = capsys.readouterr().out.splitlines()
    before, after = (float(word) for word in score.split() if word[0].isdigit())
    assert before < after == 1.0
    assert shifts.startswith("shifts {'b': 0.0")


def test_proposing_takes_twenty_lines() -> None:
    """What there is to write beside the scheduler itself, blank lines aside."""
    text = EXAMPLE.read_text()
    written = text[text.index("class BinPacking") : text.index("def main")]
    assert sum(bool(line.strip()) for line in written.splitlines()) <= 20
