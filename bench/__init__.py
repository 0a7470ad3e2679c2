"""Benchmarks of the engine beside what else could be used; ``python -m bench.link_report`` writes the link report."""
