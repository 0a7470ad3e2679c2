"""Themis (NSDI 2020), described by its paper: finish-time fairness, auctions, leases.

Nothing is imported here: each part is loaded only when it is used.
"""
