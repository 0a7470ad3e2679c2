"""Minimal runs with printed numbers: python -m bench.netlab.first [--jitter 0.03] [--seconds 40] MODE ..."""

import argparse, json, random, sys, threading, signal
from . import measures
from .network import clean_up, missing
from .run import Plan, Setting, run

ap = argparse.ArgumentParser()
ap.add_argument("modes", nargs="*", default=["solo", "in-phase", "held"])
ap.add_argument("--jitter", type=float, default=0.0)
ap.add_argument("--flows", type=int, default=8)
ap.add_argument("--per-job", action="store_true")
ap.add_argument("--congestion", default="cubic")
ap.add_argument("--seconds", type=float, default=40)
ap.add_argument("--runs", type=int, default=1)
ap.add_argument("--settle", type=float, default=8)
ap.add_argument("--seed", type=int, default=1)
ap.add_argument("--megabytes", type=float, default=8.4)
ap.add_argument("--marker")
ap.add_argument("--lane", type=int, default=0)
ap.add_argument("--raw")
a = ap.parse_args()
stop = threading.Event()


def ended(*_):
    raise KeyboardInterrupt


signal.signal(signal.SIGTERM, ended)
if m := missing():
    print("missing:", *m, sep="\n  ", file=sys.stderr)
    sys.exit(2)
clean_up()
s = Setting(flows=a.flows, per_job=a.per_job, congestion=a.congestion, jitter=a.jitter, megabytes=a.megabytes)


def show(name, r):
    t0 = next((e["t_ns"] for e in r["events"] if e["what"] == "dispatched"), r["begin_ns"])
    lo, hi = t0 + a.settle * 1e9, r["end_ns"]
    for j, ranks in r["jobs"].items():
        v = measures.spread(measures.durations_ms(ranks[0]["starts_ns"], lo, hi))
        o = [k for k in r["jobs"] if k != j]
        ov = measures.overlap(ranks[0]["communication_ns"], r["jobs"][o[0]][0]["communication_ns"], lo, hi) if o else 0
        n = len(ranks[0]["starts_ns"]) - 1
        g = ranks[0]["agent"]
        print(
            f"{name:10s} {j} " + " ".join(f"{k}={x:.1f}" if k != "n" else f"n={x}" for k, x in v.items()),
            f"overlap={ov:.3f}",
            f"marks/it={sum(x['marks'][-1] - x['marks'][0] for x in ranks) / n:.1f} retrans={sum(x['retransmissions'][-1] - x['retransmissions'][0] for x in ranks)}",
            {k: g[k] for k in ("state", "adjustments", "missed")},
            f"waited={g['delay_total_ns'] / 1e6:.0f}ms",
            flush=True,
        )
    for e in r["events"]:
        print("    ", round((e["t_ns"] - r["begin_ns"]) / 1e9, 2), {k: v for k, v in e.items() if k != "t_ns"})
    if a.raw:
        open(a.raw, "a").write(json.dumps({"name": name, **r}) + "\n")


profile = None


def solo(seconds=30):
    global profile
    r = run(s, Plan({"a": 0.0}, seconds, "solo", agent=True), a.marker, a.lane, stop)
    show("solo", r)
    profile = r["jobs"]["a"][0]["agent"]["profile"]


for k in range(a.runs):
    rng = random.Random(a.seed + k)
    for mode in a.modes:
        if mode == "solo":
            solo()
            continue
        if mode in ("held", "once") and profile is None:
            solo()
        off = 0.0 if mode == "in-phase" else rng.uniform(0, 0.4)
        show(
            mode,
            run(
                s,
                Plan(
                    {"a": 0.0, "b": off},
                    a.seconds,
                    f"{mode} {k}",
                    held=mode if mode in ("held", "once") else "",
                    profiles={"a": profile, "b": profile} if profile else {},
                ),
                a.marker,
                a.lane,
                stop,
            ),
        )
