"""HTTP to one daemon, for the verbs that ask it."""

from __future__ import annotations

import http.client
import json
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from ..endpoint import Endpoint
from .errors import AnswerError, UsageError

__all__ = ["Access", "Client", "Daemon"]

TIMEOUT_S = 10.0
MAX_ANSWER_BYTES = 64 * 1024 * 1024


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

    def endpoint(self, url: str) -> Endpoint:
        """A daemon at this address.

        Raises
        ------
        UsageError
            The token or a certificate cannot be read, the address is none, or a token would cross the network in the
            clear.
        """
        from ..daemon.access import read_token

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


class Client:
    """Asks one daemon.

    Raises
    ------
    UsageError
        As :meth:`Access.endpoint`.
    """

    def __init__(self, daemon: Daemon) -> None:
        endpoint = daemon.endpoint(daemon.url)
        self._url = daemon.url.rstrip("/")
        self._headers = {"Content-Type": "application/json"}
        if endpoint.token is not None:
            self._headers["Authorization"] = f"Bearer {endpoint.token}"
        handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({}), _NoRedirect()]
        if self._url.startswith("https://"):
            handlers.append(urllib.request.HTTPSHandler(context=endpoint.tls))
        self._opener = urllib.request.build_opener(*handlers)

    def ask(self, method: str, path: str, body: bytes | None = None) -> Any:
        """The JSON the daemon answers.

        Raises
        ------
        AnswerError
            It refused, or is not there.
        """
        request = urllib.request.Request(self._url + path, data=body, method=method, headers=self._headers)
        try:
            with self._opener.open(request, timeout=TIMEOUT_S) as answer:
                return json.loads(answer.read(MAX_ANSWER_BYTES))
        except urllib.error.HTTPError as error:
            with error:
                raise AnswerError(f"{self._url}: {error.code} {_said(error)}", _exit_status(error.code)) from None
        except urllib.error.URLError as error:
            raise AnswerError(f"{self._url}: {error.reason}") from None
        except (http.client.HTTPException, OSError, ValueError) as error:
            raise AnswerError(f"{self._url}: {type(error).__name__}: {error}") from None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A token goes to the daemon and to nobody it may name."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _tls(access: Access) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=access.ca)
        if access.certificate is not None:
            context.load_cert_chain(access.certificate, access.key)
    except OSError as error:
        raise UsageError(f"--ca, --certificate, --key: {error}") from None
    return context


def _said(error: urllib.error.HTTPError) -> str:
    try:
        body = json.loads(error.read(64 * 1024))
        return f"{body['reason']}: {body['error']}"
    except (ValueError, KeyError, TypeError, OSError):
        return str(error.reason)


def _exit_status(code: int) -> int:
    return 2 if code in (400, 401, 404, 409, 413) else 1
