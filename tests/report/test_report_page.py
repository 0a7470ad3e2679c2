"""The page in a browser: sliders move the numbers to what the kernel says, on any screen, light or dark."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import cassini_core as cc
from cassini_core.formats import score_text
from cassini_core.plots.placed_links import PlacedLink, placed_links
from cassini_core.report.page import report_page
from chromium import Browser
from pages import ROOT

HOSTILE = (
    "</script><script>document.title = 'broken'</script>",
    "<!--<script>",
    '"><img src=x onerror="document.title = `broken`">',
    "&lt;b&gt; $title ${1} `",
    "مهمة א",
)


class Shown(NamedTuple):
    """A page that was written, and what it is of."""

    file: Path
    links: tuple[PlacedLink, ...]
    ranking: cc.Ranking


def write(problem: cc.Problem, file: Path) -> Shown:
    ranking = cc.rank(problem)
    file.write_bytes(report_page(problem, ranking))
    assert ranking.best is not None
    return Shown(file, placed_links(problem, ranking, ranking.best), ranking)


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """The page of the example."""
    return write(cc.load_problem(ROOT / "examples/three-racks.json"), tmp_path_factory.mktemp("report") / "page.html")


@pytest.fixture
def page(chromium: Browser, example: Shown) -> Browser:
    """That page as it is opened on a desk."""
    chromium.show(1280, 900)
    chromium.open(example.file)
    return chromium


def text(page: Browser, selector: str) -> str:
    """What a person reads there."""
    return str(page.evaluate(f"document.querySelector({json.dumps(selector)}).innerText"))


def chosen(page: Browser, shown: Shown) -> PlacedLink:
    """The link whose demand is drawn."""
    return shown.links[int(page.evaluate("document.getElementById('link').value"))]


def sliders(page: Browser) -> dict[str, float]:
    """Job and shift, ms, as they stand beside the sliders."""
    rows = "[...document.querySelectorAll('.slider')]"
    read = "[row.querySelector('label').textContent, row.querySelector('[type=number]').valueAsNumber]"
    return dict(page.evaluate(f"{rows}.map(row => {read})"))


def exact(link: PlacedLink, shifts_ms: Mapping[str, float]) -> float:
    return cc.score_link(link.jobs, link.capacity_gbps, shifts_ms)


def test_at_first_the_numbers_are_those_of_the_ranking(page: Browser, example: Shown) -> None:
    link, best = chosen(page, example), example.ranking.best
    assert best is not None
    assert best.score is not None
    assert link.score is not None
    assert sliders(page) == {job.id: best.shifts_ms[job.id] for job in link.jobs}
    assert text(page, "#score") == score_text(link.score) == score_text(exact(link, sliders(page)))
    assert text(page, "#mean") == score_text(best.score)
    assert text(page, "#worst").split() == [score_text(example.links[0].score or 0.0), example.links[0].id]


def test_a_key_moves_a_slider_and_all_numbers_follow(page: Browser, example: Shown) -> None:
    link = chosen(page, example)
    before = sliders(page)
    drawn = page.evaluate("document.getElementById('chart').innerHTML")
    page.evaluate("document.querySelectorAll('.slider [type=range]')[1].focus()")
    page.press("ArrowLeft", 400)
    after = sliders(page)
    moved = link.jobs[1].id
    assert after[moved] == pytest.approx(before[moved] - 40, abs=0.1)
    score = exact(link, after)
    assert score < 0.95
    assert text(page, "#score") == score_text(score)
    assert float(text(page, "#excess").split()[0]) == pytest.approx((1 - score) * link.capacity_gbps, abs=1e-4)
    # The two jobs meet on all four links, and on no other.
    assert text(page, "#worst").split()[0] == score_text(score)
    placed = 7
    others = [min(one.score or 0 for one in example.links if job in one.jobs) for job in example.links[0].jobs]
    assert float(text(page, "#mean")) == pytest.approx((2 * score + sum(others) + placed - 4) / placed, abs=1e-4)
    page.evaluate("new Promise(requestAnimationFrame)")
    assert page.evaluate("document.getElementById('chart').innerHTML") != drawn


def test_a_number_that_is_typed_counts_to_the_nanosecond(page: Browser, example: Shown) -> None:
    link = chosen(page, example)
    page.evaluate("document.querySelector('.slider [type=number]').select()")
    page.call("Input.insertText", text="33.123457")
    shifts = sliders(page)
    assert shifts[link.jobs[0].id] == 33.123457
    assert page.evaluate("document.querySelector('.slider [type=range]').valueAsNumber") == 33.1
    assert text(page, "#score") == score_text(exact(link, shifts))


def test_reset_and_all_at_0(page: Browser, example: Shown) -> None:
    link = chosen(page, example)
    ranked = sliders(page)
    page.evaluate("document.getElementById('all-zero').click()")
    assert set(sliders(page).values()) == {0.0}
    assert text(page, "#score") == score_text(exact(link, {})) != score_text(link.score or 0.0)
    page.evaluate("document.getElementById('as-ranked').click()")
    assert sliders(page) == ranked
    assert text(page, "#score") == score_text(link.score or 0.0)


def test_another_link_is_chosen_by_its_name_or_in_the_list(page: Browser, example: Shown) -> None:
    page.evaluate("document.querySelector('a[data-link=\"0\"]').click()")
    first = example.links[0]
    assert chosen(page, example) is first
    assert list(sliders(page)) == [job.id for job in first.jobs]
    assert first.free_jobs
    assert "equally often" in text(page, "#chart-note")
    assert text(page, "#score") == score_text(first.score or 0.0)
    page.evaluate("document.getElementById('link').focus()")
    page.press("End")
    assert chosen(page, example) is example.links[-1]
    assert text(page, "#score") == score_text(example.links[-1].score or 0.0)


def test_where_the_ranking_knows_less_the_page_says_so(chromium: Browser, example: Shown, tmp_path: Path) -> None:
    """Beyond limits of size a ranking has the lower end of a score; the page computes one at a time, and has more."""
    best = example.ranking.best
    assert best is not None
    less = tuple(replace(link, score=(link.score or 0.0) - 0.1) for link in best.links[:1])
    knows_less = replace(best, links=(*less, *best.links[1:]))
    ranking = replace(example.ranking, best=knows_less, candidates=(knows_less, *example.ranking.candidates[1:]))
    file = tmp_path / "page.html"
    file.write_bytes(report_page(cc.load_problem(ROOT / "examples/three-racks.json"), ranking))
    chromium.open(file)
    assert text(chromium, "#less").startswith("Of 1 link the ranking knows only the lower end")
    assert text(chromium, "#mean") == score_text(best.score or 0.0)
    chromium.open(example.file)
    assert text(chromium, "#less") == ""


def test_each_job_has_a_colour_and_a_texture_of_its_own(page: Browser) -> None:
    patterns = page.evaluate("[...document.querySelectorAll('#chart pattern')].map(one => one.innerHTML)")
    assert len(set(patterns)) == len(patterns)
    colourless = [re.sub(r'fill="#\w+"', "", pattern) for pattern in patterns]
    assert len(set(colourless)) == len(patterns)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_any_screen_in_the_light_and_in_the_dark(chromium: Browser, example: Shown, width: int, scheme: str) -> None:
    chromium.show(width, 844, scheme=scheme)
    chromium.open(example.file)
    assert chromium.evaluate("document.documentElement.scrollWidth") == width
    assert chromium.evaluate(WIDEST) <= width
    assert chromium.evaluate(LOWEST_CONTRAST) >= 4.5
    assert chromium.evaluate("getComputedStyle(document.body).backgroundColor") == (
        "rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 28)"
    )
    if width == 390:
        touched = "[...document.querySelectorAll('input, select, button')].map(one => one.offsetHeight)"
        assert min(chromium.evaluate(touched)) >= 44


WIDEST = """Math.max(...[...document.querySelectorAll("body *:not(.scroll *)")].map(
  (element) => element.getBoundingClientRect().right))"""

# WCAG 2: relative luminance, and the ratio of what is written to what it stands on.
LOWEST_CONTRAST = """(() => {
  const luminance = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map(Number).map((c) => c / 255)
      .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    const colour = getComputedStyle(element).backgroundColor;
    return colour === "rgba(0, 0, 0, 0)" ? ground(element.parentElement) : colour;
  };
  const written = "p, a, dt, dd, td, th, caption, figcaption, label, button, select, input, small, .mark, h1, h2, li";
  const ratios = [...document.querySelectorAll(written)]
    .filter((element) => element.checkVisibility())
    .map((element) => [luminance(getComputedStyle(element).color), luminance(ground(element))])
    .map(([one, other]) => (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05));
  return Math.min(...ratios);
})()"""


def test_the_page_complains_of_nothing_and_asks_for_nothing(page: Browser, example: Shown) -> None:
    page.evaluate("document.getElementById('all-zero').click()")
    assert page.complaints == []
    assert page.requests == [example.file.as_uri()]


def test_no_network_is_allowed(page: Browser) -> None:
    refused = "fetch('https://localhost/').then(() => 'asked', () => 'refused')"
    assert page.evaluate(refused) == "refused"
    assert any("Content Security Policy" in complaint for complaint in page.complaints)


def hostile_problem() -> cc.Problem:
    burst = [cc.Phase(0, 40, 45)]
    jobs = [cc.Job(f"{name} {k}", 100, burst) for k, name in enumerate(HOSTILE)]
    links = [cc.Link(name, 50) for name in HOSTILE]
    route = {job.id: HOSTILE for job in jobs}
    return cc.Problem(jobs, links, [cc.Candidate(name, route) for name in HOSTILE])


def test_hostile_ids_are_shown_as_the_text_that_they_are(chromium: Browser, tmp_path: Path) -> None:
    shown = write(hostile_problem(), tmp_path / "page.html")
    chromium.open(shown.file)
    assert chromium.complaints == []
    assert "broken" not in str(chromium.evaluate("document.title")).partition(" - ")[2]
    assert list(sliders(chromium)) == sorted(f"{name} {k}" for k, name in enumerate(HOSTILE))
    for part in ("#candidates tbody bdi", "#links tbody a bdi"):
        texts = chromium.evaluate(f"[...document.querySelectorAll('{part}')].map(one => one.textContent)")
        assert sorted(texts) == sorted(HOSTILE)
    assert chromium.evaluate("document.querySelectorAll('img').length") == 0
    assert chromium.evaluate("document.querySelectorAll('script').length") == 2


def test_without_scripts_the_tables_are_there(chromium: Browser, example: Shown) -> None:
    chromium.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        chromium.open(example.file)
        assert "sliders need scripts" in text(chromium, "noscript")
        assert chromium.evaluate("document.querySelector('#workbench').checkVisibility()") is False
        assert "vgg16-b" in text(chromium, "#shifts")
    finally:
        chromium.call("Emulation.setScriptExecutionDisabled", value=False)


def records(page: Browser, table: str) -> list[list[Any]]:
    """The cells of a table."""
    rows = f"[...document.querySelectorAll('{table} tbody tr')]"
    return list(page.evaluate(f"{rows}.map(row => [...row.children].map(cell => cell.innerText))"))


def test_the_tables_say_what_the_ranking_says(page: Browser, example: Shown) -> None:
    ranked = [(row[0].split()[1], row[1]) for row in records(page, "#candidates")]
    assert ranked == [(one.id, score_text(one.score or 0.0)) for one in example.ranking]
    assert [row[0] for row in records(page, "#links")] == [link.id for link in example.links]
    shifts = {row[0].split()[0]: row[1] for row in records(page, "#shifts")}
    assert shifts["vgg16-b"] == "127.536"
    assert shifts["resnet50-b"] == "does not matter"
    assert {row[0].split()[0] for row in records(page, "#shifts") if "elsewhere" in row[0]} == {"vgg16-b", "resnet50-b"}
