"""Requests to daemons over HTTP, with aiohttp (extra ``agent``)."""

from __future__ import annotations

import json
import os
from types import TracebackType
from typing import Any

import aiohttp

from .endpoint import Endpoint
from .requests import Reply

__all__ = ["HttpTransport"]

LARGEST_ANSWER = 16 << 20
"""Bytes: of a thousand jobs with all that is known of them."""


class HttpTransport:
    """Keeps connections open; use as ``async with HttpTransport() as transport``.

    Parameters
    ----------
    timeout_s : float
        Of one request, all in all.
    """

    def __init__(self, timeout_s: float = 5.0) -> None:
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> HttpTransport:
        # As many connections as there are daemons: one to each waits for its news.
        self._session = aiohttp.ClientSession(timeout=self._timeout, connector=aiohttp.TCPConnector(limit=0))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def request(
        self, method: str, endpoint: Endpoint, path: str, body: Any = None, timeout_s: float | None = None
    ) -> Reply:
        """As :class:`.requests.Transport` has it."""
        if self._session is None:
            raise RuntimeError("HttpTransport: expected to be used with async with")
        headers = {"Authorization": f"Bearer {endpoint.token}"} if endpoint.token is not None else {}
        url = endpoint.url.rstrip("/") + path
        tls = endpoint.tls if endpoint.tls is not None else True
        timeout = self._timeout if timeout_s is None else aiohttp.ClientTimeout(total=timeout_s)
        try:
            # A token goes to the daemon and to nobody that it may name.
            async with self._session.request(
                method, url, json=body, headers=headers, ssl=tls, timeout=timeout, allow_redirects=False
            ) as answer:
                data = bytearray()
                async for part in answer.content.iter_any():
                    data += part
                    if len(data) > LARGEST_ANSWER:
                        raise ConnectionError(f"expected an answer of at most {LARGEST_ANSWER} bytes")
                return Reply(answer.status, _object(bytes(data)))
        except aiohttp.ClientConnectorCertificateError as error:
            raise ConnectionError(f"its certificate is not accepted: {error.certificate_error}") from error
        except aiohttp.ClientConnectorError as error:
            raise ConnectionError(_why(error.os_error)) from error
        except (OSError, TimeoutError):
            raise
        except aiohttp.ClientError as error:
            raise ConnectionError(str(error) or type(error).__name__) from error


def _why(error: OSError) -> str:
    """What the system says of a connection that could not be made; the library's text speaks of TLS in any case."""
    return os.strerror(error.errno) if error.errno is not None and error.errno > 0 else str(error)


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
