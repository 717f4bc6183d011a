"""One HTTP/1.1 connection without a proxy. asyncio transfers the bytes, and h11 parses and creates HTTP."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import zlib
from collections.abc import Sequence
from typing import TypeAlias

import h11

from agent_ls.llm.errors import LlmError
from agent_ls.llm.http import failures
from agent_ls.llm.http.failures import HttpFailure, make_error

_MAX_HEAD_BYTES = 100 * 1024  # limit for the status line and all headers together
_MAX_UNREAD_BYTES = 1024 * 1024  # if more bytes are received but not parsed, reading from the socket pauses
_SLICE_BYTES = 64 * 1024  # the server must accept each slice of this size within the silence limit
_MAX_JOINED = 32
_FRAMING_BYTES = 16  # the size of a chunk and two line ends
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS

_Event: TypeAlias = h11.Response | h11.Data | h11.EndOfMessage


class Connection(asyncio.Protocol):
    """A connection for consecutive requests, one at a time. `host` is named in error messages.

    Async methods may raise an LlmError. After such an error, the connection must be closed.
    """

    def __init__(self, host: str, silence_timeout_s: float) -> None:
        self._host = host
        self._silence_s = silence_timeout_s
        self._loop = asyncio.get_running_loop()
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD_BYTES)
        self._transport: asyncio.Transport | None = None
        self._closed = self._loop.create_future()
        self._change: asyncio.Future[None] | None = None
        """Completed when bytes arrive, when the connection ends, or when the socket accepts bytes again."""
        self._late = failures.SILENT
        self._waiting_since = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._unread = 0
        self._is_parsed = False
        """Whether everything that has arrived is parsed, so that the next part of the response has not."""
        self._read_ahead: h11.EndOfMessage | None = None
        self._is_full = False
        self._has_ended = False
        self._reason: Exception | None = None

    # -- called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._http.our_state is h11.IDLE:  # the server sent bytes although no request is open
            self.abort()
            return
        self._http.receive_data(data)
        self._is_parsed = False
        self._unread += len(data)
        if self._unread > _MAX_UNREAD_BYTES and self._transport is not None:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        self._end()
        return False  # makes asyncio close the connection

    def connection_lost(self, exc: Exception | None) -> None:
        self._reason = exc
        self._end()
        if not self._closed.done():
            self._closed.set_result(None)

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self._wake()

    # -- called by the client

    @property
    def is_idle(self) -> bool:
        """Whether another request can be sent."""
        return not self._has_ended and self._http.our_state is h11.IDLE

    async def send(
        self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> None:
        """Send a request.

        Return early if the server closes the connection. The server may have sent an error response before that,
        which the caller can still read.
        """
        try:
            request = h11.Request(method=method, target=target, headers=list(headers))
            head = self._http.send(request) or b""
            content = (self._http.send(h11.Data(body)) or b"") if body else b""
            end = self._http.send(h11.EndOfMessage()) or b""
        except h11.LocalProtocolError:
            raise make_error(failures.INVALID_HEADER, self._host) from None
        except UnicodeEncodeError:
            raise make_error(failures.NOT_ASCII, self._host) from None
        data = memoryview(b"".join((head, content, end)))
        assert self._transport is not None
        for start in range(0, len(data), _SLICE_BYTES):
            if self._has_ended:
                return
            self._transport.write(data[start : start + _SLICE_BYTES])
            while self._is_full and not self._has_ended:
                await self._wait_for_change(failures.NOT_TAKEN_IN_TIME)

    async def read_event(self) -> _Event:
        """Return the next part of the response. Interim responses, such as status 100, are skipped."""
        if end := self._read_ahead:
            self._read_ahead = None
            return end
        while True:
            event = h11.NEED_DATA if self._is_parsed else self._next_event()
            if isinstance(event, h11.Response | h11.Data | h11.EndOfMessage):
                return event
            if event is h11.NEED_DATA:
                self._is_parsed = True
                if self._unread > _MAX_UNREAD_BYTES and self._transport is not None:
                    self._transport.resume_reading()
                self._unread = 0
                if self._has_ended:
                    raise self._error()
                await self._wait_for_change(failures.SILENT)
            elif not isinstance(event, h11.InformationalResponse):
                raise self._error()

    def may_have_more(self, taken: int) -> bool:
        """Return whether more than these bytes of a body, and the framing of one chunk, arrived since the last wait."""
        return self._unread - taken > _FRAMING_BYTES

    def read_arrived(self) -> bytes | None:
        """Return the next part of the body if it has arrived, else None."""
        try:
            event = self._http.next_event()
        except h11.ProtocolError:
            return None  # `read_event` gets the same error
        if isinstance(event, h11.Data):
            return bytes(event.data)
        if isinstance(event, h11.EndOfMessage):
            self._read_ahead = event
        self._is_parsed = event is h11.NEED_DATA
        return None

    def _next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        try:
            return self._http.next_event()
        except h11.ProtocolError:
            raise self._error() from None

    def finish(self) -> bool:
        """Prepare the connection for another request.

        Return False if this is impossible: the response was not read to its end, or the connection has ended or must
        be closed after this response.
        """
        is_done = self._http.our_state is h11.DONE and self._http.their_state is h11.DONE
        if self._has_ended or not is_done or self._http.trailing_data[0]:
            return False
        self._read_ahead = None
        self._http.start_next_cycle()
        return True

    def abort(self) -> None:
        """Close the connection at once."""
        self._has_ended = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._transport is not None:
            self._transport.abort()

    async def close(self) -> None:
        """Close the connection, and wait until its socket is closed."""
        self.abort()
        if self._transport is not None:
            await asyncio.shield(self._closed)

    def _end(self) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._http.receive_data(b"")
            self._is_parsed = False
        self._wake()

    def _wake(self) -> None:
        if self._change is not None and not self._change.done():
            self._change.set_result(None)

    async def _wait_for_change(self, late: HttpFailure) -> None:
        """Wait until bytes arrive, the write buffer has room, or the connection has ended.

        Raises:
            LlmError: nothing happened within the silence limit. `late` is the kind of the error.
        """
        self._change, self._late = self._loop.create_future(), late
        self._waiting_since = self._loop.time()
        # One timer serves many waits, because creating a timer for each chunk would be slow.
        if self._timer is None:
            self._timer = self._loop.call_later(self._silence_s, self._check_silence)
        try:
            await self._change
        finally:
            self._change = None

    def _check_silence(self) -> None:
        self._timer = None
        if self._change is None or self._change.done():
            return
        left = self._waiting_since + self._silence_s - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._check_silence)
        else:
            self._change.set_exception(make_error(self._late, self._host))

    def _error(self) -> LlmError:
        if self._reason is not None:
            return make_error(failures.LOST, self._host, describe_os_error(self._reason))
        return make_error(failures.BROKEN_OFF, self._host)


class BodyChunks:
    """An async iterator over the decompressed chunks of a response body. It can be used once.

    Servers send each event in a chunk of its own. Chunks that have arrived are joined: first one, then twice as many
    each time, so that the first events are not kept waiting by the rest of a burst.
    """

    def __init__(self, connection: Connection, encoding: str, host: str) -> None:
        self._connection = connection
        self._host = host
        self._is_complete = False
        self._at_once = 1
        is_compressed = encoding.strip().lower() in ("gzip", "x-gzip", "deflate")
        self._decompressor = zlib.decompressobj(_GZIP_OR_ZLIB) if is_compressed else None

    def __aiter__(self) -> BodyChunks:
        return self

    async def __anext__(self) -> bytes:
        while not self._is_complete:
            event = await self._connection.read_event()
            if isinstance(event, h11.EndOfMessage):
                self._is_complete = True
            elif isinstance(event, h11.Data) and (chunk := self._decompress(self._joined(event))):
                return chunk
        raise StopAsyncIteration

    def _joined(self, first: h11.Data) -> bytes:
        parts = [bytes(first.data)]
        if self._connection.may_have_more(len(parts[0])):
            while len(parts) < self._at_once and (part := self._connection.read_arrived()):
                parts.append(part)
        self._at_once = min(2 * self._at_once, _MAX_JOINED)
        return b"".join(parts)

    def _decompress(self, data: bytes) -> bytes:
        if self._decompressor is None:
            return data
        try:
            return self._decompressor.decompress(data)
        except zlib.error:
            raise make_error(failures.DAMAGED, self._host) from None


def describe_os_error(error: Exception) -> str:
    """Return the reason of a failed connection in the words of the operating system or of OpenSSL."""
    if isinstance(error, ssl.SSLError) or not isinstance(error, OSError):
        return str(error)
    if isinstance(error, socket.gaierror):
        return error.strerror or str(error)
    # asyncio's own message is not readable for users: "Connect call failed ('127.0.0.1', 80)".
    return os.strerror(error.errno) if error.errno else "no address of the host could be connected to"
