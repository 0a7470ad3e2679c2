"""What is known of the paper's 13 models, and what is assumed: each number with where it comes from.

Nothing of the paper's profiles is public; of the figures that draw them only the text is used. What the paper prints
of a job that is *alone* sets the numbers here, and its communication times with Th+Cassini, which it takes to be nearly
those: so WideResNet101's gradients are those of snapshot 1. Scores, time-shifts and gains set none. They were known,
though, when what the paper leaves open was chosen (the batch of the 141 ms, the speed of BERT, what counts as a
parameter), so agreement with them is weaker evidence than it looks.
``python -m bench.testbed.model_table`` prints all numbers with their sources.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Literal

from bench.measuring.tables import table

__all__ = [
    "CAPACITY_GBPS",
    "LOADING_SHARE",
    "MIB",
    "MICROBATCHES",
    "MODELS",
    "MOST_WORKERS",
    "Figure",
    "Model",
    "Shape",
]

CAPACITY_GBPS = 50.0
"""Of a link of the testbed: the paper, section 5.1."""

MOST_WORKERS = 12
"""The paper, section 5.1: 1 to 12 workers are requested."""

MIB = 2.0**20
"""The paper's MB of VGG and ResNet50 are these: VGG16's 138.36 million parameters of 4 bytes are 528 of them."""

_BATCHES = "table of models (appendix B.2)"
_SNAPSHOTS = "snapshot table (section 5.5)"

Source = Literal["paper", "calibrated", "assumed"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A number and its source: printed in the paper, computed from what is printed there, or assumed."""

    value: float
    source: Source
    where: str


@dataclass(frozen=True, slots=True)
class Shape:
    """A transformer that is spread over servers: layers, width, tokens of a sample, words.

    ``tensor`` and ``pipeline`` are the sizes of the groups, where the number of workers is a multiple of their product.
    So many workers have one batch together: with others each keeps its part.
    """

    layers: int
    hidden: int
    sequence: int
    vocabulary: int
    tensor: int
    pipeline: int

    @property
    def parameters(self) -> float:
        """Of the layers and of the embedding, which the head shares."""
        return 12.0 * self.layers * self.hidden**2 + self.vocabulary * self.hidden

    @property
    def workers(self) -> int:
        """That have one batch together."""
        return self.tensor * self.pipeline


@dataclass(frozen=True, slots=True)
class Model:
    """What is known of a model, and what is assumed.

    Parameters
    ----------
    batch : tuple of two ints
        Least and most samples in an iteration of a worker, or of the workers that a model is spread over.
    usual_batch : Figure
    gradient_mib : Figure
        What is all-reduced when the model is replicated, MiB.
    gbps : Figure
        At which a worker sends when the job is alone.
    ms_per_sample : Figure
        Computing time, forward and backward, on one worker.
    shape : Shape, optional
        Of the models that are spread over servers.
    exchanged_mib : Figure, optional
        What a worker exchanges with all others per 1,000 samples in each pass (embeddings), MiB.
    """

    name: str
    batch: tuple[int, int]
    usual_batch: Figure
    gradient_mib: Figure
    gbps: Figure
    ms_per_sample: Figure
    shape: Shape | None = None
    exchanged_mib: Figure | None = None

    def figures(self) -> dict[str, Figure]:
        """All numbers by name."""
        found = {name: getattr(self, name) for name in ("usual_batch", "gradient_mib", "gbps", "ms_per_sample")}
        return found if self.exchanged_mib is None else {**found, "exchanged_mib": self.exchanged_mib}


_RATE = Figure(45.0, "calibrated", "VGG16's 528 MiB over a ring of four in 148 ms, snapshot 1; two jobs got 22 each")

VISION_MS = 141.0 / 1400 / 15.47
"""ms per sample and billion multiplications: VGG16's Down phase of 141 ms (section 3) at the batch of snapshot 1.

The paper does not say at which batch size it was measured. 15.47 is VGG16's count at 224 x 224 pixels, as torchvision
states it; that the others take as long for a multiplication is assumed.
"""

BERT_TFLOPS = 62.4
"""40 % of an A100's 156 in TF32, which PyTorch 1.8 uses; assumed."""

GPT_TFLOPS = 42.0
"""At which GPT-3 on two servers sends 25 Gbit/s on average, as the paper says of its figure 1(c)."""

_BERT_TOKENS = 512


def _printed(value: float, where: str = _SNAPSHOTS) -> Figure:
    return Figure(value, "paper", where)


def _middle(low: int, high: int) -> Figure:
    return Figure((low + high) // 2, "assumed", f"middle of {low} to {high}, {_BATCHES}")


def _vision(name: str, low: int, batch: Figure, high: int, mib: Figure, gmac: float, gbps: Figure = _RATE) -> Model:
    where = f"141 ms of VGG16 at a batch of 1400, by {gmac} billion multiplications against 15.47"
    if name == "VGG16":
        where = "Down phase of 141 ms, section 3; that its batch was 1400 is assumed"
    return Model(name, (low, high), batch, mib, gbps, Figure(VISION_MS * gmac, "calibrated", where))


def _bert(name: str, low: int, batch: Figure, mib: float, parameters: float) -> Model:
    ms = 6e3 * parameters * _BERT_TOKENS / (BERT_TFLOPS * 1e12)
    where = f"6 operations per parameter ({parameters / 1e6:.0f} million, base) and token (512), {BERT_TFLOPS} Tflop/s"
    return Model(name, (low, 32), batch, _printed(mib, _BATCHES), _RATE, Figure(ms, "assumed", where))


def _gpt(name: str, low: int, high: int, batch: Figure, shape: Shape) -> Model:
    ms = 6e3 * shape.parameters * shape.sequence / (GPT_TFLOPS * 1e12)
    return Model(
        name,
        (low, high),
        batch,
        Figure(2 * shape.parameters / MIB, "assumed", "half precision, as DeepSpeed trains; the width is assumed"),
        _RATE,
        Figure(ms, "calibrated", f"{GPT_TFLOPS} Tflop/s: 25 Gbit/s of GPT-3 on two servers, figure 1(c)"),
        shape,
    )


def _all() -> dict[str, Model]:
    mib = partial(_printed, where=_BATCHES)
    narrow = Figure(20.9, "calibrated", "98 MiB over a ring of four in 59 ms, snapshot 2")
    vgg19 = Figure(41.4, "calibrated", "549 MiB over a ring of four in 168 and 166 ms, snapshots 2 and 3")
    wide_mib = Figure(
        484.0,
        "assumed",
        "126.9 million parameters of 4 bytes; the paper's 243 MB would take 68 ms, and snapshot 1 has 138",
    )
    wide = Figure(44.1, "calibrated", "484 MiB over a ring of four in 138 ms, snapshot 1")
    guess = Figure(1400, "assumed", "as its siblings")
    # 256 tokens: with 512, what GPT-3 keeps for the backward pass (34 bytes per token, layer and unit of width without
    # recomputation) would not fit into four servers' 40 GB each, at the largest batch.
    models = [
        _vision("VGG11", 512, guess, 1800, mib(507), 7.61),
        _vision("VGG16", 512, _printed(1400), 1800, mib(528), 15.47),
        _vision("VGG19", 512, _printed(1400), 1800, mib(549), 19.63, vgg19),
        _vision("WideResNet101", 256, _printed(800), 1200, wide_mib, 22.75, wide),
        _vision("ResNet50", 256, _printed(1600), 1800, mib(98), 4.09, narrow),
        _bert("BERT", 8, _printed(8), 450, 110e6),
        _bert("RoBERTa", 8, _printed(12), 800, 125e6),
        _bert("CamemBERT", 8, _middle(8, 32), 266, 110e6),
        _bert("XLM", 4, _middle(4, 32), 1116, 278e6),
        _gpt("GPT-1", 32, 80, _middle(32, 80), Shape(12, 768, 256, 40478, 1, 1)),
        _gpt("GPT-2", 32, 80, _middle(32, 80), Shape(24, 1536, 256, 50257, 1, 2)),
        _gpt("GPT-3", 16, 48, _middle(16, 48), Shape(96, 1280, 256, 50257, 2, 2)),
        Model(
            "DLRM",
            (16, 1024),
            _middle(16, 1024),
            Figure(890, "assumed", f"the replicated part: the least that the {_BATCHES} has, 890 MB"),
            _RATE,
            Figure(0.25, "assumed", "nothing is printed"),
            exchanged_mib=Figure(64 * 128 * 4 * 1000 / MIB, "assumed", "64 tables of 128 numbers of 4 bytes"),
        ),
    ]
    return {model.name: model for model in models}


MODELS: Mapping[str, Model] = MappingProxyType(_all())
"""By name, in the order of the paper's table."""

LOADING_SHARE = 0.1
"""Of GPT-3's iteration that loads data: "a short period of near-zero network demand" (section 2.1). Assumed."""

MICROBATCHES = 3
"""Of a pipeline: the paper, section 2.1, figure 1(b)."""


def sources() -> str:
    """All numbers of all models with their sources, as a Markdown table."""
    rows = []
    for model in MODELS.values():
        low, high = model.batch
        rows.append([model.name, "batch", f"{low} to {high}", "paper", _BATCHES])
        rows += [
            [model.name, name, f"{figure.value:.4g}", figure.source, figure.where]
            for name, figure in model.figures().items()
        ]
        if model.shape is not None:
            one = model.shape
            size = f"{one.layers} layers, width {one.hidden}, {one.sequence} tokens"
            where = "layers: the paper, section 2.1; width, tokens: assumed"
            rows.append([model.name, "shape", f"{size}, {one.tensor} × {one.pipeline} workers", "assumed", where])
    return table(["model", "number", "value", "source", "where"], rows)


def main() -> int:
    """Print them."""
    print(sources())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
