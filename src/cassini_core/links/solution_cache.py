"""Answers of links and of searches, kept for later rankings, up to a number of them.

A question is the content of a link problem together with how it is judged, as bytes. The answer may also depend on the
limit of search nodes. A search that took fewer nodes than its limit never met it, so its answer holds for every limit
above what it took. Any other answer holds for exactly its limit.
"""

from __future__ import annotations

import os
import struct
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from ..arrays import BoolArray, cut, offsets
from ..kernel.link_arrays import RESULT_TYPE, LinkAnswers, LinkArrays
from ..kernel.search_limits import SearchLimits

__all__ = ["Counting", "KeptAnswer", "KeptAnswers", "KeptCounts", "LinkStore", "PaceScore"]


class KeptCounts(NamedTuple):
    """Questions whose answer was known and was not, how many answers are kept, and the most that are."""

    hits: int
    misses: int
    size: int
    most: int


class PaceScore(NamedTuple):
    """What a link scores at some iteration times, the search nodes that it took, and all work counted in nodes."""

    score: float
    nodes: int
    work: int


class _Counted(Protocol):
    @property
    def nodes(self) -> int: ...


Answer = TypeVar("Answer", bound=_Counted)


def _one(_: object) -> int:
    return 1


class Counting:
    """Counts the questions that were answered from what is kept, and those that were not; has a lock.

    Notes
    -----
    A forked child gets a new lock: a thread of the parent may have held the old one, and nobody would ever release it.
    """

    def __init__(self) -> None:
        self._hits = self._misses = 0
        self._lock = threading.Lock()
        _everywhere.add(self)

    def count(self, *, hits: int, misses: int) -> None:
        """Add to the counts."""
        with self._lock:
            self._hits += hits
            self._misses += misses


class KeptAnswers(Counting, Generic[Answer]):
    """Answers by question; the one that was not asked for longest goes first. May be used from several threads.

    Parameters
    ----------
    most : int
        How many answers are kept, at least 1. A question has several answers if different limits cut its search short.
    size_of : callable, optional
        As how many an answer counts, at least 1.

    Notes
    -----
    The lock is held for dictionary look-ups alone.
    """

    def __init__(self, most: int, size_of: Callable[[Answer], int] = _one) -> None:
        self.most = most
        self._size_of = size_of
        self._size = 0
        self._answers: OrderedDict[bytes, Answer] = OrderedDict()
        super().__init__()

    def find(self, questions: Iterable[bytes], limit: int | None) -> list[Answer | None]:
        """The answer to each question within a limit of nodes (None: no limit), where it is known."""
        with self._lock:
            return [self._find(question, limit) for question in questions]

    def keep(self, questions: Sequence[bytes], limit: int | None, answers: Iterable[Answer]) -> None:
        """Keep answers that were found within one limit, and that nothing else cut short."""
        with self._lock:
            kept = self._answers
            for question, answer in zip(questions, answers, strict=True):
                key = question if limit is None or answer.nodes < limit else _cut_short(question, limit)
                before = kept.pop(key, None)
                self._size += self._size_of(answer) - (0 if before is None else self._size_of(before))
                kept[key] = answer
            while self._size > self.most:
                self._size -= self._size_of(kept.popitem(last=False)[1])

    def info(self) -> KeptCounts:
        """The counts, and how many answers are kept."""
        with self._lock:
            return KeptCounts(self._hits, self._misses, self._size, self.most)

    def clear(self) -> None:
        """Forget everything, the counts too."""
        with self._lock:
            self._answers.clear()
            self._hits = self._misses = self._size = 0

    def _find(self, question: bytes, limit: int | None) -> Answer | None:
        key, answer = question, self._answers.get(question)
        if answer is None or (limit is not None and answer.nodes >= limit):
            if limit is None:
                return None
            key = _cut_short(question, limit)
            answer = self._answers.get(key)
        if answer is not None:
            self._answers.move_to_end(key)
        return answer


def _cut_short(question: bytes, limit: int) -> bytes:
    # Longer than any question of the same beginning: a question tells its own length.
    return question + limit.to_bytes(8, "little")


class KeptAnswer(NamedTuple):
    """The answer to one link problem: its part of the arrays of :class:`LinkAnswers`, as bytes."""

    shift: bytes
    free: bytes
    result: bytes
    nodes: int


class LinkStore:
    """Answers of link problems, and the scores by which iteration times are chosen; as many of each.

    Parameters
    ----------
    max_links : int
        At least 1.

    Attributes
    ----------
    answers : KeptAnswers of KeptAnswer
    scores : KeptAnswers of PaceScore
    """

    def __init__(self, max_links: int) -> None:
        self.answers: KeptAnswers[KeptAnswer] = KeptAnswers(max_links)
        self.scores: KeptAnswers[PaceScore] = KeptAnswers(max_links)

    def clear(self) -> None:
        """Forget everything."""
        self.answers.clear()
        self.scores.clear()

    def find(self, questions: Sequence[bytes], limit: int | None) -> tuple[BoolArray, LinkAnswers | None]:
        """Which questions have an answer within the limit of nodes, and the answers to these."""
        found = self.answers.find(questions, limit)
        known = [answer for answer in found if answer is not None]
        if not known:
            return np.zeros(len(found), dtype=np.bool_), None
        answers = LinkAnswers(
            offsets(len(answer.free) for answer in known),
            np.frombuffer(b"".join(answer.shift for answer in known), dtype=np.int64),
            np.frombuffer(b"".join(answer.free for answer in known), dtype=np.bool_),
            np.frombuffer(b"".join(answer.result for answer in known), dtype=RESULT_TYPE),
            np.ones(len(known), dtype=np.bool_),
        )
        return np.array([answer is not None for answer in found]), answers

    def keep(self, questions: Sequence[bytes], limit: int | None, found: LinkAnswers) -> None:
        """Keep the answers that were found within one limit, and that nothing else cut short."""
        shifts, free = cut(found.shift, found.job_offset), cut(found.free, found.job_offset)
        results = cut(found.result, np.arange(len(found) + 1))
        self.answers.keep(questions, limit, map(KeptAnswer, shifts, free, results, found.nodes.tolist()))

    @staticmethod
    def questions(arrays: LinkArrays, limits: SearchLimits) -> list[bytes]:
        """What is asked of each link, but for the limit of nodes. Some 2 microseconds each."""
        judged = struct.pack(
            "<dd?qq",
            limits.resolution_ms,
            limits.slack_tolerance,
            limits.with_slack,
            limits.max_events,
            limits.max_levels,
        )
        return [judged + content for content in arrays.contents()]

    @staticmethod
    def pace_questions(arrays: LinkArrays, resolution_ms: float) -> list[bytes]:
        """What is asked of links whose jobs run at some iteration times."""
        judged = struct.pack("<d", resolution_ms)
        return [judged + content for content in arrays.contents()]


_everywhere: weakref.WeakSet[Counting] = weakref.WeakSet()


def _renew_locks() -> None:
    for one in list(_everywhere):
        one._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)
