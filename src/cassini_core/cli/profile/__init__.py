"""``cassini-core profile``: job files (iteration time, traffic phases) made, shown and compared."""

from __future__ import annotations

from cyclopts import App, Parameter

from ..options import plainly
from .counters import counters
from .fit import fit
from .kineto import kineto
from .model import model
from .show import show
from .workload import workload

__all__ = ["profile"]

profile = App(
    name="profile",
    sort_key=3,
    help="Job files (iteration time, traffic phases): made from measurements or a model, shown, compared.",
    default_parameter=Parameter(converter=plainly),
)

profile.command(kineto, usage="Usage: cassini-core profile kineto TRACE [MORE-TRACES] -o JOB.json [OPTIONS]")
profile.command(counters, usage="Usage: cassini-core profile counters RECORDING -o JOB.json [OPTIONS]")
profile.command(
    model, usage="Usage: cassini-core profile model --workers N --compute-ms MS --gbps G -o JOB.json [OPTIONS]"
)
profile.command(workload, usage="Usage: cassini-core profile workload FILE --gbps G -o JOB.json [OPTIONS]")
profile.command(show, usage="Usage: cassini-core profile show JOB.json [OPTIONS]")
profile.command(fit, usage="Usage: cassini-core profile fit A.json B.json [OPTIONS]")
