"""A job from PyTorch profiler (Kineto) traces: :func:`profile_kineto`."""

from __future__ import annotations

from .profile import CollectiveProfile, KinetoProfile, profile_kineto

__all__ = ["CollectiveProfile", "KinetoProfile", "profile_kineto"]
