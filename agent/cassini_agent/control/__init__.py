"""Arithmetic on times: what a job waits, what a component agrees on. No clocks, sockets or files."""
