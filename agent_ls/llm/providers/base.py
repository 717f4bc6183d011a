"""The codec interface: what each wire format must be able to encode and decode. Nothing here has seen a socket."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from agent_ls.llm.errors import LlmError
from agent_ls.llm.requests import Request, Response
from agent_ls.llm.sse import Frame
from agent_ls.llm.stream import StreamEvent

Thinking: TypeAlias = Literal["none", "budget", "adaptive", "always", "effort", "level"]
"""How a model is told to reason (FORMATS section 2, "Thinking by model").

none: it cannot, or takes no word about it. budget: a number of tokens (older models of Anthropic and Google).
adaptive: by itself, steered by an effort. always: as adaptive, cannot be switched off. effort: OpenAI's
`reasoning.effort`. level: Google's `thinkingLevel`.
"""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What a codec must know of a model to write a request that is accepted.

    `forces_tools`: it can be told that it must call a tool. `calls_tools`: it can call tools at all; where it cannot
    and the server is a compatible one, calls are asked for in its text. `efforts` are the levels it is known to take,
    none listed: not known.
    """

    max_output_tokens: int
    thinking: Thinking
    forces_tools: bool = True
    efforts: tuple[str, ...] = ()
    calls_tools: bool = True


class FactsLookup(Protocol):
    def __call__(self, model: str) -> ModelFacts:
        """Facts of any model, unknown ones by their family. Must not raise."""
        ...


@dataclass(frozen=True, slots=True)
class WireRequest:
    """One POST. `path` follows the base URL; `headers` hold no credential; `content` is JSON."""

    path: str
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class ReplyHead:
    """Status and headers of an answer. Header names are lower case; `received_at_s` is Unix time (the clock that
    dates in headers are compared with)."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    received_at_s: float = 0.0


class StreamDecoder(Protocol):
    """Turns the frames of one answer into events; one is made for each answer."""

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        """The events that `frame` completes. After StreamFinish there are none.

        Raises:
            LlmError: the stream holds an error of the provider's, or what is no event.
        """
        ...

    def close(self) -> Sequence[StreamEvent]:
        """The stream is at its end: the events that only the end completes, mostly none.

        Raises:
            StreamError: the provider's terminal event never came.
        """
        ...


class Codec(Protocol):
    """One wire format, without I/O. All methods are pure."""

    @property
    def name(self) -> str:
        """The provider's name, as in Request.provider and Origin.provider."""
        ...

    @property
    def default_base_url(self) -> str: ...

    def authorization(self, secret: str) -> Mapping[str, str]:
        """The headers that carry the key."""
        ...

    def encode(self, request: Request, *, stream: bool) -> WireRequest:
        """
        Raises:
            ConfigurationError: the request holds what this provider cannot take.
        """
        ...

    def decode(self, request: Request, head: ReplyHead, body: bytes) -> Response:
        """A whole answer of status 2xx.

        Raises:
            LlmError: the body is an error, or no answer.
        """
        ...

    def stream_decoder(self, request: Request, head: ReplyHead) -> StreamDecoder: ...

    def decode_error(self, request: Request, head: ReplyHead, body: bytes) -> LlmError:
        """The error that an answer of another status means, with its Retry-After. Never raises."""
        ...


@dataclass(frozen=True, slots=True)
class ListedModel:
    """One model of a provider's own list. None: the provider does not tell."""

    id: str
    display_name: str = ""
    context_window_tokens: int | None = None
    max_output_tokens: int | None = None


@runtime_checkable
class ListingCodec(Protocol):
    """A codec whose provider lists its models."""

    @property
    def models_path(self) -> str:
        """Of the GET, after the base URL."""
        ...

    def models_headers(self) -> Mapping[str, str]: ...

    def decode_models(self, body: bytes) -> Sequence[ListedModel]:
        """Empty for what is no list. Never raises."""
        ...


@runtime_checkable
class LearningCodec(Protocol):
    """A codec that can put a refused request in another way."""

    def learns(self, request: Request, error: LlmError) -> bool:
        """Whether `request`, encoded again, differs now in what `error` complained of. At most once for a model."""
        ...
