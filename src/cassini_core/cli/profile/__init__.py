"""``cassini-core profile``: from measurements of a training job to its iteration time and traffic phases."""

from __future__ import annotations

from cyclopts import App

from .counters import counters
from .kineto import kineto

__all__ = ["profile"]

profile = App(name="profile", sort_key=3, help="Derive a job file (iteration time, traffic phases) from measurements.")

profile.command(kineto, usage="Usage: cassini-core profile kineto TRACE [MORE-TRACES] -o JOB.json [OPTIONS]")
profile.command(counters, usage="Usage: cassini-core profile counters RECORDING -o JOB.json [OPTIONS]")
