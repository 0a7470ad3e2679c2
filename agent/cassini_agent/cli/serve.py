"""``cassini-agent serve`` and ``check-config``."""

from __future__ import annotations

from ..daemon.config import Config

__all__ = ["check_config", "serve"]


def serve(*, options: Config = Config()) -> None:  # noqa: B008  cyclopts fills it in; it is frozen
    """Run the daemon of this server until SIGTERM.

    It passes schedules to the jobs and measurements to the scheduler. Jobs never wait for it.
    """
    from ..daemon.service import run

    run(options)


def check_config(*, options: Config = Config()) -> None:  # noqa: B008
    """Say whether serve would start with the same options, and change nothing."""
    access, tls = options.check()
    ways = [
        word
        for word, there in (
            ("token", access.token is not None),
            ("read-only token", access.read_token is not None),
            ("client certificate", options.tls_client_ca is not None),
        )
        if there
    ]
    print(f"fine: {'https' if tls else 'http'}://{options.host}:{options.port}, access by {', '.join(ways)}")
