"""A job from PyTorch profiler (Kineto) traces: :func:`profile_kineto`."""

from __future__ import annotations

from .collective_rows import CollectiveProfile
from .groups import GroupProfile
from .profile import KinetoProfile, profile_kineto

__all__ = ["CollectiveProfile", "GroupProfile", "KinetoProfile", "profile_kineto"]
