"""What a command line can fail with on purpose."""

from __future__ import annotations

from importlib.util import find_spec

__all__ = ["PROGRAM", "AnswerError", "UsageError", "what_is_missing"]

PROGRAM = "cassini-agent"
ENGINE = "cassini_core"


class UsageError(ValueError):
    """The input is wrong: exit status 2."""


class AnswerError(Exception):
    """A daemon did not do what was asked: exit status 2 if it refused the input, else 1."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def what_is_missing(error: ModuleNotFoundError) -> str:
    """What to install: the agent comes by itself or in cassini-core, with and without what the daemon needs."""
    name = (error.name or str(error)).partition(".")[0]
    is_alone = name != ENGINE and find_spec(ENGINE) is None
    return f"{name} is missing: pip install '{'cassini-agent[daemon]' if is_alone else 'cassini-core[agent]'}'"
