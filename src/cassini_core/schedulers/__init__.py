"""Schedulers that propose placements, and what makes each of them ask the network.

Nothing is imported here: each part is loaded only when it is used.
"""
