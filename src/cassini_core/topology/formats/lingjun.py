"""The topology of Alibaba's Lingjun data set (2023): a CSV file with the access, pod and core switch of each host."""

from __future__ import annotations

import csv
import itertools

from ...errors import refusal, shown
from ..model import Topology
from .tree import topology_of

__all__ = ["IS_LINGJUN", "topology_from_csv"]

IS_LINGJUN = "ip,DSW,PSW,ASW"
"""The first line."""


def topology_from_csv(text: str) -> Topology:
    """The network of a ``topo.csv``.

    Names of switches repeat under different parents in the data set, so a switch is called by its path:
    ``G6/P10/S14``.

    Raises
    ------
    InputError
        A row lacks a field, or a host is given twice.
    """
    below: dict[str, dict[str, None]] = {}
    hosts: set[str] = set()
    rows = csv.reader(text.split("\n"))
    try:
        for number, row in enumerate(rows, start=1):
            if number == 1 or not row:
                continue
            if len(row) != 4 or not all(row) or "/" in "".join(row[1:]):  # it stands between the names in a path
                raise refusal("", f"line {number}", IS_LINGJUN, shown(",".join(row)))
            host, core, pod, access = row
            if host in hosts:
                raise refusal("", f"line {number}", "each host once", f"{shown(host)} again")
            hosts.add(host)
            names = [core, f"{core}/{pod}", f"{core}/{pod}/{access}", host]
            for above, under in itertools.pairwise(names):
                below.setdefault(above, {})[under] = None
    except csv.Error as error:
        raise refusal("", "", "CSV", f"the error {shown(str(error))}") from None
    return topology_of(below, dict.fromkeys(hosts))
