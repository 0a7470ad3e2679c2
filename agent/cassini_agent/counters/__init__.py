"""Network counters of a host: read at 1 kHz, recorded, and searched for the bursts of a training job.

Data flow one way: files of the kernel (:mod:`.rdma`, :mod:`.netdev`) are sources of channels (:mod:`.sources`), a
thread samples them (:mod:`.sampler`), and what it reads is recorded (:mod:`.recorder`) and watched (:mod:`.watch`).
Standard library only. Nothing is imported here: each part is loaded only when it is used.
"""
