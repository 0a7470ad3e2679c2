"""What the job is spared: all where the agent is off or this is not rank 0, else all but a socket to the daemon."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOOP = """
import os, sys, threading
import cassini_agent
from cassini_agent.integrations.callback_base import CallbackBase
happened = []
WATCHED = ("socket", "open", "os", "subprocess", "import", "ctypes", "signal")


def hear(event, arguments):
    if event.split(".")[0] in WATCHED:
        happened.append(f"{event} {type(arguments[1]).__name__}" if event == "socket.connect" else event)

sys.addaudithook(hear)
os.environ["CASSINI_AGENT"] = SWITCH
happened.clear()
start = threading.Thread.start
threading.Thread.start = lambda self: (happened.append("a thread"), start(self))

agent = cassini_agent.connect("job", rank=RANK, world_size=2)
for _ in range(200):
    agent.iteration()
    with agent.communication():
        pass
with agent.paused():
    pass
agent.summary()
agent.close()
kept = CallbackBase()
kept._begin(RANK, 2).iteration()
kept._interrupted()
kept._end()
print(sorted(set(happened)))
"""


@pytest.mark.parametrize(("rank", "switch"), [(0, "0"), (1, "0"), (1, "1"), (7, "1"), (0, "1")])
def test_other_ranks_and_a_job_without_the_agent_open_nothing_and_rank_0_a_socket_of_its_host(
    rank: int, switch: str
) -> None:
    code = f"RANK, SWITCH = {rank}, {switch!r}\n{LOOP}"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    happened = set(eval(said))
    if (rank, switch) != (0, "1"):
        assert happened == set()
    else:
        assert "socket.connect str" in happened  # to a path: the daemon is on this host
        assert not happened & {"socket.connect tuple", "socket.getaddrinfo", "socket.gethostbyname", "a thread"}
