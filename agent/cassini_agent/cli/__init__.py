"""The command line: ``cassini-agent serve``, ``status``, ``interleave`` and what else ``--help`` lists.

Exit status: 0 done; 2 the input or the configuration is wrong, one line on stderr says what; 130 interrupted; 1
anything else, one line too. ``CASSINI_DEBUG=1`` adds the traceback.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from ..daemon.access import ConfigError
from ..schedule import ScheduleError
from .errors import PROGRAM, AnswerError, UsageError, what_is_missing

__all__ = ["PROGRAM", "entry_point", "main"]

LONGEST_MESSAGE = 2000


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
    try:
        _run(sys.argv[1:] if argv is None else list(argv))
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
    except (UsageError, ConfigError, ScheduleError) as error:
        return _fail(2, str(error))
    except ModuleNotFoundError as error:
        return _fail(2, what_is_missing(error))
    except AnswerError as error:
        return _fail(error.status, str(error))
    except OSError as error:
        return _fail(1, f"{error.filename}: {error.strerror}" if error.filename is not None else str(error))
    except Exception as error:
        return _fail(1, f"internal error: {type(error).__name__}: {error}")


def _run(arguments: list[str]) -> None:
    from cyclopts import CycloptsError  # a job's environment has no library for command lines

    from .application import application

    try:
        application()(arguments)
    except CycloptsError as error:
        error.verbose = False
        raise UsageError(f"{str(error).rstrip('.')}. See {PROGRAM} --help") from None


def entry_point() -> NoReturn:
    """The console script: :func:`main` and its exit status."""
    sys.exit(main())


def _fail(status: int, message: str) -> int:
    """Say what went wrong in one line on stderr, and give back the exit status."""
    if os.environ.get("CASSINI_DEBUG") and status != 130:
        traceback.print_exc()
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in message)
    line = line.encode("ascii", "backslashreplace").decode("ascii")
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
