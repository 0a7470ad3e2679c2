"""The page as a file: whatever is ranked gives one, nothing breaks out of its place, nothing is left out unsaid."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cassini_core as cc
import wild_strategies as wild
from cassini_core.choices import Status
from cassini_core.cli import main
from cassini_core.plots.placed_links import PlacedLink
from cassini_core.report.page import embedded_json, report_page
from cassini_core.report.sections import MOST_CANDIDATES, MOST_HOSTS, MOST_LINKS, STATUSES
from cassini_core.report.timeline import MOST_EVENTS, timeline_data
from pages import ROOT
from strategies import loop_problems

EXAMPLE = ROOT / "examples/three-racks.json"
WITHOUT_END = ("meta", "rect", "path")


class Page(HTMLParser):
    """What the elements hold, by tag; fails where an element is not closed."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.open: list[str] = []
        self.held: dict[str, list[str]] = {}
        self.policy = ""
        self.feed(page.decode())
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        """One more is open."""
        about = dict(attrs)
        assert not any(name.startswith("on") or name == "style" for name in about)
        if about.get("http-equiv") == "Content-Security-Policy":
            self.policy = about["content"]
        self.held.setdefault(tag, []).append("")
        self.open += [tag] if tag not in WITHOUT_END else []

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        """Opens nothing."""

    def handle_endtag(self, tag: str) -> None:
        """The last one is closed."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Text of all that is open."""
        for tag in set(self.open):
            self.held[tag][-1] += data


anything = st.recursive(
    st.none() | st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
)
endings = st.sampled_from(["</script>", "</SCRIPT >", "<!--", "<script", "-->", "]]>", "\u2028", "&quot;"])


@given(anything | st.lists(endings))
def test_data_cannot_leave_its_element(content: Any) -> None:
    inside = embedded_json(content)
    assert json.loads(inside) == content
    assert not re.search("[<>&]", inside)


@settings(max_examples=25)
@given(wild.problems() | loop_problems(max_candidates=3))
def test_any_ranking_gives_a_page_that_is_well_formed_and_safe(problem: cc.Problem) -> None:
    ranking = cc.rank(problem, node_limit=100)
    page = report_page(problem, ranking)
    assert page == report_page(problem, ranking)
    read = Page(page)
    content = {"style": read.held["style"][0], "script": read.held["script"][1]}
    for kind, text in content.items():
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in read.policy
    assert read.policy.startswith("default-src 'none';")
    assert "unsafe" not in read.policy
    json.loads(read.held["script"][0])
    assert len(read.held["h1"]) == 1
    assert len(read.held["tr"]) > len(ranking)


def test_nothing_to_rank_and_nothing_solved_are_said() -> None:
    nothing = cc.Problem([], [], [])
    assert b"There are no candidates to rank." in report_page(nothing, cc.rank(nothing))
    problem = cc.load_problem(EXAMPLE)
    unsolved = cc.rank(problem, loops="discard", exhaustive=True)
    page = report_page(problem, unsolved, "triangle")
    assert b"not solved" in page
    assert b"not known" in page
    assert b'id="workbench"' not in page
    assert b'href="#timeline"' not in page


def test_every_status_that_the_page_shows_is_explained() -> None:
    assert tuple(STATUSES) == get_args(Status)
    problem = cc.load_problem(EXAMPLE)
    page = Page(report_page(problem, cc.rank(problem)))
    (explained,) = [text for text in page.held["p"] if "Status: " in text]
    for one in cc.rank(problem):
        assert f"{one.status.replace('_', ' ')} (" in explained
    assert "discarded (" not in explained


def test_another_candidate_is_compared_with_the_best() -> None:
    problem = cc.load_problem(EXAMPLE)
    page = Page(report_page(problem, cc.rank(problem), "packed"))
    assert "What it lacks" in page.held["h2"]
    assert any("Number 3 of 6 candidates" in text for text in page.held["p"])
    assert not any("elsewhere" in text for text in page.held["span"])  # it is the first in the input


def many(n: int) -> cc.Problem:
    """Two jobs on many links, in many placements, on many hosts."""
    jobs = [cc.Job(name, 100, [cc.Phase(0, 30 + 30 * k, 40)]) for k, name in enumerate("ab")]
    links = [cc.Link(f"l{k}", 50 + k / 100) for k in range(n)]
    routes = {job.id: [link.id for link in links] for job in jobs}
    hosts = {"a": {f"h{k}": 8 for k in range(n)}}
    return cc.Problem(jobs, links, [cc.Candidate(f"c{k}", routes, hosts) for k in range(n)])


def test_what_is_left_out_is_counted() -> None:
    n = MOST_LINKS + 37
    problem = many(n)
    page = Page(report_page(problem, cc.rank(problem)))
    assert any(f"{n - MOST_CANDIDATES} more candidates" in text for text in page.held["p"])
    assert any("37 more links from " in text for text in page.held["p"])
    assert any(f"h0 ×8, h1 ×8, h10 ×8, h100 ×8, h101 ×8, h102 ×8, {n - MOST_HOSTS} more" in t for t in page.held["td"])
    assert sum("c" in text for text in page.held["th"]) >= MOST_CANDIDATES
    assert len(json.loads(page.held["script"][0])["links"]) == n


def test_demands_are_written_once() -> None:
    phases = [cc.Phase(k, 0.5, 1 + k % 50) for k in range(200)]
    jobs = [cc.Job(name, 200, phases) for name in "ab"]
    links = [cc.Link(f"l{k}", 50) for k in range(100)]
    routes = {job.id: [link.id for link in links] for job in jobs}
    problem = cc.Problem(jobs, links, [cc.Candidate("c", routes)])
    data = json.loads(Page(report_page(problem, cc.rank(problem, node_limit=1))).held["script"][0])
    assert [len(demand) for demand in data["demands"]] == [3 * len(phases)]
    assert len(data["links"]) == len(links)


# The command.


def test_the_command_says_where_the_page_lies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert main(["report", str(EXAMPLE), "-o", str(page)]) == 0
    assert capsys.readouterr().out == f"Wrote {page}.\n"
    problem = cc.load_problem(EXAMPLE)
    assert page.read_bytes() == report_page(problem, cc.rank(problem))


def test_the_command_takes_an_answer_with_its_problem(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["rank", str(EXAMPLE), "--with-problem", "--aggregate", "min"]) == 0
    answer = tmp_path / "answer.json"
    answer.write_text(capfd.readouterr().out)
    page = tmp_path / "page.html"
    assert main(["report", str(answer), "--output", str(page), "--candidate", "packed"]) == 0
    problem = cc.load_problem(EXAMPLE)
    assert page.read_bytes() == report_page(problem, cc.rank(problem, aggregate="min"), "packed")
    assert b"(its worst link)" in page.read_bytes()


def test_the_page_goes_to_standard_output_if_wanted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert main(["report", str(EXAMPLE), "-o", str(page)]) == 0
    capfd.readouterr()
    assert main(["report", str(EXAMPLE), "-o", "-"]) == 0
    assert capfd.readouterr().out.strip() == page.read_text().strip()


def test_another_kind_of_file_is_refused_with_what_is_taken(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(ROOT / "examples/testbed-jobs.json")]) == 2
    said = capfd.readouterr().err
    assert "expected a problem (cassini-problem/1 or /2), or a ranking with its problem" in said
    assert "got 'cassini-jobs/1'" in said


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--candidate", "nobody"], "--candidate: expected one of the file ('beside-its-twin', "),
        (["-o", "no/such/folder/page.html"], "--output: expected a file in a folder that exists"),
        (["-o", "."], "--output: expected a file name"),
    ],
)
def test_what_cannot_work_is_refused_in_a_line(
    arguments: list[str],
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(EXAMPLE), *arguments]) == 2
    said = capfd.readouterr().err
    assert expected in said
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


# From ten ticks on, so that half an iteration is not rounded away.
@given(st.tuples(*[st.floats(-5, 6)] * 2).map(lambda powers: [10**power for power in powers]))
def test_a_browser_can_draw_what_is_shown_however_much_faster_one_job_is(iterations_ms: list[float]) -> None:
    jobs = tuple(cc.Job(f"j{k}", ms, [cc.Phase(0, ms / 2, 30)]) for k, ms in enumerate(iterations_ms))
    (link,) = timeline_data([PlacedLink("l", 50, jobs, {}, (), None, 1.0)], 2)["links"]
    assert sum(3 * link["window"] / (ms * 1e6) for ms in iterations_ms) <= 2 * MOST_EVENTS
    assert link["window"] >= 1
