"""Arithmetic on times: what a job waits, what a component agrees on. No clocks, no sockets, no files.

Standard library only: part of it is imported into training processes.

``controller`` decides for one job, with ``phase_lock``, ``change`` and ``cost_budget``; ``rephasing``, ``headroom`` and
``clock_sync`` are for the coordinator; ``phase`` is below all of them.
"""
