"""A job from counters of network ports: :func:`profile_counters`."""

from __future__ import annotations

from .profile import CounterProfile, profile_counters

__all__ = ["CounterProfile", "profile_counters"]
