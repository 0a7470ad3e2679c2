"""What the wheel and the source distribution hold, and what the wheel's libraries need of a system."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

MAX_BYTES = 3 * 2**20

IN_WHEEL = {
    "the extension": "cassini_core/kernel/_kernel",
    "the kernel library": "cassini_core/lib/libcassini.so",
    "the C header": "cassini_core/include/cassini/cassini.h",
    "the CMake package": "cassini_core/lib/cmake/cassini/cassiniConfig.cmake",
    "the pkg-config file": "cassini_core/lib/pkgconfig/cassini.pc",
    "the typing marker": "cassini_core/py.typed",
    "the page of a report": "cassini_core/report/page.html",
    "the style of that page": "cassini_core/report/page.css",
    "the script of that page": "cassini_core/report/page.js",
    "the agent": "cassini_agent/schedule.py",
    "the typing marker of the agent": "cassini_agent/py.typed",
}
IN_SDIST = ("CMakeLists.txt", "pyproject.toml", "LICENSE", "README.md", "csrc/include/cassini/cassini.h")
# glibc needs libgcc_s itself; ld-linux is the loader. No C++ runtime: the host's may be older, or absent.
LIBRARY_NEEDS = ("libc.so.", "libm.so.", "libgcc_s.so.", "ld-linux")
EXTENSION_NEEDS = ("libcassini.so", "libc.so.")


def check(wheel: Path, sdist: Path) -> None:
    """Raises SystemExit that says what is wrong."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        check_names(wheel.name, names)
        libraries = {name: archive.read(name) for name in names if ".so" in PurePosixPath(name).suffixes}
    size = wheel.stat().st_size
    print(f"{wheel.name}: {len(names)} files, {size:,} bytes")
    if size > MAX_BYTES:
        raise SystemExit(f"{wheel.name}: expected at most {MAX_BYTES:,} bytes, got {size:,}")
    if "manylinux" not in wheel.name:
        raise SystemExit(f"{wheel.name}: expected a manylinux tag")
    for name, content in libraries.items():
        check_library(name, content)
    with tarfile.open(sdist) as archive:
        members = {name.partition("/")[2] for name in archive.getnames()}
    if missing := [name for name in IN_SDIST if name not in members]:
        raise SystemExit(f"{sdist.name}: expected {missing}")


def check_names(wheel: str, names: list[str]) -> None:
    """All is there, under its own name, and nothing else: no sources, no copies of system libraries."""
    for what, start in IN_WHEEL.items():
        if not any(name.startswith(start) for name in names):
            raise SystemExit(f"{wheel}: expected {what} ({start}...)")
    metadata = f"{'-'.join(wheel.split('-')[:2])}.dist-info/"
    expected = ("cassini_core/", "cassini_agent/", metadata)
    strays = [n for n in names if n.endswith((".pyx", ".pxi", ".c", ".cpp", ".o")) or not n.startswith(expected)]
    if strays:
        raise SystemExit(f"{wheel}: unexpected files {strays[:5]}")


def check_library(name: str, content: bytes) -> None:
    """Only the libraries that are meant to be needed, found where they lie."""
    dynamic = ELFFile(io.BytesIO(content)).get_section_by_name(".dynamic")
    if not isinstance(dynamic, DynamicSection):
        raise SystemExit(f"{name}: expected a shared library")
    needed = sorted(tag.needed for tag in dynamic.iter_tags("DT_NEEDED"))
    paths = [tag.runpath for tag in dynamic.iter_tags("DT_RUNPATH")]
    is_library = name.endswith("/libcassini.so")
    print(f"{name}: {len(content):,} bytes, needs {', '.join(needed)}")
    allowed = LIBRARY_NEEDS if is_library else EXTENSION_NEEDS
    if unexpected := [each for each in needed if not each.startswith(allowed)]:
        raise SystemExit(f"{name}: unexpected libraries {unexpected}")
    if paths != ([] if is_library else ["$ORIGIN/../lib"]):
        raise SystemExit(f"{name}: unexpected run-time search path {paths}")
