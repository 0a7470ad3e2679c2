"""A job that was not recorded: from a model of it (:func:`profile_model`), or from a simulator's workload file.

One mechanism for both: operations of one rank are played on a :class:`~.timeline.Timeline`.
"""

from __future__ import annotations

from .computed import ComputedProfile
from .profile import TrainingJob, profile_model
from .workload import profile_workload

__all__ = ["ComputedProfile", "TrainingJob", "profile_model", "profile_workload"]
