"""ADAPTER: a codec and a transport make a provider. The HTTP library is loaded by the first call, not by import."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

import anyio

from agent_ls._version import __version__
from agent_ls.llm.endpoint import Endpoint
from agent_ls.llm.errors import LlmError, StreamError
from agent_ls.llm.providers.base import Codec, ReplyHead
from agent_ls.llm.requests import Request, Response
from agent_ls.llm.sse import SseDecoder
from agent_ls.llm.stream import StreamEvent, StreamFinish

if TYPE_CHECKING:
    from agent_ls.llm.transport import StreamedReply, Transport

USER_AGENT = f"agent-ls/{__version__}"
MIN_SECRET_CHARS = 8  # anything shorter is a local server's dummy, and would cut words out of messages


class HttpAdapter:
    """A ProviderAdapter (see the seam for its contract)."""

    def __init__(self, codec: Codec, endpoint: Endpoint) -> None:
        self._codec = codec
        self._endpoint = endpoint
        self._transport: Transport | None = None
        self._opening = anyio.Lock()

    @property
    def name(self) -> str:
        return self._codec.name

    async def complete(self, request: Request) -> Response:
        wire = self._codec.encode(request, stream=False)
        headers = {**self._headers(), **wire.headers}
        try:
            transport = await self._connected()
            head, body = await transport.post(wire.path, headers, wire.content)
            if not _is_good(head):
                raise self._codec.decode_error(request, head, body)
            return self._codec.decode(request, head, body)
        except LlmError as error:
            self._attribute(error, request)
            raise

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        wire = self._codec.encode(request, stream=True)
        headers = {**self._headers(), **wire.headers, "accept": "text/event-stream"}
        try:
            transport = await self._connected()
            async with transport.open(wire.path, headers, wire.content) as reply:
                if not _is_good(reply.head):
                    raise self._codec.decode_error(request, reply.head, await reply.read())
                await self._refuse_unstreamed(request, reply)
                async with aclosing(self._events(request, reply)) as events:
                    async for event in events:
                        yield event
        except LlmError as error:
            self._attribute(error, request)
            raise

    async def prepare(self) -> None:
        """Loads the library and reads certificates now, which the first call would wait for. Sends nothing."""
        with suppress(LlmError):  # the first call will tell
            await self._connected()

    async def close(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.close()

    def __repr__(self) -> str:
        return f"HttpAdapter({self.name!r}, {self._endpoint!r})"

    async def _events(self, request: Request, reply: StreamedReply) -> AsyncGenerator[StreamEvent]:
        frames = SseDecoder()
        decoder = self._codec.stream_decoder(request, reply.head)
        async for chunk in reply.chunks:
            for frame in frames.feed(chunk):
                for event in decoder.feed(frame):
                    if isinstance(event, StreamFinish):
                        await reply.drain()
                        yield event
                        return
                    yield event
        for frame in frames.close():
            for event in decoder.feed(frame):
                yield event
        decoder.close()

    async def _refuse_unstreamed(self, request: Request, reply: StreamedReply) -> None:
        """An answer of status 200 that is JSON holds an error, or comes from a host that does not stream.

        Raises:
            LlmError: that error, or StreamError.
        """
        if not reply.head.headers.get("content-type", "").startswith("application/json"):
            return
        self._codec.decode(request, reply.head, await reply.read())
        raise StreamError(
            "the answer was not streamed", hint="Check that the base URL speaks this provider's API."
        )

    def _headers(self) -> dict[str, str]:
        return {
            "user-agent": USER_AGENT,
            **self._codec.authorization(self._endpoint.secret),
            **self._endpoint.headers,
        }

    def _attribute(self, error: LlmError, request: Request) -> None:
        """Names provider and model, and takes our key out of the text: some hosts repeat it in their message."""
        error.provider = error.provider or self.name
        error.model = error.model or request.model
        secret = self._endpoint.secret
        if len(secret) >= MIN_SECRET_CHARS:
            error.args = tuple(str(text).replace(secret, "***") for text in error.args)

    async def _connected(self) -> Transport:
        async with self._opening:
            if self._transport is None:
                # Importing the library and reading certificates take a tenth of a second each: not on the loop.
                self._transport = await anyio.to_thread.run_sync(_open_transport, self._endpoint)
            return self._transport


def _is_good(head: ReplyHead) -> bool:
    return 200 <= head.status < 300


def _open_transport(endpoint: Endpoint) -> Transport:
    from agent_ls.llm.transport import Transport

    return Transport(endpoint)
