"""Two training jobs on one shaped link of a GPU host, held by the agent: ``python -m bench.gpu.two_jobs``."""
