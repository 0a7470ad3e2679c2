"""Sockets that systemd opened before the daemon and keeps while it restarts: ``sd_listen_fds(3)``.

So the folder and the socket that jobs have found, or that a container has mounted, stay the same ones, and nobody else
can take the port meanwhile.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass

from .access import ConfigError

__all__ = ["Passed", "passed_sockets"]

FIRST = 3
"""Descriptor of the first one, as systemd passes them."""


@dataclass(frozen=True, slots=True)
class Passed:
    """Listening sockets, each None if the daemon is to open its own.

    Attributes
    ----------
    jobs : socket or None
        Unix, ``SOCK_SEQPACKET``.
    http : socket or None
        TCP.
    """

    jobs: socket.socket | None = None
    http: socket.socket | None = None


def passed_sockets() -> Passed:
    """What was passed to this process; taken out of the environment, so that no child takes it for its own.

    Raises
    ------
    ConfigError
        Something that this daemon has no use for.
    """
    pid, many = os.environ.pop("LISTEN_PID", ""), os.environ.pop("LISTEN_FDS", "")
    os.environ.pop("LISTEN_FDNAMES", None)
    if pid != str(os.getpid()) or not (many.isascii() and many.isdecimal()):
        return Passed()
    found: dict[str, socket.socket] = {}
    for number in range(FIRST, FIRST + int(many)):
        try:
            one = socket.socket(fileno=number)
            listens = one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        except OSError as error:
            raise ConfigError(f"passed descriptor {number}: {error.strerror}") from None
        kind = _KINDS.get((one.family, one.type)) if listens else None
        if kind is None or kind in found:
            raise ConfigError(
                f"passed descriptor {number}: expected one listening socket for jobs (ListenSequentialPacket=) and at "
                f"most one for HTTP (ListenStream=), got {one.family.name}, {one.type.name}"
            )
        one.set_inheritable(False)
        one.setblocking(False)
        found[kind] = one
    return Passed(**found)


_KINDS = {
    (socket.AF_UNIX, socket.SOCK_SEQPACKET): "jobs",
    (socket.AF_INET, socket.SOCK_STREAM): "http",
    (socket.AF_INET6, socket.SOCK_STREAM): "http",
}
