"""Who may ask: tokens from files that nobody else can read, and certificates."""

from __future__ import annotations

import hashlib
import hmac
import os
import ssl
import stat
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Access", "ConfigError", "read_token", "server_tls"]

LEAST_TOKEN_CHARACTERS = 16
MAX_TOKEN_BYTES = 4096
ANY_NAME = "*"
"""Instead of the names of certificates: whoever has one of the authority's may send schedules."""


class ConfigError(ValueError):
    """The daemon cannot start like this; the message says what to change."""


def read_token(path: Path) -> str:
    """The token in a file.

    Raises
    ------
    ConfigError
        Somebody other than its owner could read or change the file, the owner is neither root nor this user, or the
        token is too short to withstand guessing.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ConfigError(f"{path}: expected a regular file")
        if status.st_uid not in (0, os.geteuid()):
            raise ConfigError(f"{path}: expected root or this user as the owner, got user {status.st_uid}")
        if open_to := stat.S_IMODE(status.st_mode) & _forbidden(path):
            raise ConfigError(
                f"{path}: expected no access for group and others (chmod 600), got {open_to:03o} too much"
            )
        token = os.read(descriptor, MAX_TOKEN_BYTES).strip()
    finally:
        os.close(descriptor)
    if len(token) < LEAST_TOKEN_CHARACTERS or not token.isascii() or len(token.split()) != 1:
        raise ConfigError(f"{path}: expected a token of at least {LEAST_TOKEN_CHARACTERS} printable ASCII characters")
    return token.decode("ascii")


def _forbidden(path: Path) -> int:
    # Credentials of systemd are let in by an access list, whose mask shows as the rights of the group.
    credentials = os.environ.get("CREDENTIALS_DIRECTORY")
    return 0o037 if credentials and path.parent == Path(credentials) else 0o077


def server_tls(certificate: Path, key: Path, client_ca: Path | None, client_required: bool) -> ssl.SSLContext:
    """TLS 1.2 or newer; clients show a certificate of ``client_ca``, or must.

    Raises
    ------
    ConfigError
        A file is missing or is not what it should be.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key)
        if client_ca is not None:
            context.load_verify_locations(client_ca)
            context.verify_mode = ssl.CERT_REQUIRED if client_required else ssl.CERT_OPTIONAL
    except OSError as error:  # ssl.SSLError is one
        raise ConfigError(f"TLS: {certificate}, {key}, {client_ca}: {error}") from None
    return context


@dataclass(frozen=True, slots=True)
class Access:
    """Decides by token or certificate.

    Attributes
    ----------
    token : str or None
        May all.
    read_token : str or None
        May read only: for Prometheus and for who watches.
    certificate_names : collection of str
        Names a client's certificate may have: a DNS name or URI, or the common name of one that has neither. With
        ``"*"`` any that the authority signed.
    """

    token: str | None = field(default=None, repr=False)
    read_token: str | None = field(default=None, repr=False)
    certificate_names: Collection[str] = ()

    def knows(self, certificate: dict[str, Any] | None) -> bool:
        """Whether the peer's verified certificate, if it has shown one, may all."""
        if not certificate:
            return False
        return ANY_NAME in self.certificate_names or not _names(certificate).isdisjoint(self.certificate_names)

    def allows(self, authorization: str, reading: bool) -> bool:
        """Whether a request may pass, given its ``Authorization``."""
        kind, _, given = authorization.partition(" ")
        # All comparisons are made, each in constant time: how long it took says nothing.
        may_all = _same(given, self.token)
        may_read = _same(given, self.read_token) and reading
        return kind.lower() == "bearer" and (may_all or may_read)


def _same(given: str, expected: str | None) -> bool:
    digests = [hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest() for text in (given, expected or "")]
    return hmac.compare_digest(*digests) and expected is not None


def _names(certificate: dict[str, Any]) -> set[str]:
    alternative = certificate.get("subjectAltName", ())
    if alternative:  # which authorities vouch for; some let who asks choose the common name
        return {value for kind, value in alternative if kind in ("DNS", "URI")}
    return {value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"}
