"""From the answers of links to one time-shift per job: affinity graphs, loops, and joint search around them.

Imports the root modules, ``kernel`` and ``links``; never ``periods``.
"""
