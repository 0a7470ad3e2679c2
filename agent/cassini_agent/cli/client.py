"""Where daemons are and how they know the caller, and one request to one of them."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from ..daemon.access import read_token
from ..endpoint import Endpoint
from ..requests import Reply, Transport
from .errors import AnswerError, UsageError

__all__ = ["Access", "Daemon"]

TIMEOUT_S = 10.0


@Parameter(name="*")
@dataclass(frozen=True)
class Access:
    """How daemons know the caller."""

    token_file: Annotated[Path | None, Parameter(help="File with the token, readable by its owner only.")] = None
    ca: Annotated[Path | None, Parameter(help="Authority of the daemon's certificate.")] = None
    certificate: Annotated[Path | None, Parameter(help="Certificate to show, where mutual TLS is used.")] = None
    key: Annotated[Path | None, Parameter(help="Key of that certificate.")] = None
    plain_http: Annotated[
        bool, Parameter(negative=(), help="Let the token cross the network in the clear: only where it is trusted.")
    ] = False

    def files(self) -> tuple[Path | None, ...]:
        """What :meth:`endpoint` reads."""
        return self.token_file, self.ca, self.certificate, self.key

    def endpoint(self, url: str) -> Endpoint:
        """A daemon at this address.

        Raises
        ------
        UsageError
            The token or a certificate cannot be read, the address is none, or a token would cross the network in the
            clear.
        """
        token = None if self.token_file is None else read_token(self.token_file)
        try:
            return Endpoint(url, token, _tls(self) if url.startswith("https://") else None, self.plain_http)
        except ValueError as error:
            raise UsageError(str(error).replace("plain_http=True", "--plain-http")) from None


@Parameter(name="*")
@dataclass(frozen=True)
class Daemon(Access):
    """Where the daemon is and how it knows the caller."""

    url: Annotated[str, Parameter(help="The daemon's address.")] = "http://127.0.0.1:9311"

    def ask(self, request: Callable[[Transport, Endpoint], Awaitable[Reply]]) -> dict[str, Any]:
        """The JSON object that the daemon answers; the token may have been replaced since it was asked last.

        Raises
        ------
        UsageError
            As :meth:`Access.endpoint`.
        AnswerError
            It refused, or is not there.
        """
        from ..http_transport import HttpTransport  # loads aiohttp

        endpoint = self.endpoint(self.url)

        async def asked() -> Reply:
            async with HttpTransport(TIMEOUT_S) as http:
                return await request(http, endpoint)

        try:
            reply = asyncio.run(asked())
        except (OSError, TimeoutError) as error:
            raise AnswerError(f"{self.url}: {str(error) or f'no answer within {TIMEOUT_S:g} s'}") from None
        if reply.status != 200:
            said = ": ".join(str(reply.body[key]) for key in ("reason", "error") if key in reply.body)
            raise AnswerError(f"{self.url}: {reply.status} {said}".rstrip(), _exit_status(reply.status))
        return dict(reply.body)


def _tls(access: Access) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=access.ca)
        if access.certificate is not None:
            context.load_cert_chain(access.certificate, access.key)
    except OSError as error:
        raise UsageError(f"--ca, --certificate, --key: {error}") from None
    return context


def _exit_status(code: int) -> int:
    return 2 if code in (400, 401, 404, 409, 413) else 1
