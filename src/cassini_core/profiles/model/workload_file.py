"""The text workload files of ASTRA-sim 1.0, which AICB writes for SimAI too: :func:`read_workload`.

The first line names how work is spread and, after ``key:``, the sizes of groups; the second counts the layers; each
further line is a layer::

    name  dependency  compute  comm  size  compute  comm  size  compute  comm  size  update
                      |-- forward --|      |- input gradient -|  |- weight gradient -|

Computing times are ticks of 1 ns (cycles of 1 GHz), sizes bytes. The dependency and the update time are not used: no
published file depends on anything, and by what the update time is to be multiplied differs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from ...errors import InputError, shown, worded
from ..collectives import collective_kind

__all__ = ["Layer", "Step", "Workload", "read_workload"]

MAX_FILE_BYTES = 2**26
MAX_LAYERS = 200_000

_NOT_PLAYED = {
    "HYBRID_DATA_MODEL": "the sizes of its groups stand in a simulator's network file",
    "HYBRID_MODEL_DATA": "the sizes of its groups stand in a simulator's network file",
    "HYBRID_CUSTOMIZED": "the sizes of its groups stand in a simulator's network file",
    "HYBRID_DLRM": "which layer waits for its all-to-all is not in every file",
    "HYBRID_DLRM_ENHANCED": "which layer waits for its all-to-all is not in every file",
    "MICRO": "it is a benchmark of collectives, not a training job",
    "DISTRIBUTED_INFERENCE": "it is not a training job",
}
_POLICIES = ("DATA", "MODEL", "HYBRID_TRANSFORMER", "HYBRID_TRANSFORMER_FWD_IN_BCKWD")
_KEYS = ("model_parallel_NPU_group", "ep", "pp", "vpp", "ga", "all_gpus", "checkpoints", "checkpoint_initiates")
_NUMBER = re.compile(r"\d{1,18}(?:\.\d{1,6})?")
_COLLECTIVE = re.compile(r"([A-Z]{1,20})(?:_(EP|DP_EP))?")
_CELLS = 12


@dataclass(frozen=True, slots=True)
class Step:
    """A layer's part in one pass: computation, ms, then a collective, or None, over the group that its suffix names."""

    compute_ms: float
    kind: str | None
    size_bytes: float
    suffix: str


@dataclass(frozen=True, slots=True)
class Layer:
    """A line of the file."""

    name: str
    forward: Step
    input_gradient: Step
    weight_gradient: Step


@dataclass(frozen=True, slots=True)
class Workload:
    """What a file says: the policy (the first word), the header's numbers by key, the layers."""

    source: str
    policy: str
    header: Mapping[str, int]
    layers: tuple[Layer, ...]


def read_workload(path: str | Path) -> Workload:
    """Read a file. Cost: some 10 µs a layer.

    Raises
    ------
    InputError
        It cannot be read, is no workload file, or says too little: one line with file, line, expected and got.
    """
    source = worded(str(path))
    try:
        with open(path, "rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        came = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"{source}: expected a readable file, got the error {came!r}") from None
    if len(data) > MAX_FILE_BYTES:
        raise InputError(f"{source}: expected at most {MAX_FILE_BYTES} bytes, got more")
    try:
        lines = data.decode("ascii").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{source}: byte {error.start}: expected ASCII text, got {data[error.start]:#04x}") from None
    rows = [(number, line.split()) for number, line in enumerate(lines, 1) if line.strip()]
    if len(rows) < 2:
        raise InputError(f"{source}: expected parallelism, the number of layers, and layers; got {len(rows)} lines")
    policy, header = _header(source, rows[0][1])
    layers = tuple(_layer(f"{source}: line {number}", cells) for number, cells in rows[2:])
    count = " ".join(rows[1][1])
    if not re.fullmatch(r"\d{1,9}", count) or not 1 <= int(count) == len(layers) <= MAX_LAYERS:
        raise InputError(
            f"{source}: line {rows[1][0]}: expected the number of layers below, {len(layers)}, from 1 to {MAX_LAYERS}, "
            f"got {shown(count)}"
        )
    return Workload(source, policy, header, layers)


def _header(source: str, words: list[str]) -> tuple[str, dict[str, int]]:
    policy = words[0]
    if policy in _NOT_PLAYED:
        raise InputError(f"{source}: line 1: expected {' or '.join(_POLICIES)}, got {policy}: {_NOT_PLAYED[policy]}")
    if policy not in _POLICIES:
        raise InputError(f"{source}: line 1: expected {' or '.join(_POLICIES)}, got {shown(policy)}")
    header: dict[str, int] = {}
    # After "checkpoints:" the numbers of layers follow, which do not matter as their count must be 0.
    for word, value in pairwise([*words[1:], ""]):
        key = word.removesuffix(":")
        if word == f"{key}:" and key in _KEYS:
            if not re.fullmatch(r"\d{1,12}", value):
                raise InputError(f"{source}: line 1: {key}: expected a whole number, got {shown(value)}")
            header[key] = int(value)
    if header.get("pp", 1) > 1:
        raise InputError(
            f"{source}: line 1: pp: expected 1, got {header['pp']}: the file does not say in which order stages run "
            "micro-batches; cassini-core profile model plays 1F1B"
        )
    for key in ("checkpoints", "checkpoint_initiates"):
        if header.get(key, 0):
            raise InputError(f"{source}: line 1: {key}: expected 0, got {header[key]}: recomputation is not played")
    return policy, header


def _layer(place: str, cells: list[str]) -> Layer:
    if len(cells) != _CELLS:
        raise InputError(f"{place}: expected {_CELLS} columns, got {len(cells)}")
    steps = [_step(f"{place}: column {at + 1}", *cells[at : at + 3]) for at in (2, 5, 8)]
    return Layer(cells[0], *steps)


def _step(place: str, compute: str, collective: str, size: str) -> Step:
    for number in (compute, size):
        if not _NUMBER.fullmatch(number):
            raise InputError(f"{place}: expected numbers of at least 0 around a collective, got {shown(number)}")
    match = _COLLECTIVE.fullmatch(collective)
    if match is None:
        raise InputError(f"{place}: expected a collective such as ALLREDUCE or ALLTOALL_EP, got {shown(collective)}")
    kind = None if match[1] == "NONE" else collective_kind(match[1])
    if kind is None and match[1] != "NONE":
        raise InputError(f"{place}: expected a collective such as ALLREDUCE or NONE, got {shown(collective)}")
    return Step(float(compute) * 1e-6, kind, float(size), match[2] or "")
