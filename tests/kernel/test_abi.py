"""The C interface is what the committed list says, and every binding of it says the same."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

import cassini_core
from abi_list import COMMITTED, compiler, describe, exported_symbols
from cassini_core import install_paths as native

pytestmark = [
    pytest.mark.skipif(compiler() is None or shutil.which("nm") is None, reason="no C compiler with binutils"),
    pytest.mark.skipif(struct.calcsize("P") != 8 or sys.platform != "linux", reason="the list is of LP64 Linux"),
]

# One line of sized_struct.hpp each: the last field of the first layout.
FIRST_FIELDS = re.compile(r"^CASSINI_FIRST_ENDS_WITH\((\w+), (\w+)\)$", re.MULTILINE)
HOW = "an ABI break needs a new CASSINI_ABI_VERSION; what only grows: python tests/support/abi_list.py --update"


def functions(text: str) -> dict[str, str]:
    """Prototypes by name."""
    return {re.search(r"(cassini_\w+)\(", line)[1]: line for line in text.splitlines() if line.startswith("function")}


@pytest.fixture(scope="module")
def committed() -> str:
    return COMMITTED.read_text()


def test_header_is_the_committed_one(committed: str) -> None:
    assert describe(native.include_dir()) == committed, HOW


def test_library_exports_the_functions_of_the_header_and_nothing_else(committed: str) -> None:
    assert exported_symbols(native.library()) == sorted(functions(committed)), HOW


def test_first_layout_of_each_struct_is_part_of_the_committed_one(committed: str) -> None:
    """No host may be refused that was compiled with the first header of this ABI."""
    source = (COMMITTED.parent.parent / "src" / "api" / "sized_struct.hpp").read_text()
    first = dict(FIRST_FIELDS.findall(source))
    structs = re.findall(r"^struct (\w+) size \d+\n((?:  .*\n)+)", committed, re.MULTILINE)
    fields = {name: re.findall(r"(\w+)(?:\[\d+\])?$", body, re.MULTILINE) for name, body in structs}
    assert first.keys() == fields.keys()
    assert all(first[name] in fields[name] for name in fields)
    assert all(names[0] == "size" for names in fields.values())


def test_declarations_for_cython_are_those_of_the_header(committed: str) -> None:
    text = " ".join(files("cassini_core").joinpath("cassini.pxd").read_text().split())
    for name, line in functions(committed).items():
        assert squeezed(line.removeprefix("function ").replace("(void)", "()")) in squeezed(text), name
    for name in re.findall(r"^constant (\w+)", committed, re.MULTILINE):
        assert f" {name} " in text, name
    for field in re.findall(r"^  \d+ (.+)$", committed, re.MULTILINE):
        assert squeezed(field) in squeezed(text), field


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def test_version_is_the_same_everywhere() -> None:
    from cassini_core.kernel._kernel import library_version

    pkg_config = (native.pkg_config_dir() / "cassini.pc").read_text()
    cmake = (native.cmake_dir() / "cassiniConfigVersion.cmake").read_text()
    assert library_version == cassini_core.__version__
    assert f"Version: {library_version}\n" in pkg_config
    assert f'set(PACKAGE_VERSION "{library_version}")' in cmake


@pytest.mark.parametrize("ask", ["--library", "--include-dir", "--cmake-dir", "--pkg-config-dir"])
def test_the_package_says_where_its_parts_lie(ask: str) -> None:
    out = subprocess.run([sys.executable, "-m", "cassini_core", ask], capture_output=True, text=True, check=True)
    (line,) = out.stdout.splitlines()
    assert Path(line).is_absolute()
    assert Path(line).exists()


def test_several_places_come_in_the_order_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert native.print_paths(["--library", "--include-dir"])
    assert capsys.readouterr().out.splitlines() == [str(native.library()), str(native.include_dir())]


@pytest.mark.parametrize("arguments", [[], ["--version"], ["--library", "--json"]])
def test_other_arguments_are_left_to_the_command_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert not native.print_paths(arguments)
    assert capsys.readouterr().out == ""


def test_a_missing_part_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(native, "files", lambda _: tmp_path)
    with pytest.raises(FileNotFoundError, match=r"cassini\.pc: expected a file of the installed package"):
        native.pkg_config_dir()
