"""The agent in frameworks: ``ddp`` (PyTorch DistributedDataParallel), ``lightning``, ``transformers``.

Each module imports its framework, so import only the one that the job uses.
"""
