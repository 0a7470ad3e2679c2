"""What a job shows to the daemon, so that no other process can pass for it. Standard library only."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field

from .local_link import SECRET_VARIABLE

__all__ = ["JobSecret", "sha256_of"]

LEAST_CHARACTERS, MOST_CHARACTERS = 16, 256


@dataclass(frozen=True, slots=True)
class JobSecret:
    """The secret of one job: the scheduler puts it into the job's environment, and its hash into the job's schedules.

    Attributes
    ----------
    text : str
        16 to 256 printable ASCII characters without spaces, not to be guessed; by default 256 bits made at random.

    Raises
    ------
    ValueError
        Too short, too long, or other characters.

    Examples
    --------
    >>> secret = JobSecret()
    >>> sorted(secret.environment("resnet-1"))
    ['CASSINI_JOB_ID', 'CASSINI_JOB_SECRET']
    >>> secret
    JobSecret()
    """

    text: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    def __post_init__(self) -> None:
        text = self.text
        if not (
            LEAST_CHARACTERS <= len(text) <= MOST_CHARACTERS
            and text.isascii()
            and text.isprintable()
            and " " not in text
        ):
            raise ValueError(
                f"secret: expected {LEAST_CHARACTERS} to {MOST_CHARACTERS} printable ASCII characters without spaces"
            )

    @property
    def sha256(self) -> str:
        """Its hash, as a schedule has it."""
        return sha256_of(self.text)

    def environment(self, job: str) -> dict[str, str]:
        """What ``cassini_agent.connect()`` looks for in the environment of a job."""
        return {"CASSINI_JOB_ID": job, SECRET_VARIABLE: self.text}


def sha256_of(text: str) -> str:
    """The hash of what a job shows, as a schedule has it."""
    return hashlib.sha256(text.encode()).hexdigest()
