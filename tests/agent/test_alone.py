"""The agent without cassini-core: what a GPU node has."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

AGENT = Path(__file__).resolve().parents[2] / "agent"

IN_THE_JOB = ("loop", "control", "local_link", "schedule", "job_secret")
ON_THE_SERVER = ("daemon", "cli", "counters", "endpoint", "strict_json")

IMPORT_ALL = """
import importlib, pkgutil, sys

class OnlyStandard:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top != "cassini_agent" and top not in sys.stdlib_module_names:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

if {only_standard}:
    sys.meta_path.insert(0, OnlyStandard())
count = 0
for part in {parts!r}:
    module = importlib.import_module(f"cassini_agent.{{part}}")
    for one in pkgutil.walk_packages(getattr(module, "__path__", ()), module.__name__ + "."):
        if not one.name.endswith("__main__"):
            importlib.import_module(one.name)
            count += 1
print(count)
"""


def run_without(absent: set[str], program: str) -> subprocess.CompletedProcess[str]:
    absence = f"import sys; sys.modules.update(dict.fromkeys({absent!r}))\n"
    return subprocess.run([sys.executable, "-c", absence + program], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(("parts", "only_standard"), [(IN_THE_JOB, True), (ON_THE_SERVER, False)])
def test_all_modules_are_imported_without_the_engine(parts: tuple[str, ...], only_standard: bool) -> None:
    absent = {"cassini_core", "numpy", "networkx", "numba", "scipy", "torch"}
    done = run_without(absent, IMPORT_ALL.format(parts=parts, only_standard=only_standard))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10


@pytest.mark.parametrize(
    ("absent", "said"),
    [
        ("cassini_core", "cassini_core is missing: pip install 'cassini-core[agent]'"),
        ("cyclopts", "cyclopts is missing: pip install 'cassini-core[agent]'"),
        ("cassini_core cyclopts", "cyclopts is missing: pip install 'cassini-agent[daemon]'"),
        ("cassini_core aiohttp", "aiohttp is missing: pip install 'cassini-agent[daemon]'"),
    ],
)
def test_a_verb_says_in_one_line_what_it_lacks(absent: str, said: str) -> None:
    verb = ["serve"] if "aiohttp" in absent else ["interleave", "--daemon=http://127.0.0.1:1", "--link=a=1"]
    done = run_without(set(absent.split()), f"from cassini_agent.cli import main; sys.exit(main({verb!r}))")
    assert (done.returncode, done.stderr) == (2, f"cassini-agent: {said}\n")


def test_both_distributions_have_one_version_and_ask_for_the_same() -> None:
    alone, core = (
        tomllib.loads(path.read_text())["project"]
        for path in (AGENT / "pyproject.toml", AGENT.parent / "pyproject.toml")
    )
    assert alone["version"] == core["version"]
    assert alone["requires-python"] == core["requires-python"]
    assert alone["scripts"]["cassini-agent"] == core["scripts"]["cassini-agent"]
    assert alone["dependencies"] == []
    assert set(alone["optional-dependencies"]["daemon"]) <= {
        *core["dependencies"],
        *core["optional-dependencies"]["agent"],
    }
