"""Where a daemon is, and what it is shown; a token does not leave this host in the clear unless that is allowed."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

__all__ = ["Endpoint", "is_this_host"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a job's daemon is.

    Attributes
    ----------
    url : str
        ``http://host:port`` or ``https://...``.
    token : str or None
        Sent as ``Authorization: Bearer``.
    tls : ssl.SSLContext or None
        With the certificates for ``https``; one with a client certificate for mutual TLS.
    plain_http : bool
        The token may cross the network in the clear, because the network is trusted.

    Raises
    ------
    ValueError
        No such address; or a token would leave this host in the clear, and ``plain_http`` does not say that it may.
    """

    url: str
    token: str | None = field(default=None, repr=False)
    tls: Any = field(default=None, repr=False)
    plain_http: bool = False

    def __post_init__(self) -> None:
        parts = _split(self.url)
        if parts is None:
            raise ValueError(f"url: expected http://host:port or https://host:port, got {self.url!r}")
        scheme, host = parts
        if self.token is not None and scheme == "http" and not self.plain_http and not is_this_host(host):
            raise ValueError(
                f"url: expected https:// or an address of this host, got {self.url!r}: "
                "a token would cross the network in the clear (plain_http=True where it is trusted)"
            )


def _split(url: str) -> tuple[str, str] | None:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        return None
    return parts.scheme, parts.hostname


def is_this_host(host: str) -> bool:
    """Whether what is sent there stays on this host."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
