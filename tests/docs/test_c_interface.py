"""The commands of docs/c-interface.md build its program, with pkg-config and with CMake, and it prints what is said."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from abi_list import compiler
from cassini_core.install_paths import include_dir, library
from pages import ROOT, blocks, read

PAGE = ROOT / "docs" / "c-interface.md"

pytestmark = pytest.mark.skipif(compiler() is None or sys.platform != "linux", reason="no C compiler")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the page's program and its CMake file."""
    for language, name in (("c", "PROGRAM.c"), ("cmake", "CMakeLists.txt")):
        (text,) = [block.text for block in blocks(PAGE) if block.language == language]
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def said() -> str:
    found = re.search(r"^It prints `(.+)`", read(PAGE), re.MULTILINE)
    assert found is not None
    return found[1] + "\n"


def test_the_program_of_the_page_is_strict_c99(folder: Path) -> None:
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{include_dir()}", "-o", "PROGRAM"]
    linked = [str(library()), f"-Wl,-rpath,{library().parent}"]
    subprocess.run([str(compiler()), "PROGRAM.c", *flags, *linked], check=True, cwd=folder)
    assert subprocess.run(["./PROGRAM"], check=True, capture_output=True, text=True, cwd=folder).stdout == said()


@pytest.mark.parametrize("tool", ["pkg-config", "cmake"])
def test_the_commands_of_the_page_run_the_program(folder: Path, tool: str) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    if shutil.which(tool, path=path) is None:
        pytest.skip(f"no {tool}")
    (commands,) = [block.text for block in blocks(PAGE) if block.language == "sh" and f"{tool} -" in block.text]
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"} | {"PATH": path}
    done = subprocess.run(
        ["sh", "-ec", commands], check=True, capture_output=True, text=True, cwd=folder, env=environment
    )
    assert done.stdout.endswith(said())
