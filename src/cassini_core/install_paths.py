"""Where the installed package keeps what other languages link with: the library, the header, the build files.

``python -m cassini_core --library`` prints what :func:`library` gives, and so on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path

__all__ = ["cmake_dir", "include_dir", "library", "pkg_config_dir", "print_paths"]

_LIBRARY = {"darwin": "libcassini.dylib", "win32": "cassini.dll"}.get(sys.platform, "libcassini.so")


def library() -> Path:
    """Path of the shared library ``libcassini``."""
    return _installed("lib", _LIBRARY)


def include_dir() -> Path:
    """Folder to include from: holds ``cassini/cassini.h`` and ``cassini/cassini.hpp``."""
    return _installed("include", "cassini", "cassini.h").parent.parent


def cmake_dir() -> Path:
    """Folder of ``cassiniConfig.cmake``: what ``cassini_DIR`` must be for ``find_package(cassini CONFIG)``."""
    return _installed("lib", "cmake", "cassini", "cassiniConfig.cmake").parent


def pkg_config_dir() -> Path:
    """Folder of ``cassini.pc``, for ``PKG_CONFIG_PATH``."""
    return _installed("lib", "pkgconfig", "cassini.pc").parent


_PATHS: dict[str, Callable[[], Path]] = {
    "--cmake-dir": cmake_dir,
    "--include-dir": include_dir,
    "--library": library,
    "--pkg-config-dir": pkg_config_dir,
}


def print_paths(arguments: Sequence[str]) -> bool:
    """Print a path for each argument.

    Parameters
    ----------
    arguments : sequence of str
        ``--library``, ``--include-dir``, ``--cmake-dir``, ``--pkg-config-dir``, in any order.

    Returns
    -------
    bool
        Whether anything was printed: nothing is if there are no arguments, or others among them.

    Raises
    ------
    FileNotFoundError
        The package is not installed completely.
    """
    if not arguments or any(argument not in _PATHS for argument in arguments):
        return False
    for path in [_PATHS[argument]() for argument in arguments]:
        print(path)
    return True


def _installed(*parts: str) -> Path:
    # Not from __file__: an editable install keeps Python files and built files in different folders.
    path = Path(str(files("cassini_core").joinpath(*parts)))
    if not path.is_file():
        raise FileNotFoundError(f"{path}: expected a file of the installed package, found none")
    return path.resolve()
