"""Draws the pictures of docs/pictures.md: runs each of its commands, for a light page and for a dark one. ::

python docs/images/pictures.py
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from cassini_core.cli import main

HERE = Path(__file__).parent
PAGE = HERE.parent / "pictures.md"


def commands() -> dict[str, list[str]]:
    """The arguments of each command of the page that draws an SVG file, by the name of the picture."""
    lines = re.findall(r"^cassini-core (plot .+) -o (\w+)\.svg$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {name: arguments.split() for arguments, name in lines}


if __name__ == "__main__":
    os.chdir(HERE.parents[1])
    for name, arguments in commands().items():
        for ending, more in (("", []), ("-dark", ["--dark"])):
            if main([*arguments, "-o", str(HERE / f"{name}{ending}.svg"), *more]):
                raise SystemExit(1)
