"""What jobs send alone (sections 2.1 and 3): what all other experiments rest on, beside what is printed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib import pyplot

from bench.measuring.plots import SERIES, saved
from cassini_core import Job

from ..experiment import Row, Settings
from ..models import CAPACITY_GBPS, MODELS, profile_of
from ..snapshots import SNAPSHOTS, Member

TITLE = "What the jobs send when they are alone"

SHOWN = (
    ("GPT-1", 4, "data parallel"),
    ("GPT-2", 2, "pipeline"),
    ("GPT-3", 2, "tensor parallel"),
    ("GPT-3", 8, "hybrid"),
    ("VGG16", 4, "data parallel"),
    ("DLRM", 4, "embeddings spread"),
)
"""The paper's figure 1, (a) to (d), and two others: model, workers, and how it is spread."""

_ITERATIONS = 3


def run(settings: Settings) -> dict[str, Any]:
    """The profiles; nothing is simulated."""
    return {
        "shown": [{"workers": workers, "how": how, **_said(profile_of(name, workers))} for name, workers, how in SHOWN],
        "vgg16": {str(workers): _said(profile_of("VGG16", workers)) for workers in (2, 3, 4)},
        "snapshots": [
            {"printed_ms": member.cassini_ms, "batch": member.batch}
            | _said(profile_of(member.model, workers, member.batch))
            for workers, member in _alone()
        ],
        "models": {name: _said(profile_of(name, 4)) for name in MODELS},
    }


def _alone() -> list[tuple[int, Member]]:
    """Jobs of the snapshots that communicate as if alone, those of score 1.0, with their workers."""
    return [(one.workers, member) for one in SNAPSHOTS.values() if one.score == 1.0 for member in one.members]


def _said(job: Job) -> dict[str, Any]:
    return {
        "name": job.id,
        "iteration_ms": job.iteration_ms,
        "phases": [[one.start_ms, one.duration_ms, one.gbps] for one in job.phases],
        "up_ms": sum(one.duration_ms for one in job.phases),
        "mbit": sum(one.duration_ms * one.gbps for one in job.phases),
    }


def rows(data: dict[str, Any]) -> list[Row]:
    """What the paper prints of jobs alone; most of it is what the profiles were calibrated to."""
    gpt_2, tensor, hybrid = (data["shown"][at] for at in (1, 2, 3))
    vgg = data["vgg16"]
    found = [
        Row(
            "VGG16: Down phase, ms",
            "141",
            f"{vgg['4']['phases'][0][0]:.0f}",
            "calibrated; the batch at which it was measured is not printed, 1400 is assumed",
        ),
        Row(
            "VGG16: iteration, ms",
            "255",
            ", ".join(f"{one['iteration_ms']:.0f} on {workers}" for workers, one in vgg.items()) + " servers",
            "the servers are not printed; 114 ms of sending are what a ring of 2.4 would take",
        ),
        Row(
            "GPT-2, pipeline of two servers: peaks before the last one",
            "3",
            str(len(gpt_2["phases"]) - 1),
            f"then {gpt_2['phases'][-1][1]:.0f} ms for the embedding's gradients, peaks of "
            f"{gpt_2['phases'][0][1]:.0f} ms",
        ),
        Row(
            "GPT-3, tensor parallel on two servers: mean while it sends, Gbit/s",
            "roughly 25",
            f"{tensor['mbit'] / tensor['up_ms']:.1f}",
            "calibrated: the speed of GPT models' computation",
        ),
        Row(
            "GPT-3, hybrid on eight servers: Up phases",
            "6",
            str(len(hybrid["phases"])),
            "1F1B with three micro-batches; the paper does not print how many there are",
        ),
    ]
    for one in data["snapshots"]:
        what = f"{one['name']}, batch of {one['batch']}: communication alone, ms"
        note = "calibrated: the rate, for the model's bytes over a ring of four"
        found.append(Row(what, f"{one['printed_ms']:.0f}", f"{one['up_ms']:.0f}", note))
    models = data["models"].items()
    lengths = ", ".join(f"{name} {one['iteration_ms']:.0f}" for name, one in models)
    shares = ", ".join(f"{name} {100 * one['up_ms'] / one['iteration_ms']:.0f} %" for name, one in models)
    found.append(Row("all models on four servers at their usual batch: iteration, ms", "not printed", lengths))
    return [*found, Row("of which they send", "not printed", shares)]


def plot(data: dict[str, Any], path: Path) -> None:
    """Three iterations of each, like the paper's figure 1."""
    with saved(path, "computed by the product's model of a job; what is calibrated is in the table"):
        _, every = pyplot.subplots(2, 3, figsize=(12, 5))
        for axes, one in zip(every.ravel(), data["shown"], strict=True):
            at, gbps = [0.0], [0.0]
            for number in range(_ITERATIONS):
                for start, length, rate in one["phases"]:
                    begin = number * one["iteration_ms"] + start
                    at += [begin, begin, begin + length, begin + length]
                    gbps += [0.0, rate, rate, 0.0]
            at, gbps = [*at, _ITERATIONS * one["iteration_ms"]], [*gbps, 0.0]
            axes.fill_between(at, gbps, color=SERIES[0], alpha=0.35, linewidth=0)
            axes.plot(at, gbps, color=SERIES[0], linewidth=0.8)
            axes.set(xlim=(0, at[-1]), ylim=(0, CAPACITY_GBPS), xlabel="ms", ylabel="Gbit/s")
            axes.set_title(f"{one['name']}, {one['workers']} servers, {one['how']}", fontsize=9)
