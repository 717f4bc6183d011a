"""Interface of codecs: how each wire format encodes requests and decodes answers. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from agent_ls.llm.errors import LlmError
from agent_ls.llm.requests import Request, Response
from agent_ls.llm.sse import Frame
from agent_ls.llm.stream import StreamEvent

Thinking: TypeAlias = Literal["none", "budget", "adaptive", "always", "effort", "level"]
"""How a model is asked to reason.

none: not at all, or the model accepts no parameter. budget: by a number of tokens (older models of Anthropic
and Google). adaptive: the model decides, controlled by an effort. always: like adaptive, but reasoning cannot
be disabled. effort: OpenAI's `reasoning.effort`. level: Google's `thinkingLevel`.
"""


@dataclass(frozen=True, slots=True)
class ModelCapabilities:
    """The facts about a model that a codec needs to write a valid request.

    `forces_tools`: a tool call can be required. `calls_tools`: the model can call tools; otherwise a
    compatible server's model is asked to write calls as text. `efforts` are the known levels, empty if
    unknown. `custom_tools`: calls may carry free text instead of JSON (OpenAI's custom tools).
    `calls_in_parallel`: the model may make several calls in one answer; other models refuse the parameter.
    """

    max_output_tokens: int
    thinking: Thinking
    forces_tools: bool = True
    efforts: tuple[str, ...] = ()
    calls_tools: bool = True
    custom_tools: bool = False
    calls_in_parallel: bool = True


class CapabilitiesLookup(Protocol):
    def __call__(self, model: str) -> ModelCapabilities:
        """Return the capabilities of any model; for an unknown model, those of its family. Must not raise."""
        ...


@dataclass(frozen=True, slots=True)
class WireRequest:
    """One POST request. `path` follows the base URL; `headers` contain no credential; `content` is JSON."""

    path: str
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class ReplyHead:
    """Status and headers of a response. Header names are lower case; `received_at_s` is Unix time, needed to
    interpret dates in headers.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    received_at_s: float = 0.0


class StreamDecoder(Protocol):
    """Turns the frames of one answer into events. Each answer gets its own decoder."""

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        """Return the events that `frame` completes. After StreamFinish there are none.

        Raises:
            LlmError: the stream reports an error, or has a malformed event.
        """
        ...

    def close(self) -> Sequence[StreamEvent]:
        """Return the events that the end of the stream completes, usually none.

        Raises:
            StreamError: the provider's terminal event is missing.
        """
        ...


class Codec(Protocol):
    """One wire format. All methods are pure."""

    @property
    def name(self) -> str:
        """The provider's name, as in Request.provider and Origin.provider."""
        ...

    @property
    def default_base_url(self) -> str: ...

    def authorization(self, secret: str) -> Mapping[str, str]:
        """Return the headers that carry the key."""
        ...

    def encode(self, request: Request, *, stream: bool) -> WireRequest:
        """Encode a request.

        Raises:
            ConfigurationError: the request contains something that this provider does not accept.
        """
        ...

    def decode(self, request: Request, head: ReplyHead, body: bytes) -> Response:
        """Decode a complete answer of status 2xx.

        Raises:
            LlmError: the body is an error, or not an answer.
        """
        ...

    def stream_decoder(self, request: Request, head: ReplyHead) -> StreamDecoder: ...

    def decode_error(self, request: Request, head: ReplyHead, body: bytes) -> LlmError:
        """Return the error for an answer with a status other than 2xx, including its Retry-After. Never
        raises.
        """
        ...


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model in a provider's list. A field is None if the provider does not report it. `owner` is its
    `owned_by`.
    """

    id: str
    display_name: str = ""
    context_window_tokens: int | None = None
    max_output_tokens: int | None = None
    owner: str = ""


@runtime_checkable
class ListingCodec(Protocol):
    """A codec whose provider lists its models."""

    @property
    def models_path(self) -> str:
        """The path of the GET request, after the base URL."""
        ...

    def models_headers(self) -> Mapping[str, str]: ...

    def decode_models(self, body: bytes) -> Sequence[ListedModel]:
        """Decode the list; empty for any other body. Never raises."""
        ...


@runtime_checkable
class LearningCodec(Protocol):
    """A codec that can encode a refused request differently."""

    def learns(self, request: Request, error: LlmError) -> bool:
        """Change how requests are encoded so that `error` is avoided, and return whether that is possible.
        True at most once per model.
        """
        ...
