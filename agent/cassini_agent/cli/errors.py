"""What a command line can fail with on purpose."""

from __future__ import annotations

__all__ = ["AnswerError", "UsageError"]


class UsageError(ValueError):
    """The input is wrong: exit status 2."""


class AnswerError(Exception):
    """A daemon did not do what was asked: exit status 2 if it refused the input, else 1."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status
