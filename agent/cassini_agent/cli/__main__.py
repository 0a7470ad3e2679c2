"""``python -m cassini_agent.cli``."""

from . import entry_point

entry_point()
