"""Interleave jobs that run already: take their profiles from their daemons, rank, send, coordinate, and go on.

::

    with Interleaving(Network.one_link("up", 50.0), {"server1": Endpoint("https://server1:9311", token), ...}) as it:
        ...
        for row in it.status():
            print(row.job, row.state)

``scope`` and ``network`` say what the daemons cannot know; ``profile`` makes profiles of what they report of ``jobs``.
``engine`` looks once a second, in an event loop; ``groups`` remembers who was arranged and when, ``changes`` tells
whether they are others by now, ``planning`` makes plans of profiles, and ``holding`` has them sent and coordinated.
``events`` are what it tells, ``status`` is a row per job, ``running`` runs all this in a thread.
"""

from .events import describe
from .network import Network
from .running import Interleaving
from .status import Row

__all__ = ["Interleaving", "Network", "Row", "describe"]
