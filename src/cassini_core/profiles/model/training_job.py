"""What a model of a job is told: :class:`TrainingJob`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from ...checks import number
from ...errors import InputError, refusal, shown
from .groups import Group, rank_groups

__all__ = ["Sharding", "TrainingJob"]

Sharding = Literal["none", "optimizer", "full"]

_COUNTS = ("workers", "tensor", "pipeline", "expert", "microbatches", "local_ranks", "top_k")
_MAYBE_COUNTS = ("layers", "moe_layers", "batch", "sequence", "hidden")
_SIZES = ("compute_ms", "gbps", "bytes_per_parameter", "activation_bytes", "bucket_bytes", "capacity_factor")
_MAYBE_SIZES = ("parameters", "gradient_bytes", "expert_parameters", "local_gbps")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingJob:
    """A training job as far as its traffic goes.

    Attributes
    ----------
    workers : int
        Ranks of the job. What tensor and pipeline parallelism leave of them is data parallel.
    compute_ms : float
        Time that one rank computes in an iteration, over all its micro-batches, ms.
    gbps : float
        Rate at which one rank sends when the job is alone, Gbit/s; ranks that share a NIC have an equal part each.
    parameters : float or None
        Parameters of the whole model, experts left out, such as 7e9.
    gradient_bytes : float or None
        Bytes of all their gradients, in place of the parameters.
    bytes_per_parameter : float
        Size of a parameter, and of its gradient, as they are sent, bytes.
    tensor : int
        Tensor parallel ranks: each layer is spread over so many.
    pipeline : int
        Pipeline stages, which run 1F1B.
    expert : int
        Ranks over which the experts of a layer are spread, among the data parallel ones.
    sharding : str
        What data parallel ranks keep only a part of. none: nothing, gradients are all-reduced. optimizer: its state
        (ZeRO stages 1 and 2). full: parameters too (ZeRO stage 3, FSDP).
    overlap : bool
        Send gradients during the backward pass, and with full sharding gather parameters ahead. In a pipeline
        gradients are always sent after a stage's last pass.
    bucket_bytes : float
        Gradients are sent in buckets of this size, bytes; PyTorch's DDP has 25 MiB.
    microbatches : int
        Micro-batches of a data parallel rank in an iteration.
    layers : int or None
        Transformer layers of the whole model.
    batch : int or None
        Samples of a micro-batch.
    sequence : int or None
        Tokens of a sample.
    hidden : int or None
        Width of a layer.
    activation_bytes : float
        Size of one activation, bytes.
    sequence_parallel : bool
        Tensor parallel ranks keep a part of the sequence each.
    moe_layers : int or None
        Layers that have experts; None: all, with expert parallelism.
    expert_parameters : float or None
        Parameters of all experts of the model together.
    top_k : int
        Experts that a token is sent to.
    capacity_factor : float
        Room for tokens at an expert, by what evenly spread tokens need.
    forward_share : float
        Share of the forward pass in the computation; a third if the backward pass costs twice as much.
    local_ranks : int
        Ranks of the job in one server. Groups that stay inside use no network.
    local_gbps : float or None
        Rate of a rank inside its server, Gbit/s; None: the computing time includes what goes on inside.

    Raises
    ------
    InputError
        A field is out of its range, or the fields do not fit each other.
    """

    workers: int
    compute_ms: float
    gbps: float
    parameters: float | None = None
    gradient_bytes: float | None = None
    bytes_per_parameter: float = 2.0
    tensor: int = 1
    pipeline: int = 1
    expert: int = 1
    sharding: Sharding = "none"
    overlap: bool = True
    bucket_bytes: float = 25.0 * 2**20
    microbatches: int = 1
    layers: int | None = None
    batch: int | None = None
    sequence: int | None = None
    hidden: int | None = None
    activation_bytes: float = 2.0
    sequence_parallel: bool = False
    moe_layers: int | None = None
    expert_parameters: float | None = None
    top_k: int = 1
    capacity_factor: float = 1.0
    forward_share: float = 1 / 3
    local_ranks: int = 1
    local_gbps: float | None = None

    def __post_init__(self) -> None:
        for name in (*_COUNTS, *_MAYBE_COUNTS):
            value = getattr(self, name)
            if (value is not None or name in _COUNTS) and (type(value) is not int or not 1 <= value <= 2**40):
                raise refusal("", name, f"a whole number from 1 to {2**40}", shown(value))
        for name in (*_SIZES, *_MAYBE_SIZES):
            value = getattr(self, name)
            if (value is not None or name in _SIZES) and number(value, "", name) <= 0:
                raise refusal("", name, "a number above 0", shown(value))
        if not 0 < number(self.forward_share, "", "forward_share") < 1:
            raise refusal("", "forward_share", "a number between 0 and 1", shown(self.forward_share))
        if self.sharding not in get_args(Sharding):
            raise refusal("", "sharding", f"one of {', '.join(get_args(Sharding))}", shown(self.sharding))
        for name in ("overlap", "sequence_parallel"):
            if not isinstance(getattr(self, name), bool):
                raise refusal("", name, "true or false", shown(getattr(self, name)))
        if (self.parameters is None) == (self.gradient_bytes is None):
            raise InputError("parameters: expected either this or gradient_bytes, got both or neither")
        self._check_shape()
        self._check_layers()

    def _check_shape(self) -> None:
        _ = self.groups  # refuses numbers that do not divide each other
        if self.expert > 1 and self.tensor > 1 and not self.sequence_parallel:
            # Each tensor parallel rank would send all tokens to the experts: Megatron-LM refuses that as well.
            raise refusal("", "sequence_parallel", "true with both tensor and expert parallelism", "false")
        if self.pipeline > 1 and self.sharding == "full":
            raise refusal("", "sharding", "none or optimizer with a pipeline, whose stages are not played so", "full")
        if self.expert > 1 and self.expert_parameters is None:
            raise refusal("", "expert_parameters", "a number above 0 with expert parallelism", "nothing")

    def _check_layers(self) -> None:
        groups = self.groups
        spread = [groups[name] for name in ("tensor", "pipeline", "expert") if groups[name].size > 1]
        if any(group.crosses or self.local_gbps is not None for group in spread):
            for name in ("layers", "batch", "sequence", "hidden"):
                if getattr(self, name) is None:
                    names = " and ".join(group.name for group in spread)
                    raise refusal("", name, f"a whole number with {names} parallelism", "nothing")
        if self.moe_layers is not None and (self.layers or 0) % self.moe_layers:
            raise refusal("", "moe_layers", f"a divisor of the layers, {self.layers}", str(self.moe_layers))
        for name in ("layers", "moe_layers"):
            if (getattr(self, name) or 0) % self.pipeline:
                raise refusal("", name, f"a multiple of the {self.pipeline} stages", str(getattr(self, name)))

    @property
    def dense_bytes(self) -> float:
        """Bytes of all parameters outside of experts, or of their gradients."""
        return self.gradient_bytes or self.bytes_per_parameter * (self.parameters or 0.0)

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
