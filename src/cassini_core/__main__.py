"""``python -m cassini_core`` is ``cassini-core``."""

from __future__ import annotations

from .cli import entry_point

if __name__ == "__main__":
    entry_point()
