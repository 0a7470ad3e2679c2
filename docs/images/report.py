"""Draws the pictures of docs/report.md with Chromium: ``PYTHONPATH=tests/support python docs/images/report.py``."""

from __future__ import annotations

import base64
import tempfile
from pathlib import Path

import cassini_core as cc
from cassini_core.report.page import report_page
from chromium import Browser, browser

HERE = Path(__file__).resolve().parent
PROBLEM = HERE.parents[1] / "examples/three-racks.json"

MOVE_A_JOB = """(() => {
  const slider = document.querySelectorAll(".slider [type=range]")[1];
  slider.value = 85;
  slider.dispatchEvent(new Event("input"));
  return new Promise(requestAnimationFrame);
})()"""


def timeline(page: Browser) -> bytes:
    """PNG of the timeline, as wide as the screen."""
    edge = "document.getElementById('timeline').getBoundingClientRect().{} + scrollY"
    begin, end = page.evaluate(edge.format("top")) - 16, page.evaluate(edge.format("bottom")) + 12
    clip = {"x": 0, "y": begin, "width": page.evaluate("innerWidth"), "height": end - begin, "scale": 1}
    answer = page.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
    return base64.b64decode(answer["data"])


def main() -> None:
    """On a desk in the light, on a phone in the dark."""
    problem = cc.load_problem(PROBLEM)
    with tempfile.TemporaryDirectory() as folder, browser() as page:
        file = Path(folder) / "page.html"
        file.write_bytes(report_page(problem, cc.rank(problem)))
        page.show(1000, 800)
        page.open(file)
        page.evaluate(MOVE_A_JOB)
        (HERE / "report-timeline.png").write_bytes(timeline(page))
        page.show(390, 844, scheme="dark")
        page.open(file)
        page.evaluate(MOVE_A_JOB)
        (HERE / "report-dark.png").write_bytes(timeline(page))


if __name__ == "__main__":
    main()
