"""Answers are the same to the last bit with every C++ library: `std::sort` orders by all there is, not by one key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "csrc" / "src"
# A comparison that looks at one member alone: the order of what is equal is then up to the library.
ONE_KEY = r"\[\]\([^()]*\)\s*\{\s*return\s+x\.(?P<key>\w+)\s*[<>]\s*y\.(?P=key);\s*\}"


def sorts_by_one_key(text: str) -> list[str]:
    """The calls of ``std::sort`` in ``text`` whose comparison, given there or by name, looks at one member."""
    names = [name for name, _ in re.findall(r"const auto (\w+) =\s*" + ONE_KEY, text)]
    calls = re.findall(r"std::sort\(.*?\);\n", text, re.DOTALL)
    return [call for call in calls if re.search(ONE_KEY, call) or any(f", {name})" in call for name in names)]


@pytest.mark.parametrize("path", sorted(SOURCES.rglob("*.[ch]pp")), ids=lambda path: path.name)
def test_sorting_leaves_no_order_to_the_library(path: Path):
    assert sorts_by_one_key(path.read_text(encoding="utf-8")) == []


def test_sorting_by_one_key_is_seen():
    plain = "std::sort(a.begin(), a.end(), [](const Atom& x, const Atom& y) { return x.value < y.value; });\n"
    named = "const auto by = [](const A& x, const A& y) { return x.at < y.at; };\nstd::sort(a.begin(), a.end(), by);\n"
    whole = "std::sort(a.begin(), a.end());\n"
    stable = plain.replace("std::sort", "std::stable_sort")
    assert [len(sorts_by_one_key(text)) for text in (plain, named, whole, stable)] == [1, 1, 0, 0]
