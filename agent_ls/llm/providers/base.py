"""The interface of codecs. A codec encodes requests and decodes answers of one wire format. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from agent_ls.llm.errors import LlmError
from agent_ls.llm.messages import JsonObject
from agent_ls.llm.requests import Request, Response
from agent_ls.llm.sse import Frame
from agent_ls.llm.stream import StreamEvent

Thinking: TypeAlias = Literal["none", "budget", "adaptive", "always", "effort", "level"]
"""The kind of parameter that controls the reasoning of a model.

none: there is no parameter. budget: a number of tokens (older models of Anthropic and Google). adaptive: the model
decides, controlled by an effort. always: like adaptive, but reasoning cannot be disabled. effort: OpenAI's
`reasoning.effort`. level: Google's `thinkingLevel`.
"""


@dataclass(frozen=True, slots=True)
class ModelCapabilities:
    """The properties of a model that a codec needs to encode a valid request.

    `forces_tools`: a tool call can be required. `calls_tools`: the model can call tools; without this ability, a
    model of a compatible server is asked to write calls as text. `efforts` are the known reasoning levels, empty if
    unknown. `custom_tools`: calls may contain free text instead of JSON (OpenAI's custom tools).
    `calls_in_parallel`: the model may make several calls in one answer; other models refuse the parameter for this.
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
    """One POST request. `path` is appended to the base URL. `headers` contain no credential. `content` is JSON."""

    path: str
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class ReplyHead:
    """Status and headers of a response. Header names are in lower case.

    `received_at_s` is the Unix time of the response, which is needed to interpret dates in headers.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    received_at_s: float = 0.0


class StreamDecoder(Protocol):
    """Converts the frames of one answer into events. Create a new decoder for each answer."""

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        """Return the events that `frame` completes; empty after StreamFinish.

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
        """Return the error for a response with a status other than 2xx, including its Retry-After. Never raises."""
        ...


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model in a provider's list. Fields that the provider does not report are None or "".

    `owner` is the field `owned_by`. `calls_tools`: whether the server passes tool definitions to the model.
    """

    id: str
    display_name: str = ""
    context_window_tokens: int | None = None
    max_output_tokens: int | None = None
    owner: str = ""
    calls_tools: bool | None = None


@runtime_checkable
class ListingCodec(Protocol):
    """A codec whose provider lists its models."""

    @property
    def models_path(self) -> str:
        """The path that lists the models, after the base URL."""
        ...

    def models_headers(self) -> Mapping[str, str]: ...

    def decode_models(self, body: bytes) -> Sequence[ListedModel]:
        """Decode the model list; other bodies give an empty list. Never raises."""
        ...


@dataclass(frozen=True, slots=True)
class Probe:
    """A small request to the root of a model server. `body` None: a GET request."""

    path: str
    body: JsonObject | None = None


@runtime_checkable
class ProbingCodec(Protocol):
    """A codec that asks a server what its model can do, because the server ignores what the model cannot."""

    def probes(self, request: Request, base_url: str) -> Sequence[Probe]:
        """Return what to ask before `request` is sent, until one answer is understood; empty the second time."""
        ...

    def learn_abilities(self, request: Request, body: bytes) -> bool:
        """Encode `request` and later ones according to an answer. Return whether the answer was understood."""
        ...


@runtime_checkable
class DescribingCodec(Protocol):
    """A codec that asks a server on this machine what its listed models can do."""

    def describing_probes(self, models: Sequence[ListedModel], base_url: str) -> Sequence[Probe]:
        """Return what to ask the server; nothing for a service."""
        ...

    def describe(self, models: Sequence[ListedModel], probe: Probe, body: bytes) -> Sequence[ListedModel]:
        """Return the models with what an answer says of them. Never raises."""
        ...


@runtime_checkable
class LearningCodec(Protocol):
    """A codec that can encode a refused request differently."""

    def adapt_encoding(self, request: Request, error: LlmError) -> bool:
        """Change the encoding of later requests so that `error` is avoided; return whether this was possible.

        Return True at most once for each model and refused feature, so that the caller does not retry
        forever.
        """
        ...


@runtime_checkable
class NoticingCodec(Protocol):
    """A codec that leaves out parts of requests which the model or its server does not accept."""

    def take_notices(self, model: str) -> Sequence[str]:
        """Return what later answers of the model need not say again: warnings for the user about what is left out."""
        ...


@runtime_checkable
class RescuingCodec(Protocol):
    """A codec that finds an answer of the model within an error: some servers refuse what their model wrote."""

    def rescue(self, request: Request, head: ReplyHead, body: bytes) -> Response | None:
        """Return the answer in the body of an error; None if there is none."""
        ...
