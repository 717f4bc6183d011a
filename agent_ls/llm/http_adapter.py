"""A ProviderAdapter made of a codec and the HTTP transport. The HTTP library is loaded by the first call."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import anyio

from agent_ls._version import __version__
from agent_ls.llm.accumulate import collect
from agent_ls.llm.endpoint import Endpoint
from agent_ls.llm.errors import InvalidRequestError, LlmError, ProviderError, StreamError
from agent_ls.llm.providers.base import (
    Codec,
    DescribingCodec,
    LearningCodec,
    ListedModel,
    ListingCodec,
    NoticingCodec,
    Probe,
    ProbingCodec,
    ReplyHead,
    RescuingCodec,
    WireRequest,
)
from agent_ls.llm.providers.refused_streams import demands_stream
from agent_ls.llm.providers.refused_tools import name_refused_tools
from agent_ls.llm.providers.wire_json import encode_json, parse_object
from agent_ls.llm.requests import Request, Response
from agent_ls.llm.sse import SseDecoder
from agent_ls.llm.stream import ProviderEvent, StreamEvent, StreamFinish, replay_as_stream
from agent_ls.llm.time_limit import ResponseTimeLimit

if TYPE_CHECKING:
    from agent_ls.llm.transport import StreamedReply, Transport

PROBE_S = 2.0  # time for asking a server on this machine what its model can do
MAX_OPENING_BYTES = 2_000  # the beginning of a stream that is kept, to quote it if the stream is no answer
_BLANKS = b" \t\r\n\xef\xbb\xbf"

USER_AGENT = f"agent-ls/{__version__}"
MIN_SECRET_CHARS = 8  # a shorter key is a placeholder for a local server; redacting it would damage messages


class HttpAdapter:
    """A ProviderAdapter that sends requests over HTTP; see ProviderAdapter for the contract."""

    def __init__(self, codec: Codec, endpoint: Endpoint) -> None:
        self._codec = codec
        self._probing = codec if isinstance(codec, ProbingCodec) else None  # checked once, because it is slow
        self._endpoint = endpoint
        self._transport: Transport | None = None
        self._opening = anyio.Lock()
        self._only_streaming: set[str] = set()  # the models whose server refuses requests that do not stream

    @property
    def name(self) -> str:
        return self._codec.name

    @property
    def base_url(self) -> str:
        return self._endpoint.base_url

    async def complete(self, request: Request) -> Response:
        is_streamed = request.model in self._only_streaming
        wire = await self._encode(request, stream=is_streamed)
        try:
            response = await (self._collect(request, wire) if is_streamed else self._complete(request, wire))
            return replace(response, warnings=(*response.warnings, *self._notices(request)))
        except LlmError as error:
            if not is_streamed and demands_stream(error):
                self._only_streaming.add(request.model)
            elif not self._can_retry_differently(request, error, wire, stream=is_streamed):
                self._attribute(error, request)
                raise
        return await self.complete(request)

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        has_begun = False
        wire = await self._encode(request, stream=True)
        try:
            async with aclosing(self._stream(request, wire)) as events:
                async for event in events:
                    has_begun = True
                    if isinstance(event, StreamFinish) and (notices := self._notices(request)):
                        event = replace(event, warnings=(*event.warnings, *notices))
                    yield event
                return
        except LlmError as error:
            if has_begun or not self._can_retry_differently(request, error, wire, stream=True):
                self._attribute(error, request)
                raise
        async with aclosing(self.stream(request)) as events:
            async for event in events:
                yield event

    async def list_models(self) -> Sequence[ListedModel]:
        """Return the models that the provider offers; empty if the provider has no list of models.

        Raises:
            LlmError: the provider could not be reached, or refused.
        """
        codec, nothing = self._codec, Request("", ())
        if not isinstance(codec, ListingCodec):
            return ()
        try:
            transport = await self._connect()
            headers = self._headers(codec.models_headers())
            with self._limit().within():
                head, body = await transport.get(codec.models_path, headers)
            if not _is_good(head):
                raise self._codec.decode_error(nothing, head, body)
            return codec.decode_models(body)
        except LlmError as error:
            self._attribute(error, nothing)
            raise

    async def describe(self, models: Sequence[ListedModel]) -> Sequence[ListedModel]:
        """Return the models with what a server on this machine says of them. Never raises."""
        codec = self._codec
        if not isinstance(codec, DescribingCodec) or not (
            probes := codec.describing_probes(models, self.base_url)
        ):
            return models
        transport = await self._open_root()
        try:
            with anyio.move_on_after(PROBE_S):
                for probe in probes:
                    with suppress(LlmError):
                        head, body = await _send(transport, probe, self._headers())
                        models = codec.describe(models, probe, body) if _is_good(head) else models
        finally:
            await transport.close()
        return models

    async def _open_root(self) -> Transport:
        """Open connections to the root of the server, without the `/v1` of the API."""
        root = replace(self._endpoint, base_url=self.base_url.rstrip("/").removesuffix("/v1"))
        return await anyio.to_thread.run_sync(_open_transport, root)

    async def prepare(self) -> None:
        """Load the HTTP library and certificates, so that the first call need not wait for them. Sends nothing."""
        with suppress(LlmError):  # the first model call fails in the same way and reports the error
            await self._connect()

    async def close(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.close()

    def __repr__(self) -> str:
        return f"HttpAdapter({self.name!r}, {self._endpoint!r})"

    async def _encode(self, request: Request, *, stream: bool) -> WireRequest:
        await self._ask_abilities(request)
        try:
            return self._codec.encode(request, stream=stream)
        except LlmError as error:
            self._attribute(error, request)
            raise

    async def _complete(self, request: Request, wire: WireRequest) -> Response:
        headers = self._headers(wire.headers)
        transport = await self._connect()
        with self._limit().within():
            head, body = await transport.post(wire.path, headers, wire.content)
        if not _is_good(head):
            return self._rescue(request, head, body)
        return self._codec.decode(request, head, body)

    async def _collect(self, request: Request, wire: WireRequest) -> Response:
        """Return the complete answer of a server that only streams."""
        return await collect(self._stream(request, wire), self.name, request.model)

    async def _stream(self, request: Request, wire: WireRequest) -> AsyncGenerator[StreamEvent]:
        headers = self._headers({**wire.headers, "accept": "text/event-stream"})
        transport = await self._connect()
        limit = self._limit()
        async with AsyncExitStack() as stack:
            with limit.within():
                reply = await stack.enter_async_context(transport.open(wire.path, headers, wire.content))
                begun = await reply.read() if not _is_good(reply.head) else await _begin(reply)
                is_json = begun.lstrip(_BLANKS).startswith((b"{", b"["))
                whole = begun if not _is_good(reply.head) else None
                if whole is None and is_json:
                    whole = begun + await reply.read()
            if whole is None:
                events = await stack.enter_async_context(aclosing(self._events(request, reply, begun, limit)))
                async for event in events:
                    yield event
                return
            # The server does not stream, or sent an error with status 200.
            decode = self._codec.decode if _is_good(reply.head) else self._rescue
            for event in replay_as_stream(decode(request, reply.head, whole)):
                yield event

    async def _ask_abilities(self, request: Request) -> None:
        """Ask a server on this machine what the model can do, before its first request. Never raises."""
        codec = self._probing
        if not codec or not (probes := codec.probes(request, self.base_url)):
            return
        transport = await self._open_root()
        try:
            with anyio.move_on_after(PROBE_S):
                for probe in probes:
                    with suppress(LlmError):
                        head, body = await _send(transport, probe, self._headers())
                        if _is_good(head) and codec.learn_abilities(request, body):
                            return
        finally:
            await transport.close()

    def _rescue(self, request: Request, head: ReplyHead, body: bytes) -> Response:
        """Return the answer of the model that a refused reply contains.

        Raises:
            LlmError: there is none.
        """
        found = self._codec.rescue(request, head, body) if isinstance(self._codec, RescuingCodec) else None
        if found is None:
            raise self._failure(request, head, body)
        return found

    def _failure(self, request: Request, head: ReplyHead, body: bytes) -> LlmError:
        error = self._codec.decode_error(request, head, body)
        if isinstance(error, ProviderError):
            secret = self._endpoint.secret.encode()
            error.raw = parse_object(body.replace(secret, b"***") if secret else body) or {}
        if isinstance(error, InvalidRequestError):
            name_refused_tools(error, request.tools)
        return error

    def _limit(self) -> ResponseTimeLimit:
        return ResponseTimeLimit(self.name, self._endpoint.total_timeout_s)

    def _can_retry_differently(
        self, request: Request, error: LlmError, refused: WireRequest, *, stream: bool
    ) -> bool:
        """Return whether the codec encodes the request in another way than it was refused. Of requests that are refused
        at the same time, the first one changes the encoding of the others.
        """
        if not isinstance(self._codec, LearningCodec):
            return False
        if isinstance(error, InvalidRequestError) and self._codec.encode(request, stream=stream) != refused:
            return True
        while self._codec.adapt_encoding(request, error):
            if self._codec.encode(request, stream=stream) != refused:
                return True
        return False

    def _notices(self, request: Request) -> Sequence[str]:
        return self._codec.take_notices(request.model) if isinstance(self._codec, NoticingCodec) else ()

    async def _events(
        self, request: Request, reply: StreamedReply, begun: bytes, limit: ResponseTimeLimit
    ) -> AsyncGenerator[StreamEvent]:
        frames, opening, is_answer = SseDecoder(), b"", False
        decoder = self._codec.stream_decoder(request, reply.head)
        chunk: bytes | None = begun
        while chunk is not None:
            if len(opening) < MAX_OPENING_BYTES:
                opening += chunk[:MAX_OPENING_BYTES]
            for frame in frames.feed(chunk):
                for event in decoder.feed(frame):
                    if isinstance(event, StreamFinish):
                        await reply.drain()
                        yield event
                        return
                    is_answer = is_answer or not isinstance(event, ProviderEvent)
                    yield event
            with limit.within():
                chunk = await anext(reply.chunks, None)
        for frame in frames.close():
            for event in decoder.feed(frame):
                is_answer = is_answer or not isinstance(event, ProviderEvent)
                yield event
        try:
            ending = decoder.close()
        except StreamError:
            if is_answer or not (text := _words_of(opening)):
                raise
            # Not one event of the stream is known: it is an error in a form of its own.
            raise self._codec.decode_error(request, ReplyHead(200), text) from None
        for event in ending:
            yield event

    def _headers(self, own: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
        """Return the headers of a request, with names in lower case. `own` are those of the codec.

        Headers of the settings replace others of the same name, such as `Authorization`; betas are joined.
        """
        sent = {"user-agent": USER_AGENT, **self._codec.authorization(self._endpoint.secret), **own}
        for name, value in self._endpoint.headers.items():
            key = name.lower()
            sent[key] = f"{sent[key]},{value}" if key in sent and key.endswith("-beta") else value
        return sent

    def _attribute(self, error: LlmError, request: Request) -> None:
        """Add provider and model to the error, and redact the API key, which some servers repeat in messages."""
        error.provider = error.provider or self.name
        error.model = error.model or request.model
        secret = self._endpoint.secret
        if len(secret) >= MIN_SECRET_CHARS:
            error.args = tuple(str(text).replace(secret, "***") for text in error.args)

    async def _connect(self) -> Transport:
        if self._transport is not None:
            return self._transport
        async with self._opening:
            if self._transport is None:
                # Importing the library and reading certificates take 0.1 s each, so they run in a thread.
                self._transport = await anyio.to_thread.run_sync(_open_transport, self._endpoint)
            return self._transport


async def _send(transport: Transport, probe: Probe, headers: dict[str, str]) -> tuple[ReplyHead, bytes]:
    if probe.body is None:
        return await transport.get(probe.path, headers)
    return await transport.post(probe.path, headers, encode_json(probe.body))


async def _begin(reply: StreamedReply) -> bytes:
    """Return the beginning of a body, up to the chunk with its first visible character."""
    begun = b""
    async for chunk in reply.chunks:
        begun += chunk
        if begun.strip(_BLANKS):
            break
    return begun


def _words_of(opening: bytes) -> bytes:
    """Return the beginning of a stream without its comments and field names."""
    lines = (
        line for line in opening.splitlines() if not line.startswith((b":", b"event:", b"id:", b"retry:"))
    )
    return b"\n".join(line.removeprefix(b"data:").strip() for line in lines).strip()


def _is_good(head: ReplyHead) -> bool:
    return 200 <= head.status < 300


def _open_transport(endpoint: Endpoint) -> Transport:
    from agent_ls.llm.transport import Transport

    return Transport(endpoint)
