"""Build and run every host as README.md says, against the installed wheel, and compare what they print.

Usage: check.py [--dist DIST] [--skip-missing] [--report FILE] [HOST ...]

Hosts are copied out of the checkout, and the wheel is installed in an empty virtual environment: nothing but the wheel
may help. C and C++ are built again against prefixes that ``cmake --install`` makes, without Python.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

HOSTS = Path(__file__).resolve().parent
ROOT = HOSTS.parents[1]
PROBLEM = ROOT / "tests" / "data" / "two-jobs.json"

TOOLS = {
    "C": ("cc", "pkg-config", "valgrind"),
    "C++": ("c++", "cmake", "valgrind"),
    "Go": ("go", "cc", "pkg-config"),
    "Rust": ("cargo", "cc"),
    "Python": (),
}
"""Sections of README.md that are run, and the programs that they need."""

LIBRARY_DIRS = ("lib", "lib64", "lib/x86_64-linux-gnu")
"""Where systems keep libraries below a prefix."""

MISLEADING = ("PYTHON", "PKG_CONFIG", "CGO_", "CASSINI_", "CMAKE_PREFIX", "LD_", "LIBRARY_PATH", "CPATH", "VIRTUAL_ENV")
"""Variables of the caller that could lead to another library than the installed one begin so."""

PATIENCE_S = 900.0


@dataclass(frozen=True)
class Recipe:
    """A section of README.md: lines of shell that build a host and end by running it, and lines that test it."""

    build: str
    run: str
    test: str

    @classmethod
    def from_section(cls, text: str) -> Recipe:
        """The blocks of shell below a heading."""
        blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        *build, run = blocks[0].splitlines()
        return cls("\n".join(build), run, "".join(blocks[1:]))

    def against(self, prefix: Path, library_dir: str) -> Recipe:
        """The same with an installed prefix in place of the Python package."""
        # Debian's CMake does not look in lib64 by itself.
        found_by_itself = library_dir != "lib64"
        package = f"CMAKE_PREFIX_PATH={prefix}" if found_by_itself else f"cassini_DIR={prefix}/lib64/cmake/cassini"
        places = {
            '"$(python -m cassini_core --pkg-config-dir)"': shlex.quote(str(prefix / library_dir / "pkgconfig")),
            '-Dcassini_DIR="$(python -m cassini_core --cmake-dir)"': shlex.quote(f"-D{package}"),
        }
        build = self.build
        for asked, place in places.items():
            build = build.replace(asked, place)
        if "python" in build:
            raise SystemExit(f"README.md: expected lines that do without Python once places are known, got\n{build}")
        return Recipe(build, self.run, self.test)


def read_recipes(readme: str) -> dict[str, Recipe]:
    """The recipes of README.md by the heading they stand below."""
    parts = re.split(r"^## (.+)$", readme, flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    return {name: Recipe.from_section(sections[name]) for name in TOOLS}


def read_output(readme: str) -> str:
    """What every host prints, as README.md shows it."""
    found = re.search(r"^```text\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


@dataclass(frozen=True)
class Outcome:
    """What a host printed, and how long each part took."""

    name: str
    build: str
    output: str
    build_s: float
    run_s: float
    test_s: float


class Workshop:
    """A folder outside the checkout with the hosts and the installed wheel."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.folder = folder
        venv.create(folder / "venv", with_pip=True)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(MISLEADING)}
        self.environment["PATH"] = f"{folder / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        self.environment["CASSINI_ABI_LIST"] = str(ROOT / "csrc" / "abi" / "cassini.abi")
        self.shell(folder, f"python -m pip -qq --disable-pip-version-check install {shlex.quote(str(wheel))}")
        library = Path(self.shell(folder, "python -m cassini_core --library").strip())
        if folder.resolve() not in library.parents:
            raise SystemExit(f"expected the library of the installed wheel, got {library}")

    def shell(self, folder: Path, script: str) -> str:
        """What a script prints; all it said, and the end of this program, where it fails."""
        command = ["bash", "-euo", "pipefail", "-c", script]
        with tempfile.TemporaryFile("w+") as errors:
            done = subprocess.run(
                command,
                cwd=folder,
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                timeout=PATIENCE_S,
            )
            if done.returncode != 0:
                errors.seek(0)
                raise SystemExit(f"{script}\nended with {done.returncode}\n{done.stdout}{errors.read()}")
        return done.stdout

    def try_host(self, name: str, recipe: Recipe, where: str) -> Outcome:
        """Build, run and test a host in a fresh copy."""
        copy = self.folder / where
        ignored = shutil.ignore_patterns("build", "target", "rank", "__pycache__")
        shutil.copytree(HOSTS, copy, ignore=ignored)
        folder = next((line[3:] for line in recipe.build.splitlines() if line.startswith("cd ")), ".")
        began = time.monotonic()
        self.shell(copy, recipe.build)
        built = time.monotonic()
        output = self.shell(copy / folder, recipe.run)
        ran = time.monotonic()
        # What the build exported is wanted by the tests too; building again does nothing.
        self.shell(copy, f"{recipe.build}\n{recipe.test}")
        return Outcome(name, recipe.build, output, built - began, ran - built, time.monotonic() - ran)

    def install_prefix(self, library_dir: str) -> Path:
        """A prefix with the header and the library alone, moved after it was installed."""
        build, made = ROOT / "build" / "prefix", self.folder / "made"
        source, tree, prefix = (shlex.quote(str(path)) for path in (ROOT, build, made))
        self.shell(
            self.folder,
            f"cmake -S {source} -B {tree} -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_LIBDIR={library_dir}\n"
            f"cmake --build {tree} --target cassini --parallel {os.cpu_count()}\n"
            f"cmake --install {tree} --prefix {prefix}",
        )
        return made.rename(self.folder / f"prefix-{library_dir.replace('/', '-')}")


def missing_truth(ranking: Mapping[str, Any], shown: str) -> list[str]:
    """What a ranking of the two jobs alone (``cassini-ranking/1``) says, and the first candidate shown does not."""
    best = ranking["candidates"][0]
    lines = [f"score {best['score'].hex()} ", f"hold {round(best['hold_ms'] * 1e6):8} ns"]
    lines += [
        f"{job}  shift {round(shift * 1e6):9} ns  slack {round(best['slack_ms'][job] * 1e6):8} ns"
        for job, shift in best["shifts_ms"].items()
    ]
    return [line for line in lines if line not in shown.partition("\n2 ")[0]]


def table(outcomes: Sequence[Outcome], shown: str) -> str:
    """The hosts in Markdown."""
    rows = ["| host | build lines | output | build | run | test |", "| --- | --- | --- | ---: | ---: | ---: |"]
    for one in outcomes:
        lines = "<br>".join(f"`{line}`" for line in one.build.splitlines() if not line.startswith("cd "))
        same = "same" if one.output == shown else "DIFFERS"
        rows.append(
            f"| {one.name} | {lines or '-'} | {same} | {one.build_s:.1f} s | {one.run_s:.2f} s | {one.test_s:.1f} s |"
        )
    return "\n".join(rows)


def check(workshop: Workshop, recipes: Mapping[str, Recipe]) -> list[Outcome]:
    """All hosts against the wheel, then C and C++ against prefixes."""
    outcomes = []
    for name, recipe in recipes.items():
        outcomes.append(workshop.try_host(name, recipe, f"wheel-{name}"))
        print(f"{name}: {outcomes[-1].build_s + outcomes[-1].run_s + outcomes[-1].test_s:.1f} s", flush=True)
    installed = [name for name in ("C", "C++") if name in recipes]
    for library_dir in LIBRARY_DIRS if installed else ():
        prefix = workshop.install_prefix(library_dir)
        for name in installed:
            recipe = recipes[name].against(prefix, library_dir)
            outcome = workshop.try_host(f"{name}, {library_dir} of a prefix", recipe, f"{prefix.name}-{name}")
            outcomes.append(replace(outcome, build=outcome.build.replace(str(prefix), "PREFIX")))
            print(f"{outcome.name}: {outcome.build_s + outcome.run_s + outcome.test_s:.1f} s", flush=True)
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description="Build and run every host as README.md says.")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="folder of the wheel")
    parser.add_argument("--skip-missing", action="store_true", help="leave out hosts whose tools are not installed")
    parser.add_argument("--report", type=Path, default=ROOT / "build" / "hosts.md", help="where the table goes")
    parser.add_argument("hosts", nargs="*", metavar="HOST", help=f"of {', '.join(TOOLS)}; all if none is named")
    options = parser.parse_args()
    if unknown := set(options.hosts) - TOOLS.keys():
        raise SystemExit(f"expected hosts of {', '.join(TOOLS)}, got {', '.join(sorted(unknown))}")
    readme = (HOSTS / "README.md").read_text(encoding="utf-8")
    shown, recipes = read_output(readme), read_recipes(readme)
    recipes = {name: recipe for name, recipe in recipes.items() if not options.hosts or name in options.hosts}
    for name in list(recipes):
        if missing := [tool for tool in TOOLS[name] if shutil.which(tool) is None]:
            if not options.skip_missing:
                raise SystemExit(
                    f"{name}: expected {', '.join(missing)} on the PATH; --skip-missing leaves the host out"
                )
            print(f"{name}: left out, no {', '.join(missing)}")
            del recipes[name]
    (wheel,) = options.dist.resolve().glob("cassini_core-*.whl")
    with tempfile.TemporaryDirectory(prefix="hosts-") as folder:
        workshop = Workshop(Path(folder), wheel)
        ranked = workshop.shell(workshop.folder, f"cassini-core rank {shlex.quote(str(PROBLEM))} --json")
        if missing_lines := missing_truth(json.loads(ranked), shown):
            raise SystemExit(f"README.md: expected {missing_lines} of the ranking of {PROBLEM.name}, got\n{shown}")
        outcomes = check(workshop, recipes)
    report = table(outcomes, shown)
    options.report.parent.mkdir(parents=True, exist_ok=True)
    options.report.write_text(f"Every host prints\n\n```text\n{shown}```\n\n{report}\n", encoding="utf-8")
    print(report)
    for one in outcomes:
        if one.output != shown:
            raise SystemExit(f"{one.name}: expected what README.md shows, got\n{one.output}")


if __name__ == "__main__":
    main()
