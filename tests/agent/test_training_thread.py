"""What the training thread is spared: with the agent off all of it, else all that another machine can hold up."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from cassini_agent.loop import Agent, connect, ranks

LONG_S = 20.0
"""So long whoever calls the store is held up, or waits for one that does."""

OFF = """
import os, sys, threading
import cassini_agent
from cassini_agent.integrations.kept_agent import KeptAgent
happened = []
WATCHED = ("socket", "open", "os", "subprocess", "import", "ctypes", "signal")


def hear(event, arguments):
    if event.split(".")[0] in WATCHED and threading.current_thread() is threading.main_thread():
        happened.append(f"{event} {type(arguments[1]).__name__}" if event == "socket.connect" else event)

sys.addaudithook(hear)
start = threading.Thread.start
threading.Thread.start = lambda self: (happened.append("a thread"), start(self))

def work():
    agent = cassini_agent.connect("job", rank=0, world_size=2, store={})
    for _ in range(200):
        agent.iteration()
        with agent.communication():
            pass
    with agent.paused():
        pass
    agent.summary()
    agent.close()
    kept = KeptAgent()
    kept._begin(0, 2).iteration()
    kept._interrupted()
    kept._end()

os.environ["CASSINI_AGENT"] = "0"
happened.clear()
work()
print(sorted(set(happened)))
del os.environ["CASSINI_AGENT"]
work()
print(sorted(set(happened)))
"""


def test_switched_off_there_is_no_thread_no_socket_and_no_file() -> None:
    done = subprocess.run([sys.executable, "-c", OFF], capture_output=True, text=True, check=True)
    off, on = done.stdout.splitlines()
    assert off == "[]"
    assert "a thread" in on  # what is watched for would be seen
    assert "socket.connect str" in on  # to a path: the daemon is on this host
    assert "socket.connect tuple" not in on
    assert "getaddrinfo" not in on
    assert "gethostby" not in on


class Stuck:
    """A store whose server answers nobody from its ``answers``-th call on; says who called."""

    def __init__(self, answers: int) -> None:
        self.callers: set[int] = set()
        self.let_go = threading.Event()
        self._answers = answers
        self._values: dict[str, bytes] = {}

    def _call(self) -> None:
        self.callers.add(threading.get_ident())
        self._answers -= 1
        if self._answers < 0:
            self.let_go.wait(LONG_S)

    def clone(self) -> Stuck:
        self._call()
        return self

    def set(self, key: str, value: str) -> None:
        self._call()
        self._values[key] = value.encode()

    def get(self, key: str) -> bytes:
        self._call()
        return self._values.get(key, b"")

    def check(self, keys: list[str]) -> bool:
        self._call()
        return all(key in self._values for key in keys)

    def delete_key(self, key: str) -> bool:
        self._call()
        return self._values.pop(key, None) is not None


def fail(agent: Agent) -> None:
    """Of its own accord, as no agent should."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    agent._timeline.mark = broken  # type: ignore[method-assign]
    agent.iteration()


def communicate(agent: Agent) -> None:
    with agent.communication():
        pass


CALLS: dict[str, Callable[[Agent], object]] = {
    "iteration": Agent.iteration,
    "communication": communicate,
    "interrupted": Agent.interrupted,
    "summary": Agent.summary,
    "close": Agent.close,
    "fail": fail,
}


@given(rank=st.integers(0, 1), answers=st.integers(0, 12), calls=st.lists(st.sampled_from(sorted(CALLS)), max_size=30))
def test_no_call_of_the_training_thread_reaches_the_store_or_waits_for_one_that_does(
    rank: int, answers: int, calls: list[str]
) -> None:
    store = Stuck(answers)
    before_s = time.monotonic()
    with patch.object(ranks, "ENDING_S", LONG_S):
        agent = connect("job", rank=rank, world_size=2, socket="/nowhere", store=store)
        try:
            for call in [*calls, "close"]:
                CALLS[call](agent)
            took_s = time.monotonic() - before_s
        finally:
            store.let_go.set()
    assert threading.get_ident() not in store.callers
    assert took_s < LONG_S / 4
