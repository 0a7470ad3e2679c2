"""Instructions per call of the kernel's loops, counted by valgrind, against the committed baseline.

Counts are steady where times are not: the same binary and input give the same number whatever else the machine does. A
loop that needs more than ``TOLERANCE`` above its baseline fails. Another compiler makes other instructions: against a
baseline of another compiler the comparison is printed, and nothing fails.

    python bench/kernel/count_instructions.py build/bench/bench/kernel/bench_kernel            compare
    python bench/kernel/count_instructions.py build/bench/bench/kernel/bench_kernel --update   write the baseline
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

BASELINE = Path(__file__).with_name("instructions.json")
TOLERANCE = 0.10


def instructions(program: str, loop: str, count: int) -> int:
    """Instructions of a whole run of ``count`` calls."""
    command = [
        "valgrind",
        "--tool=cachegrind",
        "--cache-sim=no",
        "--cachegrind-out-file=/dev/null",
        program,
        loop,
        str(count),
    ]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    found = re.search(r"I\s+refs:\s+([\d,]+)", out)
    if found is None:
        raise SystemExit(f"count_instructions: no instruction count in valgrind's output:\n{out}")
    return int(found[1].replace(",", ""))


def per_call(program: str, loop: str) -> int:
    """Instructions of one call: the difference of two runs, so that start-up does not count."""
    few, many = 20, 120
    return round((instructions(program, loop, many) - instructions(program, loop, few)) / (many - few))


def compiler() -> str:
    """The C++ compiler's version line."""
    return subprocess.run(["c++", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]


def main() -> int:
    """Compare or update; 1 if a loop got worse."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the bench_kernel binary")
    parser.add_argument("--update", action="store_true", help="write the baseline instead of comparing")
    arguments = parser.parse_args()
    listed = subprocess.run([arguments.program, "--list"], capture_output=True, text=True, check=True).stdout
    counts = {loop: per_call(arguments.program, loop) for loop in listed.split()}
    if arguments.update:
        BASELINE.write_text(json.dumps({"compiler": compiler(), "instructions_per_call": counts}, indent=1) + "\n")
    baseline = json.loads(BASELINE.read_text())
    before = baseline["instructions_per_call"]
    comparable = baseline["compiler"] == compiler()
    worse = 0
    print(f"{'loop':<16} {'instructions':>12} {'baseline':>12} {'ratio':>7}")
    for loop, count in counts.items():
        ratio = count / before[loop] if loop in before else float("nan")
        bad = ratio > 1 + TOLERANCE
        worse += bad
        print(f"{loop:<16} {count:>12,} {before.get(loop, 0):>12,} {ratio:>7.3f}{'  more' if bad else ''}")
    if not comparable:
        print(f"baseline is of {baseline['compiler']}, this is {compiler()}: not judged")
        return 0
    if worse:
        print(f"{worse} loops need over {TOLERANCE:.0%} more instructions than the baseline", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
