"""What runs inside the training process: imports the standard library and, where the job uses it, torch."""

from .agent import Agent
from .connecting import connect

__all__ = ["Agent", "connect"]
