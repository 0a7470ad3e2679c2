"""``cassini-agent serve`` and ``check-config``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from .errors import UsageError

if TYPE_CHECKING:
    from ..daemon.config import Config

__all__ = ["Options", "check_config", "serve"]


def _help(text: str) -> Parameter:
    return Parameter(help=text)


@Parameter(name="*")
@dataclass(frozen=True)
class Options:
    """Options of the daemon."""

    socket: Annotated[Path, _help("Unix socket the jobs connect to.")] = Path("/run/cassini-agent/agent.sock")
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
        tuple[str, ...],
        Parameter(help="Name such a certificate must have (DNS name or URI); may be repeated; * for any."),
    ] = ()
    plain_http: Annotated[
        bool, Parameter(negative=(), help="Let tokens cross the network in the clear: only where it is trusted.")
    ] = False
    state_directory: Annotated[
        Path | None, _help("Folder for what must outlive the daemon: newest versions, schedules, owners.")
    ] = None
    log_file: Annotated[Path | None, _help("Where the log goes; default stderr. SIGHUP reopens it.")] = None
    log_level: Annotated[Literal["debug", "info", "warning", "error"], _help("What is logged.")] = "info"
    counters: Annotated[Literal["auto", "off"], _help("Counters of the network ports: watched, or not.")] = "auto"
    rdma_port: Annotated[
        tuple[str, ...], _help("RDMA port to watch, mlx5_0 or mlx5_0/1; may be repeated. Default: all that are active.")
    ] = ()
    net_device: Annotated[
        tuple[str, ...],
        _help("Network device to watch; may be repeated. Default: of the default routes where no RDMA port is active."),
    ] = ()
    port_file: Annotated[Path | None, _help("File to write the port to, once it listens.")] = None


def serve(*, options: Options = Options()) -> None:
    """Run the daemon of this server until SIGTERM.

    It passes schedules to the jobs and measurements to the scheduler. Jobs never wait for it.
    """
    from ..daemon.service import run

    run(_config(options))


def check_config(*, options: Options = Options()) -> None:
    """Say whether serve would start with the same options, and change nothing."""
    config = _config(options)
    access, tls = config.check()
    ways = [
        word
        for word, there in (
            ("token", access.token is not None),
            ("read-only token", access.read_token is not None),
            ("client certificate", config.tls_client_ca is not None),
        )
        if there
    ]
    print(f"fine: {'https' if tls else 'http'}://{config.host}:{config.port}, access by {', '.join(ways)}")


def _config(options: Options) -> Config:
    from ..daemon.config import Config

    if not 0 <= options.port <= 65535:
        raise UsageError(f"--port: expected 0 to 65535, got {options.port}")
    values = dict(vars(options))
    for option in ("tls_client_name", "rdma_port", "net_device"):
        values[option + "s"] = values.pop(option)
    return Config(**values)
