"""A job from a simulator's workload file: :func:`profile_workload`.

The file is played as ASTRA-sim plays it: the layers forward, then backward from the last. Computation waits for the
collectives of the forward pass and of input gradients; those of weight gradients are sent while it goes on. An
iteration ends when all has arrived, as in training whose optimizer waits for all gradients. (In ASTRA-sim each layer's
next forward pass waits for its own gradients only.)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...checks import number, whole_number
from ...errors import InputError, refusal, shown
from .computed import ComputedProfile, computed_profile
from .groups import Group, Message, rank_groups
from .timeline import Timeline
from .workload_file import Layer, Step, Workload, read_workload

__all__ = ["profile_workload"]

_TICK_MS = 1e-6


def profile_workload(
    path: str | Path,
    *,
    job_id: str,
    gbps: float,
    workers: int | None = None,
    local_ranks: int = 1,
    local_gbps: float | None = None,
) -> ComputedProfile:
    """Iteration time and traffic of one rank of the job in a workload file.

    Parameters
    ----------
    path : path
        Text file as :mod:`.workload_file` describes it.
    job_id : str
        Id of the job made.
    gbps : float
        Rate at which one rank sends through the network when the job is alone, Gbit/s.
    workers : int, optional
        Ranks of the job, for files that do not say.
    local_ranks : int
        Ranks of the job in one server; groups of consecutive ranks that fill it use no network.
    local_gbps : float, optional
        Rate of one rank inside its server, Gbit/s. Default: what stays inside takes no time.

    Raises
    ------
    InputError
        The file is wrong or says too little: the number of ranks, how a pipeline runs, how long anything computes.
    """
    for name, value in (("gbps", gbps), ("local_gbps", local_gbps)):
        if value is not None and number(value, "", name) <= 0:
            raise refusal("", name, "a number above 0", shown(value))
    local_ranks = whole_number(local_ranks, "local_ranks")
    workers = None if workers is None else whole_number(workers, "workers")
    workload = read_workload(path)
    ranks = _workers(workload, workers)
    groups = _groups(workload, ranks, local_ranks)
    timeline = Timeline(gbps, local_gbps)
    _play(workload, groups, timeline)
    used = [group for group in groups.values() if group.size > 1]
    return computed_profile(
        job_id,
        timeline,
        timeline.end_ms,
        method="workload",
        inputs=[Path(path).name],
        warnings=_warnings(workload, groups, timeline, local_gbps),
        details={
            "workload": {"policy": workload.policy, "layers": len(workload.layers), "workers": ranks, "gbps": gbps},
            "groups": [{"name": one.name, "ranks": one.size, "in_one_server": one.local} for one in used],
        },
    )


def _workers(workload: Workload, given: int | None) -> int:
    written = workload.header.get("all_gpus")
    if given is not None and written is not None and given != written:
        raise InputError(f"workers: expected {written}, as {workload.source} says, got {given}")
    found = given if given is not None else written
    if found is None:
        raise InputError(f"{workload.source}: does not say how many ranks the job has; say it with workers (--workers)")
    if found < 1:
        raise InputError(f"{workload.source}: workers: expected at least 1, got {found}")
    return found


def _groups(workload: Workload, workers: int, local_ranks: int) -> dict[str, Group]:
    tensor = {"DATA": 1, "MODEL": workers}.get(workload.policy, workload.header.get("model_parallel_NPU_group", 0))
    expert = workload.header.get("ep", 1)
    if tensor < 1 or expert < 1:
        raise InputError(f"{workload.source}: line 1: expected groups of at least 1 rank, got {min(tensor, expert)}")
    try:
        return rank_groups(workers, tensor=tensor, expert=expert, local_ranks=local_ranks)
    except InputError as error:
        raise InputError(f"{workload.source}: {error}") from None


def _play(workload: Workload, groups: dict[str, Group], timeline: Timeline) -> None:
    layers = workload.layers
    # AICB writes 1 where it knows no time.
    if all(step.compute_ms <= _TICK_MS for layer in layers for step in _steps(layer)):
        raise InputError(f"{workload.source}: expected computing times, got none above 1 ns")
    for layer in layers:
        for step in {"DATA": _steps(layer)[:2], "MODEL": _steps(layer)[2:]}.get(workload.policy, ()):
            if step.kind is not None:
                raise InputError(
                    f"{workload.source}: layer {shown(layer.name)}: expected NONE where {workload.policy} parallelism "
                    f"sends nothing, got {step.kind}"
                )
    whole = workload.policy == "HYBRID_TRANSFORMER_FWD_IN_BCKWD"

    def message(step: Step, own: str) -> Message:
        if step.kind is None:
            return Message("", 0.0, 0.0)
        group = groups[{"EP": "expert", "DP_EP": "expert data"}.get(step.suffix, own)]
        # ASTRA-sim takes the size of an all-gather for a rank's own part; SimAI, for which AICB writes, for the whole.
        own_part = step.kind == "all_gather" and not whole
        return group.message(step.kind, step.size_bytes * (group.size if own_part else 1))

    for layer in layers:
        timeline.compute(layer.forward.compute_ms)
        timeline.run(message(layer.forward, "tensor"))
    for place, layer in reversed(list(enumerate(layers))):
        gradient = message(layer.weight_gradient, "data")
        if workload.policy == "DATA":
            timeline.compute(layer.weight_gradient.compute_ms)
            timeline.start(gradient)
            if place:  # the first layer has no input that would need a gradient
                timeline.compute(layer.input_gradient.compute_ms)
            continue
        timeline.compute(layer.input_gradient.compute_ms)
        done = timeline.start(message(layer.input_gradient, "tensor"))
        if workload.policy == "MODEL":  # awaited only after the weights' gradient
            timeline.compute(layer.weight_gradient.compute_ms)
            timeline.wait_until(done)
        else:
            timeline.wait_until(done)
            timeline.compute(layer.weight_gradient.compute_ms)
        timeline.start(gradient)


def _steps(layer: Layer) -> tuple[Step, Step, Step]:
    return layer.forward, layer.input_gradient, layer.weight_gradient


def _warnings(
    workload: Workload, groups: dict[str, Group], timeline: Timeline, local_gbps: float | None
) -> Iterator[str]:
    inside = sum(one.local_bytes for one in timeline.local)
    if inside and local_gbps is None:
        yield f"{inside / 1e6:.4g} MB that stay inside servers take no time; local_gbps (--local-gbps) says their rate"
    if workload.header.get("ga", 1) > 1:
        yield "the file puts all micro-batches' forward passes before their backward passes; training alternates"
    if groups["tensor"].size == 1 and workload.policy != "DATA":
        alone = sum(s.kind is not None and not s.suffix for layer in workload.layers for s in _steps(layer)[:2])
        if alone:
            yield f"{alone} collectives are over tensor parallel groups of one rank and send nothing"
    gathers = any(step.kind == "all_gather" for layer in workload.layers for step in _steps(layer))
    if gathers and workload.policy != "HYBRID_TRANSFORMER_FWD_IN_BCKWD":
        yield "sizes of all-gathers were taken for a rank's own part, as ASTRA-sim does"
