"""The command line as a user meets it: exit status, one-line errors, clean stdout, any terminal."""

from __future__ import annotations

import inspect
import io
import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import cassini_core
from cassini_core import install_paths
from cassini_core.cli import console, main
from cassini_core.cli.link import link as link_verb
from cassini_core.cli.rank import rank as rank_verb
from cassini_core.errors import InputError, KernelError, LimitError
from commands import Run
from told_rankings import as_whole
from work import works_less_than

PHASE = {"start_ms": 141, "duration_ms": 114, "gbps": 45}
PROBLEM: dict[str, Any] = {
    "format": "cassini-problem/1",
    "jobs": [
        {"id": "a", "iteration_ms": 255, "phases": [PHASE]},
        {"id": "b", "iteration_ms": 255, "phases": [PHASE]},
    ],
    "links": [{"id": "up1", "capacity_gbps": 50}, {"id": "up2", "capacity_gbps": 25}],
    "candidates": [
        {"id": "slow", "routes": {"a": ["up2"], "b": ["up2"]}},
        {"id": "fast", "routes": {"a": ["up1"], "b": ["up1"]}},
    ],
}
LINK = {"capacity_gbps": 50, "jobs": PROBLEM["jobs"]}


def spawn(*arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """``python -m cassini_core`` in a process of its own."""
    environment = {**os.environ, **options.pop("env", {})}
    options.setdefault("stdout", subprocess.PIPE)
    command = [sys.executable, "-m", "cassini_core", *arguments]
    return subprocess.run(command, stderr=subprocess.PIPE, env=environment, timeout=60, check=False, **options)


@pytest.fixture
def problem(tmp_path: Path) -> str:
    return written(tmp_path, PROBLEM)


def written(folder: Path, content: object, name: str = "problem.json") -> str:
    path = folder / name
    path.write_text(json.dumps(content))
    return str(path)


def renamed(**names: str) -> dict[str, Any]:
    """The problem with other ids."""
    text = json.dumps(PROBLEM)
    for old, new in names.items():
        text = text.replace(json.dumps(old), json.dumps(new))
    return json.loads(text)  # type: ignore[no-any-return]


def is_one_line(text: str) -> bool:
    return text.startswith("cassini-core: ") and text.endswith("\n") and text[:-1].isprintable()


class FakeTerminal(io.StringIO):
    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


# --- answers ----------------------------------------------------------------------------------------------------------


def test_rank_prints_the_best_first_and_says_why(run: Run, problem: str) -> None:
    answer = run("rank", problem)
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.index("fast") < answer.out.index("slow")
    for word in ("score", "bound", "proven", "status", "hold ms", "shift ms", "slack ms", "pace ms", "runner-up"):
        assert word in answer.out
    assert answer.out.splitlines()[-1].startswith('"fast" wins with ')


def test_json_is_all_there_is_on_stdout(run: Run, problem: str) -> None:
    answer = run("rank", problem, "--json")
    assert (answer.status, answer.err) == (0, "")
    ranking = json.loads(answer.out)
    assert (ranking["format"], ranking["best"]) == ("cassini-ranking/1", "fast")
    assert [one["id"] for one in ranking["candidates"]] == ["fast", "slow"]


def test_json_of_differences_says_the_same(run: Run, problem: str, tmp_path: Path) -> None:
    whole = run("rank", problem, "--json").out
    told = run("rank", problem, "--differences")
    assert told == run("rank", problem, "--json", "--differences")
    assert as_whole(json.loads(told.out)) == json.loads(whole)
    both = run("rank", problem, "--with-problem", "--differences").out
    assert as_whole(json.loads(both)) == json.loads(run("rank", problem, "--with-problem").out)
    answer = tmp_path / "answer.json"
    answer.write_text(both)
    assert run("report", str(answer), "-o", str(tmp_path / "told.html")).status == 0
    answer.write_text(told.out)
    before = run("rank", problem, "--running", str(answer), "--json").out
    answer.write_text(whole)
    assert before == run("rank", problem, "--running", str(answer), "--json").out


def test_table_and_json_agree(run: Run, problem: str) -> None:
    ranking = json.loads(run("rank", problem, "--json").out)
    table = run("rank", problem).out
    for one in ranking["candidates"]:
        (row,) = [line for line in table.splitlines() if f" {one['id']} " in line and "wins" not in line]
        assert f"{one['score']:.4f}" in row
    best = ranking["candidates"][0]
    for job in ("a", "b"):
        (row,) = [line for line in table.splitlines() if line.startswith(f" {job} ")]
        assert f"{best['shifts_ms'][job]:.3f}" in row
        assert f"{ranking['paces_ms'][job]:.3f}" in row


def test_all_options_of_rank_reach_the_ranking(run: Run, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def fake(_: object, **options: Any) -> None:
        seen.update(options)
        raise InputError("seen")

    monkeypatch.setattr("cassini_core.ranking.rank_problem.rank", fake)
    given = {
        "loops": "discard",
        "aggregate": "p10",
        "order": "score",
        "top": 3,
        "exhaustive": True,
        "period_tolerance": 0.02,
        "threads": 3,
        "deadline_s": 1.5,
        "node_limit": None,
        "block_node_limit": 70,
        "resolution_ms": 0.0,
        "slack_tolerance": 0.5,
        "running_tolerance": 0.05,
    }
    options = [
        f"--{name.replace('_', '-')}" + ("" if value is True else f"={'none' if value is None else value}")
        for name, value in given.items()
    ]
    assert run("rank", problem, *options).err == "cassini-core: seen\n"
    assert callable(seen.pop("progress"))
    assert seen == given


@pytest.mark.parametrize(("verb", "function"), [(rank_verb, cassini_core.rank), (link_verb, cassini_core.solve_link)])
def test_a_default_of_the_command_line_is_that_of_python(verb: Any, function: Any) -> None:
    ours, python = inspect.signature(verb).parameters, inspect.signature(function).parameters
    shared = ours.keys() & python.keys()
    assert len(shared) > 5
    assert {name: ours[name].default for name in shared} == {name: python[name].default for name in shared}


def test_rows_cut_the_table_but_not_json(run: Run, problem: str) -> None:
    table = run("rank", problem, "--rows", "1").out
    assert " slow " not in table.split("Shifts of")[0]
    assert "1 more candidate" in table
    assert len(json.loads(run("rank", problem, "--rows", "1", "--json").out)["candidates"]) == 2


def test_link_answers_for_people_and_programs(run: Run, tmp_path: Path) -> None:
    file = written(tmp_path, LINK)
    solution = json.loads(run("link", file, "--json").out)
    table = run("link", file)
    assert (table.status, table.err) == (0, "")
    assert f"Score {solution['score']:.4f}" in table.out
    assert "claims" in run("link", file, "--method", "angles", "--angles", "36").out


@pytest.mark.parametrize("verb", ["rank", "link"])
def test_dash_reads_standard_input(run: Run, verb: str, tmp_path: Path) -> None:
    file = written(tmp_path, PROBLEM if verb == "rank" else LINK)
    from_file = run(verb, file, "--json")
    from_stdin = spawn(verb, "-", "--json", input=Path(file).read_bytes())
    assert (from_file.status, from_stdin.returncode) == (0, 0)
    assert from_file.out == from_stdin.stdout.decode()


def test_errors_in_standard_input_say_so() -> None:
    done = spawn("rank", "-", input=b"{")
    assert done.returncode == 2
    assert done.stderr.startswith(b"cassini-core: standard input: ")
    assert done.stderr.count(b"\n") == 1


def test_standard_input_without_end_is_refused_and_nothing_is_written(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("cassini_core.problem_file.decoding.MAX_FILE_BYTES", 1000)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    for size, expected in ((1000, "standard input: line 1"), (10**6, "standard input: expected at most 1000 bytes")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x" * size)))
        answer = run("rank", "-")
        assert answer.status == 2
        assert expected in answer.err


@pytest.mark.parametrize(
    "line", ["--help", "-h", "", "rank --help", "link -h", "profile", "profile kineto -h", "profile counters -h"]
)
def test_help_is_an_answer(run: Run, line: str) -> None:
    answer = run(*line.split())
    assert (answer.status, answer.err) == (0, "")
    assert "Usage: cassini-core" in answer.out


def test_help_says_every_exit_status_and_where_the_library_lies(run: Run) -> None:
    text = run("--help").out
    for words in ("0 answered", "2 the input", "130 interrupted", "1 anything", *install_paths._PATHS):
        assert words in text


def test_help_offers_no_choice_that_leaves_out_others(run: Run) -> None:
    """The limits of nodes take numbers and none, too."""
    assert "[choices: auto]" not in " ".join(run("rank", "--help").out.replace("│", "").split())


def test_version_is_the_package_version(run: Run) -> None:
    assert run("--version") == (0, f"cassini-core {cassini_core.__version__}\n", "")


def test_start_loads_nothing_heavy() -> None:
    probe = "import sys; from cassini_core.cli import main; main(['--version']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], stdout=subprocess.PIPE, check=True, text=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"networkx", "msgspec", "numba", "scipy", "matplotlib"}


# --- wrong options and input ------------------------------------------------------------------------------------------

WRONG_OPTIONS = [
    ("rank", "FILE"),
    ("rank FILE extra", "expected no more arguments, got 'extra'. See cassini-core rank --help"),
    ("rank -x", "-x"),
    ("rank FILE --bogus", "--bogus"),
    ("rank FILE --jsno", "--json"),
    ("rank FILE --json --json", "--json"),
    ("rank FILE --json=maybe", "--json"),
    ("rank FILE --loops sideways", "sideways"),
    ("rank FILE --loops", "--loops"),
    ("rank FILE --aggregate median", "per_job"),
    ("rank FILE --aggregate p101", "p101"),
    ("rank FILE --threads 0", "at least 1"),
    ("rank FILE --threads -2", "-2"),
    ("rank FILE --threads 1.5", "1.5"),
    ("rank FILE --threads 99999999999999999999", "whole number"),
    ("rank FILE --threads none", "whole number"),
    ("rank FILE --node-limit 0", "or none"),
    ("rank FILE --node-limit 1_000", "1_000"),
    ("rank FILE --deadline-s 0", "above 0"),
    ("rank FILE --deadline-s nan", "nan"),
    ("rank FILE --deadline-s inf", "inf"),
    ("rank FILE --period-tolerance -0.1", "at least 0"),
    ("rank FILE --period-tolerance one", "one"),
    ("rank FILE --resolution-ms -1", "at least 0"),
    ("rank FILE --slack-tolerance x", "x"),
    ("rank FILE --top 0", "at least 1"),
    ("rank FILE --rows 0", "at least 1"),
    ("rank FILE --threads 1 --threads 2", "--threads"),
    ("rank FILE --loops [red]x", "[red]x"),
    ("link", "FILE"),
    ("link FILE --method magic", "magic"),
    ("link FILE --angles 0", "at least 1"),
    ("profile kineto", "requires an argument"),
    ("profile kineto TRACE", "--output"),
    ("profile kineto TRACE -o", "-o"),
    ("profile kineto TRACE -o out.json --gbps 0", "above 0"),
    ("profile kineto TRACE -o out.json --iteration-ms x", "above 0"),
    ("profile kineto TRACE -o out.json --local-ranks 0", "at least 1"),
    ("profile kineto TRACE -o out.json --line-gbps -1", "above 0"),
    ("profile kineto -o out.json", "TRACE"),
    ("profile kineto - -o out.json", "standard input"),
    ("profile magic", "magic"),
    ("rnak FILE", "rank"),
    ("--verbose", "--verbose"),
]


@pytest.mark.parametrize(("line", "word"), WRONG_OPTIONS)
def test_wrong_options_are_one_line_and_status_2(run: Run, problem: str, line: str, word: str) -> None:
    answer = run(*[problem if part == "FILE" else part for part in line.split()])
    assert (answer.status, answer.out) == (2, "")
    assert is_one_line(answer.err)
    assert word in answer.err
    assert "?." not in answer.err
    advice = re.search(r" See cassini-core (.*)--help$", answer.err.rstrip())
    assert advice is None or line.startswith(advice[1].strip())
    assert advice is None or run(*advice[1].split(), "--help").status == 0


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (None, "No such file"),
        (b"", "empty"),
        (b"not json", "line 1"),
        (b"\xff\xfe", "UTF-8"),
        (b"[" * 100_000, "brackets"),
        (json.dumps({**PROBLEM, "extra": 1}).encode(), "extra"),
        (json.dumps({**PROBLEM, "jobs": []}).encode(), "at least one job"),
        (json.dumps(renamed(up1="up\n[red]")).replace('"up\\n[red]"', '"other\\n[red]"', 1).encode(), "[red]"),
    ],
)
def test_wrong_files_are_one_line_and_status_2(run: Run, tmp_path: Path, content: bytes | None, word: str) -> None:
    path = tmp_path / "wrong.json"
    if content is not None:
        path.write_bytes(content)
    for arguments in (["rank", str(path)], ["rank", str(path), "--json"]):
        answer = run(*arguments)
        assert (answer.status, answer.out) == (2, "")
        assert is_one_line(answer.err)
        assert answer.err.startswith(f"cassini-core: {path}: ")
        assert word in answer.err


@pytest.mark.parametrize("name", ["a\nb", "\x1b[31m", "[red]", "\u202e", "\udcff", "x" * 5000, "", "a\0b"])
def test_file_names_cannot_break_the_line(run: Run, name: str) -> None:
    answer = run("rank", name)
    assert (answer.status, answer.out) == (2, "")
    assert is_one_line(answer.err)
    assert len(answer.err) < 3000


@pytest.mark.parametrize(
    ("error", "status", "word"),
    [
        (InputError("in\nput"), 2, "in\\nput"),
        (KernelError("kernel"), 1, "kernel"),
        (LimitError("limit", lower=0.0, upper=1.0), 1, "limit"),
        (RuntimeError("odd\nthing"), 1, "internal error: RuntimeError: odd\\nthing"),
        (MemoryError(), 1, "out of memory"),
        (OSError(28, "No space left on device", "/x"), 1, "/x: No space left"),
        (RecursionError("deep"), 1, "deep"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_failures_are_one_line(
    run: Run, problem: str, monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int, word: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("cassini_core.ranking.rank_problem.rank", fail)
    monkeypatch.delenv("CASSINI_DEBUG", raising=False)
    answer = run("rank", problem, "--json")
    assert (answer.status, answer.out) == (status, "")
    assert is_one_line(answer.err)
    assert word in answer.err
    if status != 130:
        monkeypatch.setenv("CASSINI_DEBUG", "1")
        assert "Traceback" in run("rank", problem).err


def test_ctrl_c_ends_a_long_search_with_one_line(run: Run, tmp_path: Path) -> None:
    phases = [{"start_ms": 60 * at, "duration_ms": 23, "gbps": 17 + 5 * at} for at in range(4)]
    jobs = [{"id": f"j{at}", "iteration_ms": 240 + 60 * (at % 3), "phases": phases} for at in range(9)]
    file = written(tmp_path, {"capacity_gbps": 50, "jobs": jobs})
    run("link", file, "--node-limit", "1")  # everything is loaded now
    interrupt = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    # A runner started in the background ignores the signal, and so would all that it starts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        interrupt.start()
        with works_less_than(5.0):
            answer = run("link", file, "--node-limit", "none", "--deadline-s", "60")
    finally:
        interrupt.join()
        signal.signal(signal.SIGINT, before)
    assert answer == (130, "", "cassini-core: interrupted\n")


# --- where the text goes ----------------------------------------------------------------------------------------------


def test_ids_are_shown_as_they_are_and_never_cut_when_piped(run: Run, tmp_path: Path) -> None:
    long = "job-" + "x" * 300
    file = written(tmp_path, renamed(a="[red]a[/red] :smile:", b=long, up1="[bold]up"))
    out = run("rank", file).out
    for name in ("[red]a[/red] :smile:", long, "[bold]up"):
        assert name in out


def test_control_characters_come_out_as_escapes(run: Run, tmp_path: Path) -> None:
    file = written(tmp_path, renamed(a="a\x1b[31m\r\n", fast="f\u202east\x07"))
    out = run("rank", file).out
    assert r"a\x1b[31m\r\n" in out
    assert r"f\u202east\x07" in out
    assert all(line.isprintable() for line in out.splitlines())


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_encoding_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    file = written(tmp_path, renamed(a="é", b="日本", up1="\U0001f600"))

    def printed(*arguments: str) -> bytes:
        kept = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(kept, encoding=encoding))
        assert main(["rank", file, *arguments]) == 0
        return kept.getvalue()

    assert ("日本" if encoding == "utf-8" else r"\u65e5\u672c") in printed().decode(encoding)
    assert "日本" in json.loads(printed("--json").decode("utf-8"))["paces_ms"]


def test_any_locale_will_do(tmp_path: Path) -> None:
    file = written(tmp_path, renamed(a="é", b="日本", up1="\U0001f600"))
    table = spawn("rank", file, env={"PYTHONIOENCODING": "ascii"})
    assert (table.returncode, table.stderr) == (0, b"")
    assert r"\u65e5\u672c" in table.stdout.decode("ascii")


@pytest.mark.parametrize("columns", [1, 20, 40, 60, 80, 200])
def test_any_terminal_width_shows_everything(problem: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = FakeTerminal(terminal=True)
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    assert main(["rank", problem]) == 0
    lines = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue()).splitlines()
    assert max(map(len, lines)) <= columns
    squeezed = "".join("".join(lines).split())
    for word in ("fast", "slow", "1.0000", "up1", "runner-up"):
        assert word in squeezed


def test_a_reader_that_leaves_is_no_error(problem: str) -> None:
    for arguments in (["rank", problem, "--json"], ["rank", problem], ["--help"]):
        reading, writing = os.pipe()
        os.close(reading)
        done = spawn(*arguments, stdout=writing)
        os.close(writing)
        assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_one_line(problem: str) -> None:
    for arguments in (["rank", problem, "--json"], ["rank", problem]):
        with open("/dev/full", "wb") as full:
            done = spawn(*arguments, stdout=full)
        assert done.returncode == 1
        assert is_one_line(done.stderr.decode())


def test_closed_streams_are_no_crash(problem: str) -> None:
    command = f'"{sys.executable}" -m cassini_core rank "{problem}" --json'
    closed = subprocess.run(f"{command} >&-", shell=True, stderr=subprocess.PIPE, check=False)
    assert closed.returncode == 1
    assert is_one_line(closed.stderr.decode())
    assert subprocess.run(f"{command} 2>&-", shell=True, stdout=subprocess.PIPE, check=False).returncode == 0


# --- progress ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("terminal", "delay_s", "shown"), [(True, 0.0, True), (True, 60.0, False), (False, 0.0, False)]
)
def test_progress_shows_on_terminals_and_long_work_only(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, delay_s: float, shown: bool
) -> None:
    stream = FakeTerminal(terminal=terminal)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(console, "PROGRESS_DELAY_S", delay_s)
    monkeypatch.setenv("TERM", "xterm")
    with console.Waiting("counting sheep") as waiting:
        timer = waiting._timer
        if timer is not None and delay_s == 0:
            timer.join()
        waiting.update(3, 7)
    assert ("counting sheep" in stream.getvalue()) is shown


def test_progress_never_reaches_stdout(monkeypatch: pytest.MonkeyPatch, problem: str) -> None:
    stdout, stderr = io.StringIO(), FakeTerminal(terminal=True)
    monkeypatch.setattr(sys, "stdout", stdout)
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setattr(console, "PROGRESS_DELAY_S", 0.0)
    assert main(["rank", problem, "--json"]) == 0
    assert json.loads(stdout.getvalue())["best"] == "fast"


# --- output files -----------------------------------------------------------------------------------------------------


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "job.json"
    console.write_file(str(path), b"old")
    path.chmod(0o640)
    console.write_file(str(path), b"new")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o640)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        console.write_file(str(path), b"never")
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("job.json", b"new")]


def test_links_are_followed_and_devices_written_to(tmp_path: Path) -> None:
    target, link, pipe = tmp_path / "real", tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(target)
    console.write_file(str(link), b"x")
    assert link.is_symlink()
    assert target.read_bytes() == b"x"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    console.write_file(str(pipe), b"through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("output", ["missing/job.json", ".", "trace.json", ""])
def test_useless_output_places_are_refused_first(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trace.json").write_text("{}")
    answer = run("profile", "kineto", "trace.json", "-o", output)
    assert (answer.status, answer.out) == (2, "")
    assert is_one_line(answer.err)
    assert "--output" in answer.err
    assert Path("trace.json").read_text() == "{}"
