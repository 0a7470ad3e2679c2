# cython: language_level=3, boundscheck=False, wraparound=False, freethreading_compatible=True
"""Bindings of cassini.h: check shapes, release the GIL, call, map the status. Compiled.

All times are ticks, of 1 ns each, and all rates kbit/s. Where a call takes ``cancel``, that is an int32 array of one
element or None; once the element is not 0 the call ends early and gives None.
"""

cimport cython
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t
from libc.string cimport memset

from ..cassini cimport *

import numpy as np

from ..errors import InputError, KernelError

if cassini_abi_version() != CASSINI_ABI_VERSION:
    raise ImportError(
        f"libcassini has ABI {cassini_abi_version()}, expected {CASSINI_ABI_VERSION}: "
        "the library and this extension come from different builds"
    )

library_version = (<bytes>cassini_version()).decode("ascii")

STOPPED_BY = tuple(
    (<bytes>cassini_stop_string(reason)).decode("ascii") for reason in range(CASSINI_STOP_UNPROVEN + 1)
)

# One extension, in parts: what all calls need, one link, many links, links held together.
include "_options.pxi"
include "_link.pxi"
include "_links.pxi"
include "_joint.pxi"
