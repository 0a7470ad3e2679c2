"""What the daemon is told when it starts, and whether that is safe."""

from __future__ import annotations

import ipaddress
import os
import ssl
from dataclasses import dataclass, field
from pathlib import Path

from .access import Access, ConfigError, read_token, server_tls
from .limits import Limits

__all__ = ["DEFAULT_PORT", "DEFAULT_SOCKET", "Config", "ConfigError"]

DEFAULT_SOCKET = "/run/cassini-agent/agent.sock"
DEFAULT_PORT = 9311
MAX_SOCKET_PATH_BYTES = 107
"""Of ``sockaddr_un`` on Linux, without the zero at the end."""


@dataclass(frozen=True, slots=True)
class Config:
    """All options of ``cassini-agent serve``; its help says what they mean."""

    socket: Path = Path(DEFAULT_SOCKET)
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    token_file: Path | None = None
    read_token_file: Path | None = None
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    tls_client_ca: Path | None = None
    tls_client_names: tuple[str, ...] = ()
    plain_http: bool = False
    state_directory: Path | None = None
    log_file: Path | None = None
    log_level: str = "info"
    counters: str = "auto"
    rdma_ports: tuple[str, ...] = ()
    net_devices: tuple[str, ...] = ()
    port_file: Path | None = None
    limits: Limits = field(default_factory=Limits)

    def check(self, opens_socket: bool = True) -> tuple[Access, ssl.SSLContext | None]:
        """Read tokens and certificates; the path of the socket counts if the daemon is to open it.

        Raises
        ------
        ConfigError
            Somebody could get in, or nobody could; or a path cannot work.
        """
        if opens_socket:
            _check_socket_path(self.socket)
        access, tls = self.credentials()
        if tls is None and not self.plain_http and not _is_loopback(self.host):
            raise ConfigError(
                f"--host {self.host}: tokens would cross the network in the clear; "
                "give --tls-certificate and --tls-key, or --plain-http where the network itself is trusted"
            )
        for option, path in (("--state-directory", self.state_directory), ("--log-file", _folder(self.log_file))):
            if path is not None and not os.access(path, os.W_OK | os.X_OK):
                raise ConfigError(f"{option}: expected a folder to write to, got {path}")
        return access, tls

    def credentials(self) -> tuple[Access, ssl.SSLContext | None]:
        """Read tokens and certificates, which may have been replaced.

        Raises
        ------
        ConfigError
            Somebody could get in, or nobody could.
        """
        access = self._access()
        return access, self._tls(access)

    def credential_files(self) -> list[Path]:
        """What :meth:`credentials` reads."""
        files = (self.token_file, self.read_token_file, self.tls_certificate, self.tls_key, self.tls_client_ca)
        return [file for file in files if file is not None]

    def _access(self) -> Access:
        token = None if self.token_file is None else read_token(self.token_file)
        read = None if self.read_token_file is None else read_token(self.read_token_file)
        if token is None and self.tls_client_ca is None:
            raise ConfigError("--token-file or --tls-client-ca: expected one of them, or nobody could send a schedule")
        if token is not None and token == read:
            raise ConfigError("--read-token-file: expected another token than the one that may all")
        return Access(token, read, frozenset(self.tls_client_names))

    def _tls(self, access: Access) -> ssl.SSLContext | None:
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ConfigError("--tls-certificate and --tls-key: expected both or neither")
        if self.tls_certificate is None or self.tls_key is None:
            if self.tls_client_ca is not None or self.tls_client_names:
                raise ConfigError("--tls-client-ca and --tls-client-name: expected --tls-certificate and --tls-key too")
            return None
        if self.tls_client_names and self.tls_client_ca is None:
            raise ConfigError("--tls-client-name: expected --tls-client-ca too")
        if self.tls_client_ca is not None and not self.tls_client_names:
            raise ConfigError(
                "--tls-client-ca: expected --tls-client-name too, or whoever has a certificate of that authority, "
                "such as a worker, could send schedules (--tls-client-name=* where that is meant)"
            )
        required = access.token is None and access.read_token is None
        return server_tls(self.tls_certificate, self.tls_key, self.tls_client_ca, required)


def _check_socket_path(path: Path) -> None:
    if len(os.fsencode(path)) > MAX_SOCKET_PATH_BYTES:
        raise ConfigError(f"--socket: expected a path of at most {MAX_SOCKET_PATH_BYTES} bytes, got {path}")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise ConfigError(f"--socket: expected a folder to write to, got {path.parent}")


def _folder(path: Path | None) -> Path | None:
    return None if path is None else path.absolute().parent


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
