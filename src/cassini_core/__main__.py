"""``python -m cassini_core`` is ``cassini-core``; with ``--library`` and its like it says where the C library lies."""

from __future__ import annotations

import sys

from .install_paths import print_paths

if __name__ == "__main__" and not print_paths(sys.argv[1:]):
    from .cli import entry_point

    entry_point()
