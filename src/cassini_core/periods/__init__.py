"""Iteration times that do not divide: which are lengthened, and by how much (docs/method.md, F6).

Imports the root modules, ``kernel`` and ``links``; never ``joint``.
"""

from __future__ import annotations

from .harmonize_jobs import harmonize

__all__ = ["harmonize"]
