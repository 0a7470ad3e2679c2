"""What a model of a job is told: :class:`TrainingJob`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from ...errors import InputError
from .groups import Group, rank_groups

__all__ = ["Sharding", "TrainingJob"]

Sharding = Literal["none", "optimizer", "full"]
"""What data parallel ranks keep only a part of: nothing; the optimizer's state; parameters too."""

_COUNTS = ("workers", "tensor", "pipeline", "expert", "microbatches", "local_ranks", "top_k")
_ABOVE_ZERO = ("compute_ms", "gbps", "bytes_per_parameter", "activation_bytes", "bucket_bytes", "capacity_factor")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingJob:
    """A training job as far as its traffic goes. Counts are whole; sizes may be any finite number above 0.

    Attributes
    ----------
    workers : int
        Ranks of the job: tensor times pipeline times data parallel.
    compute_ms : float
        Time that one rank computes in an iteration, over all its micro-batches, ms.
    gbps : float
        Rate at which one rank sends through the network when the job is alone, Gbit/s. Ranks that share a NIC have an
        equal part each.
    parameters, expert_parameters : float
        Parameters of the whole model outside of experts, and of all experts together.
    bytes_per_parameter : float
        Size of a parameter and of its gradient as they are sent, bytes.
    tensor, pipeline, expert : int
        Ranks over which a layer, the layers, and the experts of a layer are spread. Expert parallel ranks are among
        the data parallel ones.
    sharding : str
        ``none``: gradients are all-reduced. ``optimizer`` (ZeRO stages 1 and 2): reduced and scattered, then
        parameters gathered. ``full`` (ZeRO stage 3, FSDP): parameters are gathered layer by layer.
    overlap : bool
        Gradients, and with ``full`` parameters, are sent while the backward pass goes on; else computation waits.
    bucket_bytes : float
        Gradients are sent in buckets of this size, bytes; 25 MiB is the default of PyTorch's DDP.
    microbatches : int
        Of one data parallel rank in an iteration.
    layers, moe_layers : int or None
        Transformer layers of the whole model, and how many of them have experts (None: all).
    batch, sequence, hidden : int or None
        Samples of a micro-batch, tokens of a sample, width of a layer.
    activation_bytes : float
        Size of one activation, bytes.
    sequence_parallel : bool
        Tensor parallel ranks keep a part of the sequence each.
    top_k, capacity_factor : int, float
        Experts per token, and the room for tokens at an expert by what evenly spread tokens would need.
    forward_share : float
        Share of the forward pass in the computation. Default a third: the backward pass costs twice as much (Kaplan et
        al., "Scaling Laws for Neural Language Models", 2020, section 2.1).
    local_ranks : int
        Ranks of the job in one server.
    local_gbps : float or None
        Rate of one rank inside its server, Gbit/s. None: ``compute_ms`` includes what goes on inside.

    Raises
    ------
    InputError
        A field is out of its range, or the fields do not fit each other.
    """

    workers: int
    compute_ms: float
    gbps: float
    parameters: float
    expert_parameters: float = 0.0
    bytes_per_parameter: float = 2.0
    tensor: int = 1
    pipeline: int = 1
    expert: int = 1
    sharding: Sharding = "none"
    overlap: bool = True
    bucket_bytes: float = 25.0 * 2**20
    microbatches: int = 1
    layers: int | None = None
    moe_layers: int | None = None
    batch: int | None = None
    sequence: int | None = None
    hidden: int | None = None
    activation_bytes: float = 2.0
    sequence_parallel: bool = False
    top_k: int = 1
    capacity_factor: float = 1.0
    forward_share: float = 1 / 3
    local_ranks: int = 1
    local_gbps: float | None = None

    def __post_init__(self) -> None:
        optional = [name for name in ("layers", "moe_layers", "batch", "sequence", "hidden") if getattr(self, name)]
        for name in (*_COUNTS, *optional):
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value <= 2**40:
                raise InputError(f"{name}: expected a whole number from 1 to {2**40}, got {value!r}")
        for name in (*_ABOVE_ZERO, *(["local_gbps"] if self.local_gbps is not None else [])):
            if not 0 < getattr(self, name) < math.inf:
                raise InputError(f"{name}: expected a finite number above 0, got {getattr(self, name)!r}")
        for name in ("parameters", "expert_parameters"):
            if not 0 <= getattr(self, name) < math.inf:
                raise InputError(f"{name}: expected a finite number of at least 0, got {getattr(self, name)!r}")
        if not 0 < self.forward_share < 1:
            raise InputError(f"forward_share: expected a number between 0 and 1, got {self.forward_share!r}")
        if self.sharding not in get_args(Sharding):
            raise InputError(f"sharding: expected one of {', '.join(get_args(Sharding))}, got {self.sharding!r}")
        self._check_shape()
        self._check_layers()

    def _check_shape(self) -> None:
        _ = self.groups  # refuses numbers that do not divide each other
        if self.expert > 1 and self.tensor > 1 and not self.sequence_parallel:
            # Each tensor parallel rank would send all tokens to the experts: Megatron-LM refuses that as well.
            raise InputError("sequence_parallel: expected with both tensor and expert parallelism, got false")
        if self.pipeline > 1 and self.sharding == "full":
            raise InputError(
                "sharding: expected none or optimizer with a pipeline, got full: how its stages would gather "
                "parameters for each micro-batch is not known"
            )
        if (self.expert_parameters > 0 or self.moe_layers) and self.layers is None:
            raise InputError("layers: expected a whole number with experts, got nothing")
        if self.expert > 1 and not self.expert_parameters:
            raise InputError("expert_parameters: expected a number above 0 with expert parallelism, got 0")

    def _check_layers(self) -> None:
        groups = self.groups
        spread = [groups[name] for name in ("tensor", "pipeline", "expert") if groups[name].size > 1]
        if any(group.crosses or self.local_gbps is not None for group in spread):
            missing = [name for name in ("layers", "batch", "sequence", "hidden") if getattr(self, name) is None]
            if missing:
                names = ", ".join(group.name for group in spread)
                raise InputError(f"{missing[0]}: expected a whole number with {names} parallelism, got nothing")
        for name in ("layers", "moe_layers"):
            if (getattr(self, name) or 0) % self.pipeline:
                raise InputError(f"{name}: expected a multiple of {self.pipeline} stages, got {getattr(self, name)}")
        if self.layers is not None and self.layers % (self.moe_layers or self.layers):
            raise InputError(f"moe_layers: expected a divisor of the {self.layers} layers, got {self.moe_layers}")

    @property
    def groups(self) -> dict[str, Group]:
        """The groups of one rank, by name."""
        return rank_groups(
            self.workers,
            tensor=self.tensor,
            pipeline=self.pipeline,
            expert=self.expert,
            local_ranks=self.local_ranks,
        )
