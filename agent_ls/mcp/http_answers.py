"""Read what the SDK drops of a server's HTTP answers: a lost session, the reason of a refusal, an unfinished event."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import httpx2

_SESSION = "mcp-session-id"
_OF_SESSION = (400, 404, 410)
_BOM = b"\xef\xbb\xbf"
MAX_REASON = 300


class HttpAnswers:
    """The hook that reads the answers of one connection.

    `has_lost_session`: the server has said that it does not know the session any more. `refused` describes the last
    answer with the status of an error, "" for none.
    """

    def __init__(self) -> None:
        self.has_lost_session = False
        self.refused = ""

    async def read(self, response: httpx2.Response) -> None:
        """Read an answer whose body has not been read."""
        if response.is_error:
            await self._read_refusal(response)
        elif "content-encoding" not in response.headers and isinstance(
            response.stream, httpx2.AsyncByteStream
        ):
            is_events = response.headers.get("content-type", "").lower().startswith("text/event-stream")
            response.stream = _Mended(response.stream, b"\n\n" if is_events else b"")

    async def _read_refusal(self, response: httpx2.Response) -> None:
        request = response.request
        if request.method != "POST" or response.status_code == httpx2.codes.UNAUTHORIZED:
            return
        try:
            text = (await response.aread()).decode("utf-8", "replace").strip()
        except httpx2.HTTPError:
            text = ""
        status = response.status_code
        reason = _message_in(text)
        self.refused = f"the server answered with HTTP status {status}{f': {reason}' if reason else ''}"
        if _SESSION in request.headers and status in _OF_SESSION:
            # 404 says it by the protocol; many servers say it with 400 and words.
            self.has_lost_session |= status == httpx2.codes.NOT_FOUND or "session" in text.lower()


def _message_in(text: str) -> str:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return "" if text.startswith("<") else " ".join(text.split())[:MAX_REASON]
    inner = found.get("error", found) if isinstance(found, dict) else found
    said = inner.get("message") or inner.get("detail") if isinstance(inner, dict) else inner
    return " ".join(str(said or "").split())[:MAX_REASON]


class _Mended(httpx2.AsyncByteStream):
    """A body without a byte order mark, and with `end` after it: servers forget the empty line behind an event."""

    def __init__(self, stream: httpx2.AsyncByteStream, end: bytes) -> None:
        self._stream = stream
        self._end = end

    async def __aiter__(self) -> AsyncIterator[bytes]:
        is_first = True
        async for data in self._stream:
            yield data.removeprefix(_BOM) if is_first else data
            is_first = False
        if self._end:
            yield self._end

    async def aclose(self) -> None:
        await self._stream.aclose()
