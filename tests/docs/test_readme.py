"""The first page: it is short, its picture is that of today's ranking, its call from C is one."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pages import ROOT, blocks, read, run_c

README = ROOT / "README.md"


def test_the_readme_is_short() -> None:
    assert len(read(README).splitlines()) <= 150


def test_the_picture_is_what_the_script_draws() -> None:
    spec = importlib.util.spec_from_file_location("interleaving", ROOT / "docs/images/interleaving.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.picture() == script.PICTURE.read_text(encoding="utf-8")


def test_the_picture_is_small_and_its_words_are_text() -> None:
    picture = ROOT / "docs/images/interleaving.svg"
    assert picture.stat().st_size < 20_000
    words = {text.text for text in ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}text")}
    assert any("No shifts: score 0.65" in (word or "") for word in words)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_the_call_from_c_gives_what_python_gives(tmp_path: Path) -> None:
    """The lines shown, in a program that declares their arrays."""
    (call,) = [block.text for block in blocks(README) if block.language == "c"]
    program = f"""
#include <cassini/cassini.h>
#include <stdio.h>

int main(void) {{
  const int64_t period[] = {{255000000, 255000000}}, phase_offset[] = {{0, 1, 2}}, start[] = {{141000000, 141000000}};
  const int64_t length[] = {{114000000, 114000000}}, rate[] = {{45000000, 45000000}};
  int64_t shift[2];
  unsigned char is_free[2];
  {call}
  printf("%d %.2f %lld", status, result.score_lower, (long long)(shift[1] - shift[0]));
  return 0;
}}
"""
    assert run_c(program, tmp_path).startswith("0 1.00 1")
