"""Pollux (OSDI 2021), described by its paper: goodput, and re-allocation by genetic search.

Nothing is imported here: each part is loaded only when it is used.
"""
