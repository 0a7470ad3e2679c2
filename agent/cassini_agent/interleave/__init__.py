"""Interleave jobs that run already: take their profiles from their daemons, rank, send, coordinate, and go on.

::

    with Interleaving(Network.one_link("up", 50.0), {"server1": Endpoint("https://server1:9311", token), ...}) as it:
        ...
        for row in it.status():
            print(row.job, row.state)

``network`` is what the daemons cannot know; ``profile`` makes profiles of what they report; ``groups`` finds who meets;
``engine`` decides and acts, in an event loop; ``running`` runs that in a thread.
"""

from .events import describe
from .network import Network
from .running import Interleaving, Row

__all__ = ["Interleaving", "Network", "Row", "describe"]
