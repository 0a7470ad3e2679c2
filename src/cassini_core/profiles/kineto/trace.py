"""Reading PyTorch profiler (Kineto, Chrome format) traces: only what a communication profile needs of them.

A kernel is communication if NCCL's or RCCL's name says so, if it carries a collective's name and sizes, or if the
caller's pattern names it.

A trace of a gigabyte holds millions of events of which some hundreds matter. The file is split into events
without decoding them, then each is decoded alone with only the fields named here, so that memory stays near
the size of the file.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from ...errors import InputError, worded
from .records import Args, Communication, communication_of, configured_groups, number_of, whole_number_of

__all__ = ["MAX_TRACE_BYTES", "Kernel", "RankTrace", "Step", "read_trace"]

MAX_TRACE_BYTES = 2**31
"""Traces beyond 2 GiB, unpacked, are refused: a small gzip file can hold a thousand times its size."""

_CHUNK_BYTES = 2**22

_STEP = re.compile(r"ProfilerStep#([0-9]{1,18})")
_WORD = re.compile(r"\w+")
_STEP_CATEGORIES = ("user_annotation", "cpu_op", "operator", "gpu_user_annotation")


@dataclass(frozen=True, slots=True)
class Step:
    """One annotated profiler step; ms since the first event kept of the trace. Numbers can be wrong, or repeat."""

    number: int
    start_ms: float
    duration_ms: float


@dataclass(frozen=True, slots=True)
class Kernel:
    """One communication kernel; ms since the first event kept.

    ``launch_ms`` is when the CPU launched it, where that is known; ``stream`` is the device and the stream it ran on.
    """

    name: str
    start_ms: float
    duration_ms: float
    launch_ms: float | None
    communication: Communication | None
    stream: tuple[str, str] = ("", "")

    @property
    def end_ms(self) -> float:
        """When it ended, ms."""
        return self.start_ms + self.duration_ms


@dataclass(frozen=True, slots=True)
class RankTrace:
    """What one rank's trace says.

    Attributes
    ----------
    path : str
    steps : tuple of Step
        By start; there may be none.
    kernels : tuple of Kernel
        Communication kernels by start.
    rank, world_size : int or None
        Where the trace says so.
    unreadable : int
        Events left out because they, or the time of a step or communication kernel, could not be read.
    """

    path: str
    steps: tuple[Step, ...]
    kernels: tuple[Kernel, ...]
    rank: int | None
    world_size: int | None
    unreadable: int


class _Event(msgspec.Struct, gc=False):
    # Any: a field of the wrong type must not hide the event, it is judged where it is used.
    name: Any = None
    cat: Any = None
    ts: Any = None
    dur: Any = None
    pid: Any = None
    tid: Any = None


class _EventWithArgs(msgspec.Struct, gc=False):
    args: Args = msgspec.field(default_factory=Args)


class _Trace(msgspec.Struct):
    traceEvents: list[msgspec.Raw] | msgspec.UnsetType = msgspec.UNSET
    distributedInfo: Any = None


def read_trace(path: str | Path, kernels: re.Pattern[str] | None = None) -> RankTrace:
    """Steps and communication kernels of one trace file (``.json`` or gzipped; Chrome's object or array form).

    ``kernels`` finds in its name a kernel of another library that is communication too. Cost: one pass over the file
    and one over its events; memory is the unpacked file plus about 100 bytes an event.

    Raises
    ------
    InputError
        The file cannot be read, is not a trace, is larger than :data:`MAX_TRACE_BYTES`, or has no communication
        kernel.
    """
    raws, info = _split(_read(Path(path)), str(path))
    return _Scan(str(path), kernels).run(raws, info)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            # By content, not by name: traces get renamed.
            packed = stream.peek(2)[:2] == b"\x1f\x8b"
            data = _unpacked(stream, path) if packed else _at_most(stream, path)
    except OSError as error:
        raise InputError(f"{path}: cannot read the file: {error.strerror or error}") from None
    if not packed and path.suffix == ".gz":
        raise InputError(f"{path}: expected gzip data because of the name, got something else")
    return data.removeprefix(b"\xef\xbb\xbf")


def _unpacked(stream: BinaryIO, path: Path) -> bytes:
    try:
        with gzip.GzipFile(fileobj=stream) as unpacked:
            return _at_most(unpacked, path)
    except EOFError:
        raise InputError(f"{path}: the gzip file ends early; is it a complete copy?") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path}: not a valid gzip file: {error}") from None


def _at_most(stream: BinaryIO | gzip.GzipFile, path: Path) -> bytes:
    """All that is left, unless that is more than a trace may have."""
    chunks: list[bytes] = []
    left = MAX_TRACE_BYTES + 1
    while left > 0 and (chunk := stream.read(min(left, _CHUNK_BYTES))):
        chunks.append(chunk)
        left -= len(chunk)
    if left <= 0:
        raise InputError(f"{path}: expected a trace of at most {MAX_TRACE_BYTES} bytes, unpacked, got more")
    return b"".join(chunks)


def _split(data: bytes, path: str) -> tuple[list[msgspec.Raw], Any]:
    """The undecoded events and the trace's ``distributedInfo``."""
    first = data[:4096].lstrip()[:1]
    if first not in (b"{", b"["):
        shown = "an empty file" if not data.strip() else f"{data[:20]!r}"
        raise InputError(f"{path}: expected a JSON trace (an object with traceEvents, or a list), got {shown}")
    try:
        if first == b"[":
            return msgspec.json.decode(data, type=list[msgspec.Raw]), None
        trace = msgspec.json.decode(data, type=_Trace)
    except msgspec.ValidationError as error:
        raise InputError(f"{path}: traceEvents: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid JSON: {error}") from None
    except RecursionError:
        raise InputError(f"{path}: not a trace: nested too deeply") from None
    if isinstance(trace.traceEvents, msgspec.UnsetType):
        raise InputError(f"{path}: expected a list under 'traceEvents', got an object without it")
    return trace.traceEvents, trace.distributedInfo


class _Scan:
    """One pass over the events of one trace; collects what is needed to link kernels, launches and records."""

    def __init__(self, path: str, pattern: re.Pattern[str] | None) -> None:
        self.path = path
        self.pattern = pattern
        self.categories: Counter[str] = Counter()
        self.steps: dict[str, list[tuple[int, float, float]]] = {}
        self.kernels: list[tuple[str, float, float, Args, tuple[str, str]]] = []
        self.records: dict[int, tuple[float, float, Args]] = {}
        self.launches: dict[int, tuple[float, int | None]] = {}
        self.unreadable = 0
        self.groups: dict[str, tuple[int, ...]] = {}

    def run(self, raws: list[msgspec.Raw], info: Any) -> RankTrace:
        decoder = msgspec.json.Decoder(_Event)
        with_args = msgspec.json.Decoder(_EventWithArgs)
        for index, raw in enumerate(raws):
            try:
                event = decoder.decode(raw)
            except (ValueError, RecursionError):
                # One broken event (bad UTF-8 in an operator's name, say) says nothing about the others.
                if bytes(raw).lstrip()[:1] != b"{":
                    raise InputError(f"{self.path}: traceEvents[{index}]: expected an object") from None
                self.unreadable += 1
                continue
            self._take(event, raw, with_args)
        return self._result(info)

    def _take(self, event: _Event, raw: msgspec.Raw, with_args: msgspec.json.Decoder[_EventWithArgs]) -> None:
        if not isinstance(event.name, str):
            return
        category = event.cat.lower() if isinstance(event.cat, str) else ""
        self.categories[category or "no category"] += 1
        match category:
            case "kernel" if self._communicates(event.name, raw):
                kind = "kernel"
            case "cuda_runtime" | "cuda_driver" | "runtime" if "launch" in event.name.lower():
                kind = "launch"
            case _ if event.name == "record_param_comms":
                kind = "record"
            case _ if _STEP.fullmatch(event.name):
                kind = "step"
            case _:
                return
        start, duration = number_of(event.ts), number_of(event.dur)
        if start is None or duration is None or duration < 0:
            self.unreadable += kind in ("kernel", "step")
            return
        args = _args(raw, with_args)
        external = whole_number_of(args.external if args.external is not None else args.external_old)
        if kind == "kernel":
            device = event.pid if args.device is None else args.device
            stream = _short(device), _short(event.tid if args.stream is None else args.stream)
            self.kernels.append((event.name, start, duration, args, stream))
        elif kind == "step":
            number = int(event.name.partition("#")[2])
            self.steps.setdefault(category, []).append((number, start, duration))
        elif kind == "record" and external is not None:
            self.records[external] = (start, duration, args)
        elif kind == "launch" and (correlation := whole_number_of(args.correlation)) is not None:
            self.launches[correlation] = (start, external)

    def _communicates(self, name: str, raw: msgspec.Raw) -> bool:
        # Most kernels compute: of those only the bytes are looked at.
        return _is_nccl(name) or b'"Collective name"' in bytes(raw) or self._is_named(name)

    def _is_named(self, name: str) -> bool:
        return self.pattern is not None and self.pattern.search(name) is not None

    def _result(self, info: Any) -> RankTrace:
        steps = self._steps()
        info = info if isinstance(info, dict) else {}
        self.groups = configured_groups(info)
        origin = min([*(kernel[1] for kernel in self.kernels), *(step[1] for step in steps)], default=0.0)
        found = (self._kernel(*kernel, origin=origin) for kernel in self.kernels)
        kernels = sorted(
            (k for k in found if k.communication is not None or _is_nccl(k.name) or self._is_named(k.name)),
            key=lambda k: (k.start_ms, k.name),
        )
        if not kernels:
            raise InputError(
                f"{self.path}: no communication kernels found (looked for events of category 'kernel' named "
                "ncclKernel_* or ncclDevKernel_*, or with a collective's name and sizes; other names can be given "
                f"with --kernels); {self._found()}"
            )
        return RankTrace(
            path=self.path,
            steps=tuple(Step(number, (start - origin) / 1e3, length / 1e3) for number, start, length in steps),
            kernels=tuple(kernels),
            rank=whole_number_of(info.get("rank")),
            world_size=whole_number_of(info.get("world_size")),
            unreadable=self.unreadable,
        )

    def _steps(self) -> list[tuple[int, float, float]]:
        """Steps of the best category, by start. The CPU's come first: launches are compared with them."""
        for category in (*_STEP_CATEGORIES, *sorted(self.steps)):
            if category in self.steps:
                by_start: dict[float, tuple[int, float, float]] = {}
                for step in sorted(self.steps[category], key=lambda s: (s[1], -s[2])):
                    by_start.setdefault(step[1], step)
                return list(by_start.values())
        return []

    def _found(self) -> str:
        if not self.categories:
            return "the trace has no named events"
        most = ", ".join(f"{count} {worded(category)}" for category, count in self.categories.most_common(6))
        return f"found {most}"

    def _kernel(
        self, name: str, start: float, duration: float, args: Args, stream: tuple[str, str], *, origin: float
    ) -> Kernel:
        correlation = whole_number_of(args.correlation)
        launch, linked = (None, None) if correlation is None else self.launches.get(correlation, (None, None))
        external = whole_number_of(args.external if args.external is not None else args.external_old)
        external = linked if external is None else external
        record = None if external is None else self.records.get(external)
        # Old traces repeat the correlation as the external id, which may then hit a stranger: the launch decides.
        if record is not None and (
            external == correlation if launch is None else not record[0] <= launch <= record[0] + record[1]
        ):
            record = None
        if launch is None and record is not None:
            launch = record[0]
        communication = communication_of(args, self.groups)
        if communication is None and record is not None:
            communication = communication_of(record[2], self.groups)
        return Kernel(
            name=name,
            start_ms=(start - origin) / 1e3,
            duration_ms=duration / 1e3,
            launch_ms=None if launch is None else (launch - origin) / 1e3,
            communication=communication,
            stream=stream,
        )


def _args(raw: msgspec.Raw, decoder: msgspec.json.Decoder[_EventWithArgs]) -> Args:
    try:
        return decoder.decode(raw).args
    except (ValueError, RecursionError):
        return Args()


def _is_nccl(name: str) -> bool:
    """Whether ``nccl`` and later ``kernel`` stand in one word of a kernel's name.

    So do ``ncclKernel_``, ``ncclDevKernel_`` and the symmetric-memory kernels of newer releases; RCCL uses the same
    names. Without backtracking: a name may be megabytes long.
    """
    for word in _WORD.findall(name.lower()):
        _, nccl, after = word.partition("nccl")
        if nccl and "kernel" in after:
            return True
    return False


def _short(value: Any) -> str:
    return str(value)[:40] if isinstance(value, (int, str)) else ""
