"""Read what the SDK drops of a server's HTTP answers: a lost session, the reason of a refusal, the true type."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from functools import partial

import httpx2

from agent_ls.mcp.errors import LoginNeededError, RenewalError
from agent_ls.mcp.events import (
    BOM,
    MAX_ERROR_BYTES,
    ListAsEvents,
    MendedBody,
    MendedEvents,
    Note,
    is_error_of_none,
)
from agent_ls.mcp.patience import asked_wait
from agent_ls.mcp.stored_login import SESSION, StoredLogin, missing_scope, names_lost_session
from agent_ls.patterns import regex

_OF_SESSION = (400, 404, 410)
_INVALID = "Invalid Request"
"""The text of JSON-RPC for its code -32600: all that some servers say of a request whose session they do not know."""
_STATES = r"(?:invalid|unknown|expired|missing|no valid)"
LOST = regex(
    rf"(?:[\w ]+: )?(?:{_STATES}(?: or {_STATES})? (?:mcp[ -])?session(?:[ -]?id)?"
    rf"|(?:mcp[ -])?session(?:[ -]?id)? (?:is |was |has )?(?:not found|does not exist|{_STATES})(?: or {_STATES})?)"
    r"(?:\W*|[.;] .*)",
    re.IGNORECASE | re.DOTALL,
)
"""All that a server says of a request whose session it does not know, where it has no status for that."""
_JSON, _EVENTS = "application/json", "text/event-stream"
MAX_REASON = 300
REFUSED_HEADER = "the server refuses the header Authorization that it gets (HTTP status 401)"


class HttpAnswers:
    """The hook that reads the answers of one connection.

    `has_lost_session`: the server has said that it does not know the session any more. `refused` describes the last
    answer with the status of an error, "" for none. `is_obsolete`: the server speaks the obsolete transport. `session`
    are the headers that name the session that the server has begun, and its user.
    """

    def __init__(self, login: StoredLogin | None = None) -> None:
        self.has_lost_session = False
        self.is_obsolete = False
        self.refused = ""
        self.session: dict[str, str] = {}
        self._login = login

    @property
    def login_failure(self) -> LoginNeededError | RenewalError | None:
        """Why the last request was not authenticated."""
        return self._login.failure if self._login else None

    async def read(self, response: httpx2.Response) -> None:
        """Read an answer whose body has not been read."""
        if name := response.headers.get(SESSION):
            self.session = {SESSION: name}
            if user := response.request.headers.get("authorization"):
                self.session["authorization"] = user
        if response.is_error:
            await self._read_refusal(response)
        elif "content-encoding" not in response.headers and isinstance(
            response.stream, httpx2.AsyncByteStream
        ):
            stream: httpx2.AsyncByteStream = response.stream
            note = partial(self._note, response.request)
            is_call = response.request.method == "POST" and _EVENTS in response.request.headers.get(
                "accept", ""
            )
            if is_call and response.status_code == httpx2.codes.OK:
                stream = await _with_true_kind(response, stream, note)
            is_events = response.headers.get("content-type", "").lower().startswith(_EVENTS)
            if not isinstance(stream, MendedBody):
                stream = MendedEvents(stream, note) if is_events else MendedBody(stream)
            response.stream = stream

    def _note(self, request: httpx2.Request, kind: str, words: str) -> None:
        if kind == "endpoint":
            self.is_obsolete = True
        elif SESSION in request.headers and ("session" in words.lower() or words == _INVALID):
            self.has_lost_session = True

    async def _read_refusal(self, response: httpx2.Response) -> None:
        request = response.request
        if request.method != "POST":
            return
        if response.status_code == httpx2.codes.UNAUTHORIZED:
            self.refused = REFUSED_HEADER
            self.has_lost_session |= await names_lost_session(response)
            return
        try:
            text = (await response.aread()).decode("utf-8", "replace").strip()
        except httpx2.HTTPError:
            text = ""
        status = response.status_code
        reason = _message_in(text)
        wait = f" (it asks to wait for {seconds:g} s)" if (seconds := asked_wait(response)) else ""
        self.refused = f"the server answered with HTTP status {status}{f': {reason}' if reason else ''}{wait}"
        if scope := missing_scope(response):
            self.refused = f"the login lacks the permission `{scope}`; a new login will ask for it"
        if SESSION in request.headers:
            # 404 says it by the protocol; many servers say it with 400 and words, some with 503 or 500.
            self.has_lost_session |= status == httpx2.codes.NOT_FOUND or bool(LOST.fullmatch(reason))
            self.has_lost_session |= status in _OF_SESSION and "session" in text.lower()


async def _with_true_kind(
    response: httpx2.Response, stream: httpx2.AsyncByteStream, note: Note
) -> httpx2.AsyncByteStream:
    """Set the content type of an answer by its first bytes, and return its body. Servers send none, text/plain, or the
    type of the other form.
    """
    chunks = stream.__aiter__()
    first = b""
    async for data in chunks:
        first += data
        if first.removeprefix(BOM).strip():
            break
    begin = first.removeprefix(BOM).lstrip()[:6]
    if begin.startswith(b"{"):
        response.headers["content-type"] = _JSON
        async for data in chunks:  # the SDK waits for the whole body too
            first += data
            if len(first) > MAX_ERROR_BYTES:
                break
    if begin.startswith(b"[") or is_error_of_none(first.removeprefix(BOM)):
        response.headers["content-type"] = _EVENTS
        return ListAsEvents(_Begun(stream, first, chunks), note)
    if begin.startswith(b"{"):
        return _Begun(stream, first, chunks)
    if begin.startswith((b"data:", b"event:", b"id:", b":")):
        response.headers["content-type"] = _EVENTS
    return _Begun(stream, first, chunks)


class _Begun(httpx2.AsyncByteStream):
    """A body of which `first` has been read from `rest`."""

    def __init__(self, stream: httpx2.AsyncByteStream, first: bytes, rest: AsyncIterator[bytes]) -> None:
        self._stream, self._first, self._rest = stream, first, rest

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._first:
            yield self._first
        async for data in self._rest:
            yield data

    async def aclose(self) -> None:
        await self._stream.aclose()


def _message_in(text: str) -> str:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return "" if text.startswith("<") else " ".join(text.split())[:MAX_REASON]
    inner = found.get("error", found) if isinstance(found, dict) else found
    said = inner.get("message") or inner.get("detail") if isinstance(inner, dict) else inner
    return " ".join(str(said or "").split())[:MAX_REASON]
