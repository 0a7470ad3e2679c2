"""Two real training jobs on one shaped link of a GPU host, interleaved by the agent: ``python -m bench.gpu.two_jobs``."""
