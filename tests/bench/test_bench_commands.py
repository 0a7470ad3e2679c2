"""Every command and file of ``bench`` that the documents name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "Makefile", *ROOT.glob("docs/*.md"), *ROOT.glob("bench/**/README.md")]
SOURCES = [path for folder in ("src", "agent", "bench") for path in ROOT.glob(f"{folder}/**/*.py")]


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", DOCUMENTS, ids=_name)
def test_files_of_bench_that_are_named_are_there(path: Path) -> None:
    for named in re.findall(r"(?<![\w/])bench/[\w/.-]+\.\w+", path.read_text(encoding="utf-8")):
        assert (ROOT / named).exists(), named


def test_commands_of_bench_that_are_named_can_be_run() -> None:
    found = set()
    for path in DOCUMENTS + SOURCES:
        found |= set(re.findall(r"-m (bench(?:\.\w+)+)", path.read_text(encoding="utf-8")))
    assert len(found) > 8
    for module in found:
        file = ROOT / module.replace(".", "/")
        assert file.with_suffix(".py").exists() or (file / "__main__.py").exists(), module


def test_the_rooms_of_the_table_are_those_that_are_there() -> None:
    text = (ROOT / "bench/README.md").read_text(encoding="utf-8")
    folders = {path.name for path in (ROOT / "bench").iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.M)) == folders - {"measuring"}
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / "bench" / target).exists(), target
