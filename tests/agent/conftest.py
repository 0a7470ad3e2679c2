"""Daemons for the tests, and the tables of faults and of refusals that they fill: ``build/agent-faults.md``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from daemon_process import DaemonProcess

TABLES = {"fault": ("Faults", "fault", "what happens"), "security": ("Refusals", "attempt", "what happens")}
_rows: dict[tuple[str, str], tuple[str, str]] = {}

Row = Callable[[str, str, str], None]
Start = Callable[..., DaemonProcess]


@pytest.fixture
def row(request: pytest.FixtureRequest) -> Row:
    """``row(table, what, happens)``: a line of a table, written if the test passes."""

    def add(table: str, what: str, happens: str) -> None:
        assert table in TABLES
        request.node.user_properties.append(("row", (table, what, happens)))

    return add


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """One for all tests of a module that leave it as it was."""
    one = DaemonProcess(tmp_path_factory.mktemp("daemon"), forked=True).start()
    one.folder.chmod(0o755)
    one.folder.parent.chmod(0o755)
    yield one
    assert one.stop() == 0


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts daemons that end with the test."""
    running: list[DaemonProcess] = []

    def begin(*options: str, **how: Any) -> DaemonProcess:
        one = DaemonProcess(tmp_path, *options, **{"forked": True, **how}).start()
        running.append(one)
        return one

    yield begin
    for one in running:
        if one.process is not None and one.process.poll() is None:
            one.stop()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" and report.passed:
        for name, value in report.user_properties:
            if name == "row":
                table, what, happens = value  # type: ignore[misc]
                _rows[table, what] = (happens, report.nodeid.partition("::")[2].partition("[")[0])


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not _rows or hasattr(session.config, "workerinput"):
        return
    lines = []
    for table, (title, first, second) in TABLES.items():
        lines += [f"## {title}", "", f"| {first} | {second} | test |", "| --- | --- | --- |"]
        lines += [
            f"| {what} | {happens} | `{test}` |" for (kind, what), (happens, test) in _rows.items() if kind == table
        ]
        lines += [""]
    place = session.config.rootpath / "build" / "agent-faults.md"
    place.parent.mkdir(exist_ok=True)
    place.write_text("\n".join(lines), encoding="utf-8")
