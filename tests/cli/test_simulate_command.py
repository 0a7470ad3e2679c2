"""``cassini-core simulate``: what it prints, writes and refuses, as a new user meets it."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from cassini_core import InputError
from cassini_core.cli import main
from commands import Answer, Run
from pages import ROOT, blocks

pytest.importorskip("numba")

from cassini_core.cli.simulate import simulate as command
from cassini_core.schedulers.augmented import PAPERS_RULE
from cassini_core.schedulers.named import SchedulerName
from cassini_core.simulation import comparison
from cassini_core.simulation.cluster import ClusterOptions, Holding
from cassini_core.simulation.comparison import DEFAULT_OPTIONS, compare_schedulers
from cassini_core.simulation.estimate import Estimate, confidence_of
from cassini_core.simulation.jitter import KINDS
from cassini_core.simulation.marking import Marking

PROFILE = {"iteration_ms": 200, "phases": [{"start_ms": 100, "duration_ms": 100, "gbps": 45}]}
TASKS: list[dict[str, Any]] = [
    {"id": f"t{at}", "arrival_s": at, "iterations": 20, "workers": 8, "profile": PROFILE} for at in range(3)
]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def call(*arguments: str, stdin: bytes = b"") -> Answer:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(stdin)))
        return Answer(main(arguments), *capsys.readouterr())

    return call


@pytest.fixture
def tasks(tmp_path: Path) -> str:
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps({"format": "cassini-tasks/1", "tasks": TASKS}))
    return str(path)


def quick(tasks: str, *more: str, seeds: int = 2) -> tuple[str, ...]:
    return ("simulate", "testbed", "--tasks", tasks, "--seeds", str(seeds), "--processes", "1", *more)


def test_tables_say_what_the_json_says(run: Run, tasks: str) -> None:
    asked = quick(tasks, "--scheduler", "random", "--scheduler", "ideal", "--marks")
    answer = run(*asked)
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith("3 tasks on 24 hosts, 2 seeds: medians [least, most]\n")
    told = json.loads(run(*asked, "--json").out)
    assert told["format"] == "cassini-simulation/1"
    assert (told["tasks"], told["confidence"]) == (3, 0.5)
    rows = [line.split() for line in answer.out.splitlines()]
    for one in told["schedulers"]:
        name = [one["scheduler"], *["+", "Cassini"] * one["cassini"]]
        figures = {key: value and {**value} for key, value in one["figures"].items()}
        times = [row[len(name) :] for row in rows if row[: len(name)] == name and row[len(name) :][1:2] != ["+"]]
        mean, p99 = figures["mean_ms"], figures["p99_ms"]
        spread = f"{mean['median']:.1f} [{mean['low']:.1f}, {mean['high']:.1f}] {p99['median']:.1f} ["
        assert any(" ".join(row).startswith(spread) for row in times)
        assert any(row[:1] == ["3"] and row[-1] == f"{figures['marked']['median']:.1f}" for row in times)
    (gain,) = told["gains"]
    assert gain["scheduler"] == "random"
    ratio = f"random {gain['mean_ms']['median']:.3f} [{gain['mean_ms']['low']:.3f}, {gain['mean_ms']['high']:.3f}]"
    assert any(" ".join(row).startswith(ratio) for row in rows)


def test_by_default_packed_and_ideal_are_compared(run: Run, tasks: str) -> None:
    told = json.loads(run(*quick(tasks), "--json").out)
    assert [(one["scheduler"], one["cassini"]) for one in told["schedulers"]] == [
        ("packed", False),
        ("packed", True),
        ("ideal", False),
    ]
    assert all(one["figures"]["marked"] is None for one in told["schedulers"])


def test_a_row_fits_into_80_columns(run: Run, tasks: str) -> None:
    answer = run(*quick(tasks, "--scheduler", "packed"))
    assert max(len(line) for line in answer.out.splitlines() if line.startswith(" ")) <= 80


def test_options_are_those_of_the_call() -> None:
    mine, call = signature(command).parameters, signature(compare_schedulers).parameters
    for name in ("seeds", "candidates", "ecmp"):
        assert mine[name].default == call[name].default
    assert mine["scheduler"].default == call["schedulers"].default
    for name in ("holding", "margin", "jitter", "jitter_share", "restart_s"):
        assert mine[name].default == getattr(DEFAULT_OPTIONS, name)
    assert ClusterOptions(jitter_share=0.01) == DEFAULT_OPTIONS


def test_choices_are_those_there_are(run: Run) -> None:
    said = " ".join(run("simulate", "--help").out.replace("│", "").split())
    for words in (get_args(SchedulerName), get_args(Holding), KINDS):
        assert f"[choices: {', '.join(words)}]" in said


def test_options_reach_the_simulation(run: Run, tasks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    called: dict[str, Any] = {}

    def stop(_topology: object, _tasks: object, schedulers: object, **more: Any) -> None:
        called.update(more, schedulers=schedulers)
        raise InputError("stopped")

    monkeypatch.setattr(comparison, "compare_schedulers", stop)
    words = (
        "--scheduler themis --scheduler random --seeds 4 --out runs --candidates 3 --papers-rule --until-s 9 --gpus 2"
    )
    words += " --holding agent --margin 0.2 --jitter exponential --jitter-share 0.03 --restart-s 7 --ecmp hash --marks"
    answer = run("simulate", "testbed", "--tasks", tasks, *words.split(), "--processes", "3")
    assert (answer.status, answer.err) == (2, "cassini-core: stopped\n")
    del called["progress"]
    assert called == {
        "schedulers": ("themis", "random"),
        "seeds": 4,
        "candidates": 3,
        "rank_options": PAPERS_RULE,
        "options": ClusterOptions(7.0, "agent", 0.2, "exponential", 0.03, Marking(), until_s=9.0),
        "gpus_per_host": 2,
        "ecmp": "hash",
        "folder": Path("runs"),
        "processes": 3,
    }


def test_a_network_may_come_by_standard_input_and_needs_gpus(run: Run, tasks: str) -> None:
    network = run("topology", "leaf-spine", "--leaves", "3", "--spines", "2", "--hosts", "4", "-o", "-").out.encode()
    asked = ("simulate", "-", "--tasks", tasks, "--seeds", "1", "--processes", "1")
    answer = run(*asked, "--gpus", "2", stdin=network)
    assert answer.status == 0
    assert "Warning: Assumed capacities are nobody's figures" in answer.out
    answer = run(*asked, stdin=network)
    assert answer.status == 2
    assert "how many GPUs it has (--gpus)" in answer.err


def test_tasks_may_come_by_standard_input(run: Run, tasks: str) -> None:
    answer = run(*quick("-"), stdin=Path(tasks).read_bytes())
    assert answer.out == run(*quick(tasks)).out


def test_tasks_that_did_not_end_are_told(run: Run, tasks: str) -> None:
    answer = run(*quick(tasks, "--scheduler", "packed", "--until-s", "5.5"))
    assert "Warning: under packed 2 of 3 tasks ended; completion is that of these\n" in answer.out
    assert "Warning: under packed + Cassini 2 of 3 tasks ended" in answer.out


def test_what_is_kept_is_gone_on_with(run: Run, tasks: str, tmp_path: Path) -> None:
    through = run(*quick(tasks, "--json")).out
    out = str(tmp_path / "new" / "runs")
    assert run(*quick(tasks, "--json", "--out", out, seeds=1)).status == 0
    assert run(*quick(tasks, "--json", "--out", out)).out == through
    Path(tasks).write_text(Path(tasks).read_text().replace('"iterations": 20', '"iterations": 21'))
    answer = run(*quick(tasks, "--out", out))
    assert answer.status == 2
    assert "packed/seed-0.json experiment.tasks: expected " in answer.err
    assert len(answer.err.splitlines()) == 1


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_a_picture_is_drawn(run: Run, tasks: str, tmp_path: Path, ending: str) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / f"times.{ending}"
    answer = run(*quick(tasks, "--plot", str(path)))
    assert answer.status == 0
    assert f"Wrote {path}." in answer.out
    begin = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}[ending]
    assert path.read_bytes().startswith(begin)
    if ending == "svg":
        text = path.read_text()
        for word in ("packed + Cassini: ", "packed: ", "ideal: ", "iteration time, ms", "3 tasks, 2 seeds"):
            assert word in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("simulate", "-", "--tasks", "-"), "--tasks: expected a file, as the network is read from standard input"),
        (("simulate", "leaf-spine", "--tasks", "TASKS"), "leaf-spine: expected a file; cassini-core topology"),
        (("simulate", "no.yaml", "--tasks", "TASKS"), "no.yaml: expected a readable file"),
        (("simulate", "testbed", "--tasks", "no.json"), "no.json: expected a readable file"),
        (("simulate", "testbed"), "--tasks"),
        (("simulate", "testbed", "--tasks", "TASKS", "--scheduler", "slurm"), "slurm"),
        (("simulate", "testbed", "--tasks", "TASKS", "--seeds", "0"), "--seeds: expected a whole number of at least 1"),
        (("simulate", "testbed", "--tasks", "TASKS", "--margin", "-1"), "--margin: expected a number of at least 0"),
        (("simulate", "testbed", "--tasks", "TASKS", "--until-s", "0"), "--until-s: expected a number above 0"),
        (("simulate", "testbed", "--tasks", "TASKS", "--plot", "a.txt"), "--plot: expected a file name ending in .png"),
        (("simulate", "testbed", "--tasks", "TASKS", "--plot", "no/a.svg"), "--plot: expected a file in a folder that"),
        (("simulate", "testbed", "--tasks", "TASKS", "--out", "TASKS"), "--out: expected a folder, got "),
        (("simulate", "testbed", "--tasks", "TASKS", "--out", "-"), "--out: expected a folder, got '-'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_before_anything_runs(
    run: Run, tasks: str, arguments: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = run(*(tasks if word == "TASKS" else word for word in arguments))
    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err
    assert len(answer.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("missing", "words", "said"),
    [
        (
            "matplotlib.figure",
            ("--plot", "times.svg"),
            "--plot: expected matplotlib to be installed, got none; pip install",
        ),
        ("pymoo", ("--scheduler", "pollux"), "scheduler pollux: expected pymoo to be installed, got none; pip install"),
    ],
)
def test_what_is_not_installed_is_told_before_anything_runs(
    run: Run, tasks: str, missing: str, words: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [one for one in sys.modules if one.startswith((missing, "cassini_core.schedulers.pollux"))]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.setattr(comparison, "simulate_cluster", None)
    answer = run(*quick(tasks, *words))
    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err


def test_a_task_without_room_is_told_with_the_file(run: Run, tasks: str) -> None:
    many = [TASKS[0], {**TASKS[1], "workers": 25}]
    Path(tasks).write_text(json.dumps({"format": "cassini-tasks/1", "tasks": many}))
    answer = run(*quick(tasks))
    assert answer.status == 2
    assert (
        f"{tasks}: task 't1' workers: expected workers for which the network's 24 GPUs have room, got 25" in answer.err
    )


def test_what_is_concluded_is_what_the_interval_says() -> None:
    from cassini_core.cli.simulation_report import _conclusion

    def said(gain: Estimate | None, seeds: int = 6) -> str:
        found = SimpleNamespace(gain=lambda *_: gain, seeds=range(seeds), confidence=confidence_of(seeds))
        return _conclusion(found, "packed")  # type: ignore[arg-type]

    assert (
        said(Estimate(1.25, 1.1, 1.3)) == "Iterations of packed take 1.250 times as long without Cassini, on average."
    )
    assert said(Estimate(0.8, 0.7, 0.9)) == "Iterations of packed take 1.250 times as long with Cassini, on average."
    assert said(Estimate(0.9999, 0.9998, 0.9999)) == "Iterations of packed take as long with Cassini as without."
    assert "as long with Cassini as without, as far as these seeds tell" in said(Estimate(1.25, 0.9, 1.3))
    assert said(Estimate(1.25, 1.1, 1.3), seeds=5) == (
        "In 5 seeds iterations of packed take 1.250 times as long without Cassini, on average; nothing is sure "
        "with fewer than 6."
    )
    assert "nothing can be said" in said(None)


def test_one_seed_has_no_interval(run: Run, tasks: str) -> None:
    answer = run(*quick(tasks, seeds=1))
    assert answer.out.startswith("3 tasks on 24 hosts, 1 seed\n")
    assert "[" not in answer.out


@pytest.mark.slow
def test_the_page_shows_what_the_command_prints(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    block, *_ = (one for one in blocks(ROOT / "docs/simulation.md") if one.text.startswith("cassini-core simulate"))
    answer = run(*block.text.split()[1:])
    assert answer.status == 0
    assert answer.out == block.output


@pytest.mark.slow
def test_an_interrupt_ends_all_processes_with_one_line_and_what_is_done_stays(tasks: str, tmp_path: Path) -> None:
    many = [{**one, "iterations": 4000} for one in TASKS]
    Path(tasks).write_text(json.dumps({"format": "cassini-tasks/1", "tasks": many}))
    program = [sys.executable, "-m", "cassini_core", "simulate", "testbed", "--tasks", tasks, "--seeds", "500"]
    out = tmp_path / "runs"
    process = subprocess.Popen(
        [*program, "--out", str(out), "--processes", "2"], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while not list(out.rglob("seed-*.json")) and time.monotonic() < deadline:
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert err == "cassini-core: interrupted\n"
    assert list(out.rglob("seed-*.json"))
    while working(process.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert working(process.pid) == []


def working(group: int) -> list[str]:
    """Processes of a group that have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, _, rest = path.read_text().rpartition(")")
            state, _, its_group = rest.split()[:3]
            if int(its_group) == group and state != "Z":
                found.append(name)
    return found
