"""The command line: ``cassini-core rank``, ``link``, ``report``, ``plot``, ``profile``, ``topology``, ``place`` and
``simulate``.

Exit status: 0 answered; 2 the input is wrong, one line on stderr says which file, which place, what was
expected and what came; 130 interrupted; 1 anything else, one line too. ``CASSINI_DEBUG=1`` adds the traceback.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from cyclopts import App, CoercionError, CycloptsError, UnusedCliTokensError

from ..errors import CassiniError, InputError, shown
from . import link, place, plot, profile, rank, report, simulate, topology
from .console import PROGRAM, one_line, package_version, prepare_streams
from .inputs import STREAM

__all__ = ["entry_point", "main"]

LONGEST_MESSAGE = 2000
"""Characters of an error line; wrong input can be of any size, what is said of it not."""

HELP = """Rank placements of machine-learning training jobs by how well their network traffic interleaves.

Training jobs use the network in bursts, once per iteration. Jobs that share a link run at full speed if one
job's bursts fall into another's pauses. Given candidate placements, cassini-core finds the time-shift of each
job that makes them interleave best, scores the placements, and proves how good the answer is.

Start with `cassini-core rank PROBLEM.json`; `cassini-core rank --help` explains its options.

`python -m cassini_core` with `--library`, `--include-dir`, `--cmake-dir` or `--pkg-config-dir` says where the C
library lies.

Exit status: 0 answered, 2 the input is wrong, 130 interrupted, 1 anything else.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; default ``sys.argv[1:]``.

    Returns
    -------
    int
        The exit status. Nothing is raised and the process is not ended.
    """
    arguments = sys.argv[1:] if argv is None else list(argv)
    prepare_streams()
    try:
        _application()([STREAM if argument == "-" else argument for argument in arguments])
        if sys.stdout is not None:
            sys.stdout.flush()
        return 0
    except BrokenPipeError:
        _forget_stdout()
        return 1
    except KeyboardInterrupt:
        return _fail(130, "interrupted")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except CycloptsError as error:
        return _fail(2, _option_message(error))
    except InputError as error:
        return _fail(2, str(error))
    except Exception as error:
        return _fail(1, _failure_message(error))


def entry_point() -> NoReturn:
    """The console script: :func:`main` and its exit status."""
    sys.exit(main())


def _application() -> App:
    application = App(
        name=PROGRAM,
        help=HELP,
        help_format="markdown",
        version=lambda: f"{PROGRAM} {package_version()}",
        result_action="return_value",
        exit_on_error=False,
        print_error=False,
        suppress_keyboard_interrupt=False,
    )
    # The main job first, not the alphabet.
    application.command(rank.rank, sort_key=1)
    application.command(link.link, sort_key=2)
    application.command(report.report, sort_key=3)
    application.command(profile.profile)
    application.command(topology.topology, sort_key=4)
    application.command(place.place, sort_key=5)
    application.command(simulate.simulate, sort_key=6)
    application.command(plot.plot)
    return application


def _option_message(error: CycloptsError) -> str:
    """What is wrong with the options: the option, what was expected, what came."""
    token = getattr(error, "token", None)
    if isinstance(error, CoercionError) and token is not None and token.keyword and error.msg is not None:
        return f"{token.keyword}: {error.msg}"
    error.verbose = False
    text = str(error).rstrip(".")
    if isinstance(error, UnusedCliTokensError):
        text = f"expected no more arguments, got {', '.join(map(shown, error.unused_tokens or ()))}"
    stop = "" if text.endswith("?") else "."
    return f"{text}{stop} See {' '.join((PROGRAM, *(error.command_chain or ())))} --help"


def _failure_message(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "out of memory"
    if isinstance(error, CassiniError):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename is not None else str(error)
    hint = "" if os.environ.get("CASSINI_DEBUG") else " (CASSINI_DEBUG=1 shows where)"
    return f"internal error: {type(error).__name__}: {error}{hint}"


def _fail(status: int, message: str) -> int:
    """Say what went wrong in one line on stderr, whatever the message holds, and give back the exit status."""
    if os.environ.get("CASSINI_DEBUG") and status != 130:
        traceback.print_exc()
    line = one_line(message.replace(repr(STREAM), "'-'").replace(STREAM, "-"))
    if len(line) > LONGEST_MESSAGE:
        line = f"{line[: LONGEST_MESSAGE // 2]} ... {line[-LONGEST_MESSAGE // 2 :]}"
    with suppress(OSError, ValueError):  # if nobody listens on stderr, the exit status still tells
        print(f"{PROGRAM}: {line}", file=sys.stderr, flush=True)
    return status


def _forget_stdout() -> None:
    """The reader has gone: let the interpreter's last flush go nowhere instead of failing aloud."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
