"""What the daemon is told when it starts, and whether that is safe."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from ..endpoint import is_this_host
from ..local_link import DEFAULT_SOCKET
from .access import Access, ConfigError, read_token, server_tls

__all__ = ["Config"]

MAX_SOCKET_PATH_BYTES = 107
"""Of ``sockaddr_un`` on Linux, without the zero at the end."""


def _help(text: str) -> Parameter:
    return Parameter(help=text)


@Parameter(name="*")
@dataclass(frozen=True)
class Config:
    """All options of ``cassini-agent serve``."""

    socket: Annotated[Path, _help("Unix socket the jobs connect to.")] = Path(DEFAULT_SOCKET)
    host: Annotated[str, _help("Address to listen on for the scheduler.")] = "127.0.0.1"
    port: Annotated[int, _help("Port; 0 lets the system choose.")] = 9311
    token_file: Annotated[Path | None, _help("File with the token that may all; for its owner's eyes only.")] = None
    read_token_file: Annotated[Path | None, _help("File with another token, which may read only.")] = None
    tls_certificate: Annotated[Path | None, _help("Certificate chain (PEM) of this daemon.")] = None
    tls_key: Annotated[Path | None, _help("Its key (PEM).")] = None
    tls_client_ca: Annotated[
        Path | None, _help("Authority of certificates that may all, without a token: those of --tls-client-name.")
    ] = None
    tls_client_name: Annotated[
        tuple[str, ...], _help("Name such a certificate must have (DNS name or URI); may be repeated; * for any.")
    ] = ()
    plain_http: Annotated[
        bool, Parameter(negative=(), help="Let tokens cross the network in the clear: only where it is trusted.")
    ] = False
    state_directory: Annotated[
        Path | None, _help("Folder for what must outlive the daemon: newest versions, schedules, owners.")
    ] = None
    counters: Annotated[Literal["auto", "off"], _help("Counters of the network ports: watched, or not.")] = "auto"
    rdma_port: Annotated[
        tuple[str, ...], _help("RDMA port to watch, mlx5_0 or mlx5_0/1; may be repeated. Default: all that are active.")
    ] = ()
    net_device: Annotated[
        tuple[str, ...],
        _help("Network device to watch; may be repeated. Default: of the default routes where no RDMA port is active."),
    ] = ()
    port_file: Annotated[Path | None, _help("File to write the port to, once it listens.")] = None

    def check(self, opens_socket: bool = True) -> tuple[Access, ssl.SSLContext | None]:
        """Read tokens and certificates; the path of the socket counts if the daemon is to open it.

        Raises
        ------
        ConfigError
            Somebody could get in, or nobody could; or a port or path cannot work.
        """
        if not 0 <= self.port <= 65535:
            raise ConfigError(f"--port: expected 0 to 65535, got {self.port}")
        if opens_socket:
            _check_socket_path(self.socket)
        access, tls = self.credentials()
        if tls is None and not self.plain_http and not is_this_host(self.host):
            raise ConfigError(
                f"--host {self.host}: tokens would cross the network in the clear; "
                "give --tls-certificate and --tls-key, or --plain-http where the network itself is trusted"
            )
        if self.state_directory is not None and not os.access(self.state_directory, os.W_OK | os.X_OK):
            raise ConfigError(f"--state-directory: expected a folder to write to, got {self.state_directory}")
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

    def credential_files(self) -> tuple[Path | None, ...]:
        """What :meth:`credentials` reads."""
        return self.token_file, self.read_token_file, self.tls_certificate, self.tls_key, self.tls_client_ca

    def _access(self) -> Access:
        token = None if self.token_file is None else read_token(self.token_file)
        read = None if self.read_token_file is None else read_token(self.read_token_file)
        if token is None and self.tls_client_ca is None:
            raise ConfigError("--token-file or --tls-client-ca: expected one of them, or nobody could send a schedule")
        if token is not None and token == read:
            raise ConfigError("--read-token-file: expected another token than the one that may all")
        return Access(token, read, frozenset(self.tls_client_name))

    def _tls(self, access: Access) -> ssl.SSLContext | None:
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ConfigError("--tls-certificate and --tls-key: expected both or neither")
        if self.tls_certificate is None or self.tls_key is None:
            if self.tls_client_ca is not None or self.tls_client_name:
                raise ConfigError("--tls-client-ca and --tls-client-name: expected --tls-certificate and --tls-key too")
            return None
        if self.tls_client_name and self.tls_client_ca is None:
            raise ConfigError("--tls-client-name: expected --tls-client-ca too")
        if self.tls_client_ca is not None and not self.tls_client_name:
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
