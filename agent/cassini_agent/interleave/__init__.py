"""Interleave jobs that run already: take their profiles from their daemons, rank, send, coordinate, and go on.

::

    with Interleaving(Network.one_link("up", 50.0), {"server1": Endpoint("https://server1:9311", token), ...}) as it:
        ...
        for row in it.status():
            print(row.job, row.state)

``scope`` and ``network`` say what the daemons cannot know; ``profile`` makes profiles of what they report of ``jobs``.
``jobs`` has all that is known of each, and with whom it was arranged and when. ``engine`` looks once a second, in an
event loop; ``changes`` tells whether jobs are others by now, ``planning`` makes plans of profiles, and ``holding`` has
them sent and coordinated. ``events`` are what it tells; ``running`` runs all this in a thread, and has a row per job.
"""

from .events import describe
from .network import Network
from .running import Interleaving, Row

__all__ = ["Interleaving", "Network", "Row", "describe"]
