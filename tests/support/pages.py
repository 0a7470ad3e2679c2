"""The pages of the documentation taken apart: fenced blocks, words in code, headings, tables."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]

FENCE = re.compile(
    r"(?:<!-- (?P<mark>[^>]*) -->\n+)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)


class Block(NamedTuple):
    """A fenced block: its language, its text, what the comment before it says, and the output that stands below."""

    language: str
    text: str
    mark: str
    output: str | None


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path) -> Iterator[Block]:
    found = list(FENCE.finditer(read(page)))
    for one, after in zip(found, [*found[1:], None], strict=False):
        below = after is not None and after["language"] == "text" and not read(page)[one.end() : after.start()].strip()
        yield Block(one["language"], one["text"], one["mark"] or "", after["text"] if below else None)


def code(page: Path) -> list[str]:
    """Everything in code: the lines of fenced blocks, and spans within lines."""
    text = read(page)
    lines = [
        line
        for one in FENCE.finditer(text)
        if one["language"] in ("sh", "console")
        for line in one["text"].splitlines()
    ]
    return lines + [span.replace("\n", " ") for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", FENCE.sub("", text))]


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", read(page)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def rows(text: str) -> dict[str, list[str]]:
    """The cells of the rows of all tables, by the first cell."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    return {first: rest for first, *rest in cells if not first.startswith("-")}


def part(page: Path, heading: str) -> str:
    """What stands below a heading, up to the next one of its level."""
    return read(page).split(f"\n{heading}\n")[1].partition(f"\n{heading.split()[0]} ")[0]


def run_c(text: str, folder: Path) -> str:
    """What a program prints that is linked with the installed library."""
    where = [sys.executable, "-m", "cassini_core"]
    headers, library = subprocess.run(
        [*where, "--include-dir", "--library"], check=True, capture_output=True, text=True, cwd=folder
    ).stdout.split("\n")[:2]
    (folder / "page.c").write_text(text, encoding="utf-8")
    strict = ("-std=c11", "-Wall", "-Wextra", "-Werror")
    build = ["cc", *strict, f"-I{headers}", "page.c", library, f"-Wl,-rpath,{Path(library).parent}", "-o", "page"]
    subprocess.run(build, check=True, cwd=folder)
    return subprocess.run([folder / "page"], check=True, capture_output=True, text=True).stdout
