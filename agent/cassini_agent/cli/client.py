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

from .errors import AnswerError, UsageError

__all__ = ["Client", "Daemon"]

TIMEOUT_S = 10.0
MAX_ANSWER_BYTES = 64 * 1024 * 1024


@Parameter(name="*")
@dataclass(frozen=True)
class Daemon:
    """Where the daemon is and how it knows the caller."""

    url: Annotated[str, Parameter(help="The daemon's address.")] = "http://127.0.0.1:9311"
    token_file: Annotated[Path | None, Parameter(help="File with the token, readable by its owner only.")] = None
    ca: Annotated[Path | None, Parameter(help="Authority of the daemon's certificate.")] = None
    certificate: Annotated[Path | None, Parameter(help="Certificate to show, where mutual TLS is used.")] = None
    key: Annotated[Path | None, Parameter(help="Key of that certificate.")] = None


class Client:
    """Asks one daemon.

    Raises
    ------
    UsageError
        The token or a certificate cannot be read, or the address is none.
    """

    def __init__(self, daemon: Daemon) -> None:
        if not daemon.url.startswith(("http://", "https://")):
            raise UsageError(f"--url: expected http:// or https://, got {daemon.url!r}")
        self._url = daemon.url.rstrip("/")
        self._headers = {"Content-Type": "application/json"}
        if daemon.token_file is not None:
            from ..daemon.access import read_token

            self._headers["Authorization"] = f"Bearer {read_token(daemon.token_file)}"
        handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({}), _NoRedirect()]
        if self._url.startswith("https://"):
            handlers.append(urllib.request.HTTPSHandler(context=_tls(daemon)))
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


def _tls(daemon: Daemon) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=daemon.ca)
        if daemon.certificate is not None:
            context.load_cert_chain(daemon.certificate, daemon.key)
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
