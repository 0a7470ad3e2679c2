"""Candidate placements: jobs with numbers of workers, the free GPUs of a network's hosts, and where workers could run.

Nothing is imported here: each part is loaded only when it is used.
"""
