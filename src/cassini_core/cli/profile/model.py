"""``cassini-core profile model``."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from ...errors import InputError
from ..console import Waiting
from ..options import PositiveCount, number_from, whole_number_from
from .computed_output import deliver_computed
from .job_output import output_job_id

__all__ = ["model"]

_Count = Annotated[int, Parameter(converter=whole_number_from(1))]
_Above = Annotated[float, Parameter(converter=number_from(0, above=True))]
_MaybeAbove = Annotated[float | None, Parameter(converter=number_from(0, above=True))]


def model(
    *,
    output: Annotated[str, Parameter(name=("--output", "-o"))],
    workers: _Count,
    compute_ms: _Above,
    gbps: _Above,
    id: Annotated[str | None, Parameter(name="--id")] = None,
    parameters: _MaybeAbove = None,
    bytes_per_parameter: _Above = 2.0,
    gradient_bytes: _MaybeAbove = None,
    tensor: _Count = 1,
    pipeline: _Count = 1,
    expert: _Count = 1,
    sharding: Literal["none", "optimizer", "full"] = "none",
    overlap: bool = True,
    bucket_mib: _Above = 25.0,
    microbatches: _Count = 1,
    layers: PositiveCount = None,
    batch: PositiveCount = None,
    sequence: PositiveCount = None,
    hidden: PositiveCount = None,
    activation_bytes: _Above = 2.0,
    sequence_parallel: Annotated[bool, Parameter(negative=())] = False,
    moe_layers: PositiveCount = None,
    expert_parameters: _MaybeAbove = None,
    top_k: _Count = 1,
    capacity_factor: _Above = 1.0,
    forward_share: _Above = 1 / 3,
    local_ranks: _Count = 1,
    local_gbps: _MaybeAbove = None,
) -> None:
    """Compute a job from its parameters, workers and parallelism, before it ever ran.

    The traffic is that of one rank. docs/profiles.md lists the formulas and their sources.

    Parameters
    ----------
    output
        Job file to write; an existing one is replaced. - writes to standard output.
    workers
        Ranks of the job. What tensor and pipeline parallelism leave of them is data parallel.
    compute_ms
        Time that one rank computes in an iteration, ms.
    gbps
        Rate at which one rank sends when the job is alone, Gbit/s; ranks that share a NIC have an equal part each.
    id
        Id of the job. Default: the name of the output file.
    parameters
        Parameters of the whole model, experts left out, such as 7e9.
    bytes_per_parameter
        Size of a parameter, and of its gradient, as they are sent.
    gradient_bytes
        Bytes of all gradients of the model, in place of --parameters.
    tensor
        Tensor parallel ranks.
    pipeline
        Pipeline stages (1F1B).
    expert
        Expert parallel ranks, among the data parallel ones.
    sharding
        none: gradients are all-reduced. optimizer: ZeRO stages 1 and 2. full: ZeRO stage 3, FSDP.
    overlap
        Send gradients during the backward pass, and with full gather parameters ahead. In a pipeline gradients are
        always sent after a stage's last pass.
    bucket_mib
        Gradients are sent in buckets of this size, MiB.
    microbatches
        Micro-batches of a data parallel rank in an iteration.
    layers
        Transformer layers.
    batch
        Samples of a micro-batch.
    sequence
        Tokens of a sample.
    hidden
        Width of a layer.
    activation_bytes
        Size of an activation.
    sequence_parallel
        Tensor parallel ranks keep a part of the sequence each.
    moe_layers
        Layers that have experts. Default: all, with --expert.
    expert_parameters
        Parameters of all experts of the model together.
    top_k
        Experts that a token is sent to.
    capacity_factor
        Room for tokens at an expert, by what evenly spread tokens need.
    forward_share
        Share of the forward pass in the computation.
    local_ranks
        Ranks of the job in one server. Groups that stay inside use no network.
    local_gbps
        Rate of a rank inside its server, Gbit/s. Default: --compute-ms includes what goes on inside.
    """
    from ...profiles.model import TrainingJob, profile_model

    if (parameters is None) == (gradient_bytes is None):
        raise InputError("--parameters: expected either this or --gradient-bytes, got both or neither")
    job_id = output_job_id(id, output, ())
    job = TrainingJob(
        workers=workers,
        compute_ms=compute_ms,
        gbps=gbps,
        parameters=gradient_bytes / bytes_per_parameter if gradient_bytes is not None else parameters or 0.0,
        expert_parameters=expert_parameters or 0.0,
        bytes_per_parameter=bytes_per_parameter,
        tensor=tensor,
        pipeline=pipeline,
        expert=expert,
        sharding=sharding,
        overlap=overlap,
        bucket_bytes=bucket_mib * 2**20,
        microbatches=microbatches,
        layers=layers,
        moe_layers=moe_layers,
        batch=batch,
        sequence=sequence,
        hidden=hidden,
        activation_bytes=activation_bytes,
        sequence_parallel=sequence_parallel,
        top_k=top_k,
        capacity_factor=capacity_factor,
        forward_share=forward_share,
        local_ranks=local_ranks,
        local_gbps=local_gbps,
    )
    with Waiting("playing an iteration"):
        profiled = profile_model(job, job_id=job_id)
    deliver_computed(output, profiled, "model")
