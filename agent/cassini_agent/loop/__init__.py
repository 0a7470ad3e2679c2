"""What runs inside the training process: standard library and, where the job uses it, torch; nothing else is imported."""

from .agent import Agent
from .connecting import connect

__all__ = ["Agent", "connect"]
