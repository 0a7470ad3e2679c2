"""What the kernel counts in this process's network namespace."""

from __future__ import annotations

from pathlib import Path

__all__ = ["read"]


def read() -> tuple[int, int]:
    """Packets that came with the mark of congestion (CE), and segments sent again, since the namespace was made."""
    marks = _value(Path("/proc/self/net/netstat"), "IpExt:", "InCEPkts")
    return marks, _value(Path("/proc/self/net/snmp"), "Tcp:", "RetransSegs")


def _value(file: Path, group: str, name: str) -> int:
    names: list[str] = []
    for line in file.read_text().splitlines():
        if line.startswith(group):
            words = line.split()
            if names:
                return int(words[names.index(name)])
            names = words
    raise OSError(f"{file}: expected {group} {name}, found none")
