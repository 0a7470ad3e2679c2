"""``cassini-core plot``: pictures of jobs, links and candidates, and the numbers that they show."""

from __future__ import annotations

from cyclopts import App

from .candidate_pictures import affinity, candidates
from .job_picture import job
from .link_pictures import circles, demand, landscape

__all__ = ["plot"]

plot = App(
    name="plot",
    sort_key=5,
    help="Draw a job, a link or candidates (.png, .svg or .pdf), or print the numbers of the picture.",
)

_USAGE = "Usage: cassini-core plot {} {} -o PICTURE [OPTIONS]"

plot.command(job, usage=_USAGE.format("job", "JOB.json"))
plot.command(circles, usage=_USAGE.format("circles", "FILE"))
plot.command(demand, usage=_USAGE.format("demand", "FILE"))
plot.command(landscape, usage=_USAGE.format("landscape", "FILE"))
plot.command(affinity, usage=_USAGE.format("affinity", "FILE"))
plot.command(candidates, usage=_USAGE.format("candidates", "FILE"))
