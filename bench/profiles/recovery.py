"""Does ``cassini-core profile counters`` find a job in a recording of it, or refuse?

    python -m bench.profiles.recovery [--seeds 200]

Random jobs are played to a counter with what disturbs real recordings (``recordings.py``), and profiled. A profile is
*right* if its iteration time is within 1 % of the true mean (or two standard errors of it, where few iterations that
jitter say no more), its bytes by time within 5 %, and seven tenths of its
traffic lie where the job's lies. What is not right and not refused is *wrong*, whatever warnings say.
"""

from __future__ import annotations

import argparse
import os
import time
from array import array
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.measuring.machine import about
from bench.measuring.progress import Progress
from bench.measuring.tables import table
from bench.profiles.recordings import DISTURBANCES, REFUSED, Played, Truth, play
from cassini_core import InputError, Job
from cassini_core.profiles.counters import profile_counters
from cassini_core.profiles.counters.recording import Channel, Group, Recording, Samples

NAME = "profile-recovery"
OUTCOMES = ("right", "refused", "wrong")


class Trial(NamedTuple):
    """What came of one recording, and why."""

    disturbance: str
    seed: int
    outcome: str
    why: str
    seconds: float


def recording(played: Played) -> Recording:
    """What a reader makes of the file that a sampler would have written."""
    group = Group(
        played.interval_ns,
        (Channel("mlx5_0/1", "tx_bytes", "bytes", False), Channel("mlx5_0/1", "rx_bytes", "bytes", False)),
    )
    samples = Samples(
        group, array("q", played.times_ns), (array("q", played.values), array("q", [0] * len(played.values)))
    )
    return Recording("played", {}, (samples,), "stopped", None)


def attempt(disturbance: str, seed: int) -> Trial:
    """Play, profile and judge one job."""
    played = play(disturbance, seed)
    begin = time.process_time()
    try:
        found = profile_counters(recording(played), job_id="found")
    except InputError as refused:
        return Trial(disturbance, seed, "refused", str(refused), time.process_time() - begin)
    seconds = time.process_time() - begin
    fault = "a job where there is none to be found" if played.truth is None else fault_of(found.job, played.truth)
    said = f"{fault}; {found.job.iteration_ms:.5g} ms; {'; '.join(found.warnings)}" if fault else ""
    return Trial(disturbance, seed, "wrong" if fault else "right", said, seconds)


def fault_of(job: Job, truth: Truth) -> str:
    """What is wrong with a profile; empty if nothing."""
    ratio = job.iteration_ms / truth.iteration_ms
    if abs(ratio - 1) > max(0.01, 2 * truth.error_ms / truth.iteration_ms):
        return f"iteration time {ratio:.4f} of {truth.iteration_ms:.5g} ms"
    mean_gbps = sum(phase.duration_ms * phase.gbps for phase in job.phases) / job.iteration_ms
    if abs(mean_gbps / truth.mean_gbps - 1) > 0.05:
        return f"{mean_gbps / truth.mean_gbps:.3f} of the bytes"
    common = in_place(job, truth)
    return f"{common:.2f} of the traffic in its place" if common < 0.7 else ""


def in_place(job: Job, truth: Truth, bins: int = 1024) -> float:
    """Share of the traffic that both have in common, turned to where that is most."""

    def laid_out(phases: Sequence[tuple[float, float, float]], period_ms: float) -> np.ndarray:
        edges, total = np.arange(bins + 1) * period_ms / bins, np.zeros(bins + 1)
        for start, length, gbps in phases:
            for turn in (-1, 0, 1):
                total += gbps * np.clip(edges - start - turn * period_ms, 0, length)
        return np.diff(total) / period_ms

    one = laid_out([(p.start_ms, p.duration_ms, p.gbps) for p in job.phases], job.iteration_ms)
    other = laid_out(truth.bursts, truth.iteration_ms)
    most = max(float(np.minimum(np.roll(one, turn), other).sum()) for turn in range(bins))
    return most / max(float(one.sum()), float(other.sum()))


def study(seeds: int, disturbances: Sequence[str] = tuple(DISTURBANCES)) -> list[Trial]:
    """All trials, on all cores."""
    progress, trials = Progress(), []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for disturbance in disturbances:
            progress.study(disturbance)
            tasks = pool.map(attempt, [disturbance] * seeds, range(seeds), chunksize=4)
            for done, trial in enumerate(tasks):
                progress.step(done, seeds, "recordings")
                trials.append(trial)
        progress.done()
    return trials


def counted(trials: Sequence[Trial]) -> dict[str, Counter[str]]:
    """Trials by disturbance and outcome."""
    found: dict[str, Counter[str]] = {}
    for trial in trials:
        found.setdefault(trial.disturbance, Counter())[trial.outcome] += 1
    return found


def report(trials: Sequence[Trial], seeds: int, machine: dict[str, str]) -> str:
    """The study as Markdown."""
    rows = []
    for disturbance, counts in counted(trials).items():
        seconds = float(np.median([trial.seconds for trial in trials if trial.disturbance == disturbance]))
        expected = "refused" if disturbance in REFUSED else "right"
        shares = [f"{counts[outcome] / seeds:.1%}" for outcome in OUTCOMES]
        rows.append([disturbance, expected, *shares, f"{seconds:.2f} s"])
    wrong = [f"- {t.disturbance}, seed {t.seed}: {t.why}" for t in trials if t.outcome == "wrong"]
    return "\n".join(
        [
            "# Is a job found again in a recording of its port's counters?\n",
            f"`python -m bench.profiles.recovery --seeds {seeds}`\n",
            "".join(f"- {what}: {said}\n" for what, said in machine.items()),
            f"{seeds} random jobs for each row: one to four bursts in 30 ms to 3 s (kernel's network: 0.2 to 1 s), "
            "10 to 90 % of the time, recorded for 12 to 40 iterations and at least 4 s, every 1 ms (kernel's network: "
            "4 ms). Right: the iteration time within 1 % of the true mean (or two standard errors of it), the bytes by "
            "time within 5 %, and seven tenths of the traffic where the job's is. Wrong: neither right nor refused, "
            "whatever the warnings say. Where the period changes, the last stretch is the job.\n",
            table(["disturbance", "wanted", *OUTCOMES, "median CPU time"], rows),
            f"![Outcomes by disturbance]({NAME}.png)\n",
            *(["## Wrong ones\n", *wrong, ""] if wrong else []),
        ]
    )


def plot(trials: Sequence[Trial], seeds: int, footnote: str, file: Path) -> None:
    """Stacked bars, one per disturbance."""
    from bench.measuring.plots import pyplot, saved

    # Okabe and Ito's palette, and a pattern, so that the parts differ without colour too.
    looks = {"right": ("#0072B2", ""), "refused": ("#E69F00", "//"), "wrong": ("#000000", "")}
    found = counted(trials)
    names = list(found)
    with saved(file, footnote):
        _, axes = pyplot.subplots(figsize=(8, 0.34 * len(names) + 1.4))
        left = np.zeros(len(names))
        for outcome, (colour, hatch) in looks.items():
            widths = np.array([100 * found[name][outcome] / seeds for name in names])
            axes.barh(names, widths, left=left, color=colour, hatch=hatch, edgecolor="white", label=outcome)
            left += widths
        axes.invert_yaxis()
        axes.axhline(len(names) - len(REFUSED) - 0.5, color="0.4", linewidth=0.8, linestyle="--")
        axes.set_xlim(0, 100)
        axes.set_xlabel("recordings, % (below the line there is no period to be found: refusing is right)")
        axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=3)


def main() -> None:
    """Run the study and write its table and plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200, help="recordings for each disturbance")
    parser.add_argument("--only", choices=list(DISTURBANCES), nargs="+", help="these disturbances; nothing is written")
    parser.add_argument("--out", type=Path, default=Path("bench/results"), help="folder for what is written")
    options = parser.parse_args()
    machine = about()
    trials = study(options.seeds, options.only or tuple(DISTURBANCES))
    text = report(trials, options.seeds, machine)
    if options.only:
        print(text)
        return
    (options.out / f"{NAME}.md").write_text(text, encoding="utf-8")
    note = f"{machine['CPU']}; cassini-core {machine['cassini-core']}, commit {machine['commit']}"
    plot(trials, options.seeds, note, options.out / f"{NAME}.png")
    print(text)


if __name__ == "__main__":
    main()
