"""The pages say what is so: links lead somewhere, what is named exists, examples run and print what stands below them.

Python that needs more than this package stands below ``<!-- not run -->``, output that is shortened below
``<!-- shortened -->``.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import inspect
import io
import os
import re
import shutil
from pathlib import Path

import pytest

import cassini_agent.cli
import cassini_core as cc
import cassini_core.cli
from cassini_core.problem_file import problem_from_json
from pages import FENCE, ROOT, anchors, blocks, code, part, read, rows, run_c

PAGES = sorted(
    {ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "csrc/fuzz/README.md"}
    | {page for folder in ("docs", "examples", "bench") for page in (ROOT / folder).rglob("*.md")}
    - set((ROOT / "bench/results").glob("*.md"))
)
BUILT = ("build/", "dist/", ".venv")
"""How paths begin that are made, not committed."""

ELSEWHERE = {
    "data/topo.csv",
    "sched/adaptdl_sched/policy/pollux.py",
    "simulator/pollux.py",
    "simulator/simulator.py",
}
"""Paths in other repositories."""


@pytest.fixture(scope="module")
def files() -> set[str]:
    """Every file of the tree that may be named, and every folder with a slash at its end; relative to the root."""
    found = set()
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [one for one in folders if one not in (".git", ".venv", "build", "dist", "target", "__pycache__")]
        here = Path(folder).relative_to(ROOT)
        found |= {str(here / name) for name in names} | {f"{here / name}/" for name in folders}
    return found


each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]+))?\)", FENCE.sub("", read(page))):
        linked = page.parent / target if target else page
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked), f"{target}#{anchor}"


@each_page
def test_targets_of_make_exist(page: Path) -> None:
    targets = set(re.findall(r"^(\S+):.*##", read(ROOT / "Makefile"), re.MULTILINE))
    for line in code(page):
        for named in re.findall(r"\bmake ((?:[a-z][a-z-]*(?: |$))+)", re.sub(r"#.*", "", line)):
            assert set(named.split()) <= targets, line


@each_page
def test_modules_exist(page: Path) -> None:
    for line in code(page):
        for name in re.findall(r"python -m ([\w.]+)", line):
            assert importlib.util.find_spec(name) is not None, line


@each_page
def test_files_exist(page: Path, files: set[str]) -> None:
    """A path counts from the page, from the root or from any folder. Names in capital letters stand for others."""
    path = re.compile(r"[\w.-]+(/[\w.-]+)*(/|\.(py|pyx|pxd|md|json|csv|toml|h|hpp|c|cpp|abi|map))")
    for span in code(page):
        for word in re.split(r"[\s,;()\"'=:]+", span):
            if (
                path.fullmatch(word) is None
                or word.startswith(BUILT)
                or word in ELSEWHERE
                or re.match("[A-Z]+[/.]", word)
            ):
                continue
            beside = os.path.relpath(page.parent / word, ROOT) + "/" * word.endswith("/")
            assert {word, beside} & files or any(file.endswith(f"/{word}") for file in files), f"{word} in {span}"


@functools.cache
def help_of(program: str, command: str) -> str:
    """What a command says of itself; many pages name the same ones."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        main = {"core": cassini_core.cli.main, "agent": cassini_agent.cli.main}[program]
        assert main([*command.split(), "--help"]) == 0, command
    return said.getvalue()


@each_page
def test_commands_and_their_options_exist(page: Path) -> None:
    option = re.compile(r"(?<!\S)--?[a-z][a-z-]*")
    for line in code(page):
        named = re.match(r"(?:\$ )?cassini-(core|agent) ((?:(?:profile|plot) )?[a-z][a-z-]*)(.*)", line)
        if named is not None:
            assert set(option.findall(named[3])) <= {*option.findall(help_of(named[1], named[2])), "--help"}, line


@each_page
def test_python_runs_and_prints_what_it_says(
    page: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of a page follow each other in one namespace."""
    monkeypatch.chdir(ROOT)
    namespace: dict[str, object] = {}
    for block in blocks(page):
        if block.language == "python" and block.mark != "not run":
            exec(compile(block.text, str(page), "exec"), namespace)
            printed = capsys.readouterr().out
            if block.output is not None:
                assert printed == block.output


@each_page
def test_commands_print_what_they_say(
    page: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    for block in blocks(page):
        if block.language != "console":
            continue
        for command, output in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
            program, *arguments = command.split()
            if program == "cassini-core":
                assert cassini_core.cli.main(arguments) == 0
                printed = capsys.readouterr().out
                assert output in ("", printed) or block.mark == "shortened"


@each_page
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_programs_in_c_print_what_the_page_says(page: Path, tmp_path: Path) -> None:
    for block in blocks(page):
        if block.language == "c" and "int main" in block.text:
            assert run_c(block.text, tmp_path).strip() in read(page)


# Tables.


def test_the_study_shown_is_the_study_made() -> None:
    made = rows(part(ROOT / "bench/results/ranking-prediction.md", "## Run with shifts, paced +1.0%"))
    shown = rows(part(ROOT / "docs/ranking.md", "## The score of a candidate"))
    for score in ("per_job", "mean", "min", "p10", "any candidate"):
        spearman, _kendall, _over_mean, *regret = made[score]
        assert shown[score] == [spearman, *regret]


def test_the_times_of_links_shown_are_those_measured() -> None:
    """Rounded to two digits."""
    seconds = {"µs": 1e-6, "ms": 1e-3, "s": 1.0}

    def time(cell: str) -> float:
        number, unit, *_ = cell.split()
        return float(number) * seconds[unit]

    made = rows(part(ROOT / "bench/results/link.md", "## Exact solves by family"))
    shown = rows(part(ROOT / "docs/performance.md", "## One link"))
    for jobs in "23456":
        for phases, cell in zip(("1 phase", "1-3 phases", "3 phases"), shown[jobs], strict=True):
            assert not cell or time(cell) == pytest.approx(time(made[f"equal {jobs} jobs, {phases}"][2]), rel=0.03)


def test_the_rounds_shown_are_the_rounds_measured() -> None:
    made = rows(part(ROOT / "bench/results/ranking-scale.md", "## Sizes"))
    shown = rows(part(ROOT / "docs/performance.md", "## Rounds of a cluster"))
    del shown["candidates x jobs"]
    assert len(shown) == 8
    for size, (shared, problems, wall, links, peak) in shown.items():
        same = re.sub(r"± ?1 ?%", "±1%", size.replace(" x ", " × ").replace("1,000", "1000"))
        _, *measured = made[same]
        assert [shared, problems] == measured[:2]
        assert [wall, links] == measured[3:5]
        assert peak.split()[0] == measured[9].split()[0]


def test_the_gain_of_placements_shown_is_the_one_measured() -> None:
    made = rows(part(ROOT / "bench/results/placement.md", "### Where the jobs that run lie scattered"))
    shown = rows(part(ROOT / "docs/placements.md", "## What it is worth, and what it takes"))
    for name in ("best", "packed", "best at random", "mean at random"):
        score, _, _, slowdown, _, _ = made[name]
        assert shown[name] == [score, slowdown]


def test_the_gpu_runs_shown_are_those_measured() -> None:
    made = rows(read(ROOT / "bench/results/gpu-two-jobs.md"))
    shown = rows(part(ROOT / "docs/performance.md", "## The agent"))
    for ours, theirs in (
        ("in phase", "in phase"),
        ("started at random", "random phase"),
        ("held by the agent", "held"),
    ):
        mean, _p90, ratio, _iterations = made[theirs]
        assert shown[ours] == [f"{mean} ms", ratio]


# What is public.


def test_every_public_name_is_in_the_python_page() -> None:
    text = read(ROOT / "docs/python.md")
    assert [name for name in cc.__all__ if not re.search(rf"`[^`]*\b{name}\b[^`]*`", text)] == []


@pytest.mark.parametrize(
    "call",
    [cc.rank, cc.Ranker, cc.solve_link, cc.score_link, cc.score_bounds, cc.harmonize, cc.load_problem, cc.load_profile],
    ids=lambda call: call.__name__,
)
def test_signatures_are_those_of_the_python_page(call: object) -> None:
    name = call.__name__  # type: ignore[attr-defined]
    found = re.search(rf"`{name}\(([^`]*)\)`", read(ROOT / "docs/python.md"))
    assert found is not None
    shown: dict[str, object] = {}
    exec(f"def shown({found[1]}): ...", shown)
    mine, theirs = (inspect.signature(one).parameters.values() for one in (shown["shown"], call))  # type: ignore[arg-type]
    assert [(one.name, one.kind, one.default) for one in mine] == [(one.name, one.kind, one.default) for one in theirs]


@pytest.mark.parametrize("kind", [cc.Ranking, cc.RankedCandidate, cc.LinkScore, cc.LinkSolution, cc.Harmonized])
def test_the_python_page_names_what_answers_have(kind: type) -> None:
    row = rows(read(ROOT / "docs/python.md"))[f"`{kind.__name__}`"][0]
    public = {name for name in dir(kind) if not name.startswith("_")}
    named = {word for span in re.findall(r"`([^`]+)`", row) for word in re.findall(r"^\.?([a-z]\w+)(?:\(\))?$", span)}
    assert named == public


def test_the_formats_shown_are_those_written() -> None:
    (problem,) = [block.text for block in blocks(ROOT / "docs/formats.md") if block.language == "json"]
    jobs = [cc.Job("a", 40, [cc.Phase(0, 20, 50)])]
    narrow = cc.Problem(jobs, [cc.Link("tor1-up", 25)], [cc.Candidate("c0", {"a": ["tor1-up"]})])
    rankings = [
        cc.rank(problem_from_json(problem.encode())),
        cc.rank(narrow),
        cc.rank(problem_from_json(problem.encode()), running_shifts_ms={"a": 0.0}),
    ]

    def shown(name: str) -> set[str]:
        (found,) = [block.text for block in blocks(ROOT / "docs/formats.md") if f'"{name}"' in block.text]
        return set(re.findall(r'"(\w+)"', found))

    def written(*answers: bytes) -> set[str]:
        return set(re.findall(r'"(\w+)":', b"".join(answers).decode())) - {"a", "b", "c0", "tree", "tor1-up"}

    assert shown("cassini-ranking/1") == written(*(one.to_json() for one in rankings))
    told = written(*(one.to_json(differences=True) for one in rankings))
    assert shown("cassini-ranking/1") | shown("cassini-ranking/2") == told  # it leaves out what is as above
    assert shown("cassini-link-solution/1") == written(cc.solve_link(jobs, 50).to_json())
