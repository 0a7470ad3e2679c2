"""Scheduling rounds to rank: drawn from a seed, measured, and simulated to see whether the ranking predicts."""
