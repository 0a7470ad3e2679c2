"""What a collective costs on the wire: names, element sizes and ring formulas.

A ring of ``n`` ranks is assumed for every collective, as NCCL uses it between hosts for large messages. The
figure is what one rank sends or receives, whichever is more; that is also what crosses a link between two
racks of the ring, in each direction.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from ..errors import InputError

__all__ = ["KINDS", "collective_kind", "dtype_bytes", "kernel_kind", "recorded_wire_bytes", "wire_bytes"]

KINDS = (
    "all_reduce",
    "reduce_scatter",
    "all_gather",
    "all_to_all",
    "broadcast",
    "reduce",
    "gather",
    "scatter",
    "send",
    "recv",
    "barrier",
)
"""The collectives whose traffic is known."""

_KIND_BY_LETTERS = {kind.replace("_", ""): kind for kind in KINDS} | {"receive": "recv", "alltoallv": "all_to_all"}

# What PyTorch puts around the name of a collective to say how its tensors are passed; none of it changes the traffic.
_DECORATION = re.compile(
    r"^(?:c10d|nccl|dist|i(?=send|recv))+|(?:coalesced|intotensor|tensor|single|base|oop|sparse|into)+$"
)

_LONGEST_NAME = 80
"""Letters; no spelling is longer, and taking decoration off costs the square of the length."""

_BYTES = {
    "float4_e2m1fn_x2": 1.0,  # two values of four bits in each element
    "bool": 1.0, "byte": 1.0, "char": 1.0, "uint8": 1.0, "int8": 1.0, "quint8": 1.0, "qint8": 1.0,
    "short": 2.0, "half": 2.0, "bfloat16": 2.0, "float16": 2.0, "int16": 2.0, "uint16": 2.0,
    "int": 4.0, "float": 4.0, "int32": 4.0, "uint32": 4.0, "float32": 4.0, "qint32": 4.0, "complexhalf": 4.0,
    "long": 8.0, "double": 8.0, "int64": 8.0, "uint64": 8.0, "float64": 8.0, "complexfloat": 8.0, "complex64": 8.0,
    "complexdouble": 16.0, "complex128": 16.0,
}  # fmt: skip


def collective_kind(name: str) -> str | None:
    """One of :data:`KINDS` for any of the spellings of a collective, or None.

    ``allreduce``, ``nccl:all_reduce``, ``_allgather_base``, ``reduce_scatter_tensor_coalesced`` and
    ``all_to_allv`` are all understood; case, underscores and other signs do not matter.
    """
    letters = re.sub(r"[^a-z0-9]", "", name.lower())
    if len(letters) > _LONGEST_NAME:
        return None
    return _KIND_BY_LETTERS.get(letters) or _KIND_BY_LETTERS.get(_DECORATION.sub("", letters))


def kernel_kind(kernel: str) -> str:
    """The collective a kernel's name speaks of, e.g. ``all_reduce`` for ``ncclDevKernel_AllReduce_Sum_f32``.

    ``send_recv`` stays as it is: NCCL runs point-to-point transfers and all-to-all by the same kernel. So does the
    name of a function that is none of NCCL's, without its namespaces and arguments.
    """
    match = re.search(r"kernel_+([a-z]+)", kernel, re.IGNORECASE)
    word = match[1] if match else re.split(r"[<(]", kernel, maxsplit=1)[0].rpartition("::")[2].strip() or kernel
    if word.lower() == "sendrecv":
        return "send_recv"
    return collective_kind(word) or word.lower()


def dtype_bytes(dtype: str) -> float | None:
    """Size of one element in bytes for the names PyTorch gives its types (``Float``, ``BFloat16``), or None."""
    name = dtype.strip().lower().removeprefix("torch.").removeprefix("c10::").removesuffix("_t")
    if name.startswith("float8_"):
        return 1.0
    return _BYTES.get(name)


def wire_bytes(kind: str, in_bytes: float, out_bytes: float, group_size: int) -> float:
    """Bytes one rank puts on the wire, in the busier direction, by the ring formula.

    With ``S`` the larger of input and output and ``n`` the size of the group: all-reduce and barrier
    ``2 (n-1)/n S``; reduce-scatter, all-gather and all-to-all ``(n-1)/n S``; broadcast, reduce, send and receive
    ``S``; gather and scatter ``(n-1)/n S`` at the rank that holds all of it, ``S`` at the others.

    Parameters
    ----------
    kind : str
        One of :data:`KINDS`.
    in_bytes, out_bytes : float
        Sizes of this rank's input and output, bytes, at least 0.
    group_size : int
        Number of ranks ``n``, at least 1. A group of one moves nothing.

    Raises
    ------
    InputError
        Unknown kind, a size that is negative or not finite, or a group below one.
    """
    if kind not in KINDS:
        raise InputError(f"collective: expected one of {', '.join(KINDS)}, got {kind!r}")
    for what, value in (("input", in_bytes), ("output", out_bytes)):
        if not (math.isfinite(value) and value >= 0):
            raise InputError(f"{kind} {what} bytes: expected a finite number of at least 0, got {value!r}")
    if group_size < 1:
        raise InputError(f"{kind} group size: expected at least 1, got {group_size!r}")
    if group_size == 1:
        return 0.0
    size = float(max(in_bytes, out_bytes))
    others = (group_size - 1) / group_size
    if kind in ("all_reduce", "barrier"):
        return 2 * others * size
    if kind in ("reduce_scatter", "all_gather", "all_to_all"):
        return others * size
    if (kind == "gather" and out_bytes > in_bytes) or (kind == "scatter" and in_bytes > out_bytes):
        return others * size
    return size


def recorded_wire_bytes(
    kind: str,
    in_bytes: float,
    out_bytes: float,
    group_size: int,
    *,
    splits: tuple[Sequence[int], Sequence[int]] = ((), ()),
    own: int | None = None,
) -> float:
    """:func:`wire_bytes`, but for an all-to-all by what its peers get, where that was recorded.

    Parameters
    ----------
    splits : pair of sequences of int
        Shares of the peers in input and output, in any unit; empty where not recorded.
    own : int, optional
        Place of this rank among them. Its own share stays with it; unknown, it is taken for the mean.

    Raises
    ------
    InputError
        As :func:`wire_bytes`.
    """
    even = wire_bytes(kind, in_bytes, out_bytes, group_size)
    if kind != "all_to_all" or group_size == 1:
        return even
    away = []
    for size, shares in zip((in_bytes, out_bytes), splits, strict=True):
        whole = sum(shares)
        kept = shares[own] / whole if own is not None and len(shares) == group_size and whole > 0 else 1 / group_size
        away.append((1 - kept) * size)
    return max(away)
