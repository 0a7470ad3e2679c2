"""The daemon's own service, with limits or a wall clock that the test chooses.

First argument: JSON with ``limits`` (of ``cassini_agent.daemon.limits``), ``clock_offset_file``: nanoseconds by
which the wall clock is wrong, read each time, and ``silent_ns``: after which a job is silent. The others are those of
``cassini-agent serve``.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

from cyclopts import App

from cassini_agent.daemon import status
from cassini_agent.daemon.clocks import Reading, SystemClocks
from cassini_agent.daemon.config import Config
from cassini_agent.daemon.limits import Limits
from cassini_agent.daemon.service import run


class SteppedClocks(SystemClocks):
    def __init__(self, offset_file: Path) -> None:
        self._offset_file = offset_file

    def read(self) -> Reading:
        reading = super().read()
        return dataclasses.replace(reading, unix_ns=reading.unix_ns + int(self._offset_file.read_text()))


def main(arguments: Sequence[str]) -> None:
    wanted = json.loads(arguments[0])
    status.SILENT_NS = wanted.get("silent_ns", status.SILENT_NS)
    application = App()
    default = Config()

    @application.default
    def start(*, options: Config = default) -> None:
        offset_file = wanted.get("clock_offset_file")
        run(options, SteppedClocks(Path(offset_file)) if offset_file else None, Limits(**wanted.get("limits", {})))

    application(arguments[1:])
