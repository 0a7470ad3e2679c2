"""The program of docs/c-interface.md compiles without a warning and prints what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from abi_list import compiler
from cassini_core.install_paths import include_dir, library

PAGE = Path(__file__).parents[2] / "docs" / "c-interface.md"

pytestmark = pytest.mark.skipif(compiler() is None or sys.platform != "linux", reason="no C compiler")


def test_the_program_of_the_page_prints_what_the_page_says(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    program = re.search(r"^```c\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    said = re.search(r"^It prints `(.+)`", text, re.MULTILINE)
    assert program is not None
    assert said is not None
    source, binary = tmp_path / "page.c", tmp_path / "page"
    source.write_text(program[1], encoding="utf-8")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{include_dir()}", "-o", str(binary)]
    linked = [str(library()), f"-Wl,-rpath,{library().parent}"]
    subprocess.run([str(compiler()), str(source), *flags, *linked], check=True)
    out = subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout
    assert out == said[1] + "\n"
