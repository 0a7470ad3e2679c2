"""How text and files leave the program: safely, whatever the terminal, the locale or the reader is."""

from __future__ import annotations

import os
import re
import stat
import sys
import threading
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from ..errors import InputError
from ..formats import printable
from .inputs import STREAM

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress, TaskID

__all__ = [
    "PROGRAM",
    "Waiting",
    "check_output_path",
    "emit_bytes",
    "emit_notes",
    "emit_renderables",
    "one_line",
    "package_version",
    "prepare_streams",
    "write_file",
]

PROGRAM = "cassini-core"
"""Name of the program and of the distribution."""

PIPED_WIDTH = 10_000
"""Columns where stdout is no terminal: wide enough that nothing is folded or cut for the next program."""

PROGRESS_DELAY_S = 0.5
"""Work shorter than this shows no progress: a flicker helps nobody."""


def one_line(text: str) -> str:
    r"""``text`` on one line: what does not print, or what the locale cannot say, as an escape (``\n``, ``\u202e``)."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return printable(text).encode(encoding, "backslashreplace").decode(encoding)


def package_version() -> str:
    """Version of the installed distribution."""
    from importlib.metadata import version

    return version(PROGRAM)


def prepare_streams() -> None:
    """Let what the locale cannot encode come out as an escape instead of failing half-way."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def emit_bytes(data: bytes) -> None:
    """Write ``data`` and a line end to stdout as they are; JSON is UTF-8 in every locale."""
    if sys.stdout is None:
        raise OSError("standard output is closed")
    line = data if data.endswith(b"\n") else data + b"\n"
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:  # a stream of text only, such as io.StringIO
        sys.stdout.write(line.decode("utf-8"))
    else:
        sys.stdout.flush()
        buffer.write(line)
    sys.stdout.flush()


def emit_renderables(*renderables: RenderableType) -> None:
    """Print tables and texts to stdout, colours and width as the terminal has them."""
    if sys.stdout is None:
        raise OSError("standard output is closed")
    _emit(sys.stdout, renderables)


def emit_notes(*renderables: RenderableType) -> None:
    """As :func:`emit_renderables`, to stderr: for what is said beside output for a program. Nobody need listen."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            _emit(sys.stderr, renderables)


def _emit(stream: TextIO, renderables: tuple[RenderableType, ...]) -> None:
    is_terminal = stream.isatty()
    console = _console(stream, is_terminal)
    # Rendered first and written in one go: rich would end the process by itself on a closed pipe.
    with console.capture() as capture:
        for renderable in renderables:
            console.print(renderable)
    text = capture.get()
    # A terminal does not show the spaces that fill up a table's last column, a file would keep them.
    stream.write(text if is_terminal else re.sub(r"[ ]+$", "", text, flags=re.MULTILINE))
    stream.flush()


def _console(stream: TextIO, is_terminal: bool) -> Console:
    from rich.console import Console

    return Console(file=stream, width=None if is_terminal else PIPED_WIDTH, markup=False, emoji=False, highlight=False)


class Waiting:
    """A progress bar on stderr while a ``with`` block works: for a terminal only, and only if it takes long.

    Parameters
    ----------
    what : str
        What is being done, for example "ranking candidates".
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._state: tuple[int, int | None] = (0, None)

    def __enter__(self) -> Waiting:
        terminal = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        if terminal:
            self._timer = threading.Timer(PROGRESS_DELAY_S, self._start)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            timer, self._timer = self._timer, None
            if timer is not None:
                timer.cancel()
            if self._progress is not None:
                self._progress.stop()

    def update(self, done: int, total: int) -> None:
        """Say how far the work is; cheap, may be called often."""
        with self._lock:
            self._state = (done, total)
            if self._progress is not None and self._task is not None:
                self._progress.update(self._task, completed=done, total=total, description=self._description())

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        with self._lock:
            if self._timer is None:  # the work ended while this thread was being woken
                return
            done, total = self._state
            self._progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TimeElapsedColumn(),
                console=Console(file=sys.stderr, highlight=False),
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._task = self._progress.add_task(self._description(), completed=done, total=total)
            self._progress.start()

    def _description(self) -> str:
        done, total = self._state
        return self._what if total is None else f"{self._what} {done}/{total}"


def check_output_path(path: str, inputs: tuple[str, ...] = (), option: str = "--output") -> None:
    """Refuse an output path that cannot work, before any time is spent.

    Raises
    ------
    InputError
        The folder does not exist, the path is a folder, or it is one of the inputs.
    """
    if path == STREAM:
        raise InputError(f"{option}: expected a file name, got '-'")
    folder = os.path.dirname(os.path.realpath(path))
    if not path or os.path.isdir(path):
        raise InputError(f"{option}: expected a file name, got {path!r}")
    if not os.path.isdir(folder):
        raise InputError(f"{option}: expected a file in a folder that exists, got {path!r}")
    for one in inputs:
        if os.path.exists(one) and os.path.exists(path) and os.path.samefile(one, path):
            raise InputError(f"{option}: expected another file than the input, got {path!r}")


def write_file(path: str, data: bytes) -> None:
    """Write ``data`` to ``path`` so that a reader sees the old content or the new one, never a part.

    A new file beside the target is written and renamed over it. Permissions of an existing file are kept,
    a symbolic link is followed, and what is no ordinary file (a pipe, ``/dev/stdout``) is written to directly.

    Raises
    ------
    OSError
        The file cannot be written; the old content is then untouched.
    """
    target = os.path.realpath(path)
    mode: int | None = None
    with suppress(FileNotFoundError):
        status = os.stat(target)
        if not stat.S_ISREG(status.st_mode):
            with open(target, "wb") as stream:
                stream.write(data)
            return
        mode = stat.S_IMODE(status.st_mode)
    beside = os.path.join(os.path.dirname(target), f".cassini-{os.getpid()}.part")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            if mode is not None:
                os.fchmod(stream.fileno(), mode)
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(beside, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise
