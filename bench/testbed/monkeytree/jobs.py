"""The ten kinds of jobs of MonkeyTree's Figure 6: what they compute, and the rings in which they all-reduce.

All servers have eight GPUs with a NIC each. A job's GPUs are numbered server by server. Within an iteration all
compute, and then every GPU sends to the next one of its ring, all at once; the iteration ends with the slowest flow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

__all__ = ["GPUS", "KINDS", "NIC_GBPS", "Kind", "of_one_period", "read_kinds"]

GPUS = 8
"""Of a server."""
NIC_GBPS = 400.0
"""Of a GPU, and of every link between a rack's switch and a spine."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of job.

    Parameters
    ----------
    name : str
        Its job file's.
    compute_ms : float
        Of an iteration of one pipeline stage, without the bubbles.
    gradients_gb : float
        What each ring reduces, GB.
    rings : int
        Side by side: 1, through all GPUs, or 8, one for each GPU of a server.
    gpus : sequence of int
        Sizes, equally likely.
    weight : float
        Of this kind among all.
    stages, microbatches : int
        Of the pipeline; each stage has rings of its own.
    activation_gb : float
        Sent from stage to stage for each microbatch, GB.
    exchanged_gb : float
        All-to-all exchanges of an iteration, GB in all.
    """

    name: str
    compute_ms: float
    gradients_gb: float
    rings: int
    gpus: tuple[int, ...]
    weight: float
    stages: int = 1
    microbatches: int = 1
    activation_gb: float = 0.0
    exchanged_gb: float = 0.0

    def ring_size(self, gpus: int) -> int:
        """Members of each ring."""
        return gpus // self.stages // self.rings

    def computing_ms(self, gpus: int) -> float:
        """From the begin of an iteration to its all-reduce.

        Activations and exchanges are in it, at full rate: they are at most 0.4 % of an iteration, and no link is
        short of bandwidth for them. So are the pipeline's bubbles: ``stages - 1`` microbatches.
        """
        steps = self.stages + self.microbatches - 1
        compute = self.compute_ms * steps / self.microbatches
        return compute + _sending_ms(2 * (steps - 1) * self.activation_gb + self.exchanged_gb / gpus)

    def sending_ms(self, gpus: int) -> float:
        """What the all-reduce takes when no link is shared: each member sends the gradients nearly twice."""
        members = self.ring_size(gpus)
        return _sending_ms(2 * (members - 1) / members * self.gradients_gb)

    def iteration_ms(self, gpus: int) -> float:
        """Of an iteration alone."""
        return self.computing_ms(gpus) + self.sending_ms(gpus)

    def duty(self, gpus: int) -> float:
        """Part of its time in which it sends when alone."""
        return self.sending_ms(gpus) / self.iteration_ms(gpus)

    def busy_ms(self, gpus: int) -> float:
        """Of an iteration alone as the published traces reckon it for their load: without bubbles."""
        sent = 2 * self.microbatches * self.activation_gb * (self.stages > 1) + self.exchanged_gb / gpus
        return self.compute_ms + _sending_ms(sent) + self.sending_ms(gpus)

    def flows(self, racks: Sequence[int]) -> list[tuple[int, int]]:
        """Flows of the rings from rack to rack; those within a rack take no link that is shared.

        Parameters
        ----------
        racks : sequence of int
            Of each server, in the order in which they were given; a stage takes the next ones, and its rings go
            through its racks in their order.
        """
        size = len(racks) // self.stages
        found = []
        for stage in range(self.stages):
            ring = sorted(racks[stage * size : (stage + 1) * size])
            for here, there in zip(ring, ring[1:] + ring[:1], strict=True):
                if here != there:
                    found += [(here, there)] * self.rings
        return found


def _sending_ms(gb: float) -> float:
    return gb * 8e3 / NIC_GBPS


_ANY = (16, 24, 32)
_MIX: Mapping[str, tuple[float, tuple[int, ...]]] = {
    "llama2_70b_fsdp": (25, _ANY),
    "gpt_oss_20b_dp_moe": (1, (16,)),
    "llama2_70b_tp_dp": (100, (16, 32)),
    "llama2_70b_tp_dp_pp_2": (25, (32, 48, 64)),
    "llama2_70b_tp_dp_pp_4": (25, (64,)),
    "llama3_70b_fsdp": (25, _ANY),
    "llama3_70b_tp_dp": (100, (16, 32)),
    "gpt_oss_120b_dp_moe": (1, (16,)),
    "gpt_7b_dp": (25, _ANY),
    "gpt_13b_dp": (25, _ANY),
}
"""Weights and sizes: ``scripts/experiments/run_load_vs_slowdown.py`` of the artifact."""


def _kind(name: str, compute_ms: float, gradients_gb: float, rings: int = 1, **more: Any) -> Kind:
    weight, gpus = _MIX[name]
    return Kind(name, compute_ms, gradients_gb, rings, gpus, weight, **more)


KINDS: tuple[Kind, ...] = (
    _kind("llama2_70b_fsdp", 2378, 137.43),
    _kind("gpt_oss_20b_dp_moe", 24 * 133, 8.8, exchanged_gb=23 * 0.376 + 0.188),
    _kind("llama2_70b_tp_dp", 341, 17.18, 8),
    _kind("llama2_70b_tp_dp_pp_2", 8 * 171, 8.59, 8, stages=2, microbatches=8, activation_gb=0.00839),
    _kind("llama2_70b_tp_dp_pp_4", 8 * 86, 4.295, 8, stages=4, microbatches=8, activation_gb=0.00839),
    _kind("llama3_70b_fsdp", 5258, 137.43),
    _kind("llama3_70b_tp_dp", 743, 17.18, 8),
    _kind("gpt_oss_120b_dp_moe", 24 * 106, 11.42, exchanged_gb=23 * 0.376 + 0.188),
    _kind("gpt_7b_dp", 113, 13.0),
    _kind("gpt_13b_dp", 215, 26.0),
)
"""What the job files say, of the ten kinds of Figure 6."""


def of_one_period(kinds: Sequence[Kind], iteration_ms: float) -> list[Kind]:
    """The same kinds, one for each of their sizes, when all iterations take equally long; each keeps its duty."""
    found = []
    for kind in kinds:
        for gpus in kind.gpus:
            duty = kind.duty(gpus)
            one = replace(kind, gpus=(gpus,), weight=kind.weight / len(kind.gpus), activation_gb=0.0, exchanged_gb=0.0)
            computing, sending = (1.0 - duty) * iteration_ms, duty * iteration_ms
            found.append(
                replace(
                    one,
                    compute_ms=one.compute_ms * computing / one.computing_ms(gpus),
                    gradients_gb=one.gradients_gb * sending / one.sending_ms(gpus),
                )
            )
    return found


def read_kinds(folder: Path) -> tuple[Kind, ...]:
    """The ten kinds from the artifact's folder ``jobs``.

    Raises
    ------
    OSError
        A file is not there.
    ValueError
        A file has a step of which nothing is known here.
    """
    return tuple(_read(folder / f"{name}.yaml") for name in _MIX)


def _read(path: Path) -> Kind:
    import yaml  # type: ignore[import-untyped]  # only who has the files needs it

    class Steps(yaml.SafeLoader):  # type: ignore[misc]
        """A step is a tag with its values, or with its values beside it."""

    Steps.add_multi_constructor("!", lambda loader, tag, node: {"step": tag, **_values(loader, node)})
    told = yaml.load(path.read_text(encoding="utf-8"), Loader=Steps)
    compute_us, rings, exchanged, more = 0.0, 1, 0.0, {}
    gradients = told["model_size_bytes"]
    for one in told["steps"]:
        match one:
            case {"step": "compute", "duration_us": us}:
                compute_us += us
            case {"step": "all_reduce"}:
                pass
            case {"step": "strided_ring", "stride": rings, "model_size_bytes": gradients}:
                pass
            case {"step": "all_to_all_ring", "total_size_bytes": size}:
                exchanged += size
            case {"step": "pipeline", "num_stages": stages, "tp_size": rings, "microbatches": count}:
                compute_us += count * (one["forward_us"] + one["backward_us"])
                gradients = one["model_shard_bytes"]
                more = {"stages": stages, "microbatches": count, "activation_gb": one["activation_size_bytes"] / 1e9}
            case _:
                raise ValueError(f"{path}: {one}")
    return _kind(path.stem, compute_us / 1e3, gradients / 1e9, rings, exchanged_gb=exchanged / 1e9, **more)


def _values(loader: Any, node: Any) -> dict[str, Any]:
    return dict(loader.construct_mapping(node)) if node.id == "mapping" else {}
