"""One client for several provider APIs: message types, pure codecs, and one HTTP transport.

The names below are public (docs/model-client.md). Each is imported from its module when it is first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

TYPE_CHECKING = False  # not imported from `typing`, because that import would delay the start

if TYPE_CHECKING:
    from agent_ls.llm.adapter import (
        BlockingAdapter as BlockingAdapter,
        ProviderAdapter as ProviderAdapter,
    )
    from agent_ls.llm.attachments import (
        load_attachment as load_attachment,
    )
    from agent_ls.llm.catalog import (
        Ability as Ability,
        CatalogEntry as CatalogEntry,
        Price as Price,
        cost_usd as cost_usd,
        find_entry as find_entry,
        known_efforts as known_efforts,
        known_models as known_models,
        latest_model as latest_model,
    )
    from agent_ls.llm.client import (
        Client as Client,
    )
    from agent_ls.llm.endpoint import (
        ConnectionSettings as ConnectionSettings,
    )
    from agent_ls.llm.errors import (
        AuthenticationError as AuthenticationError,
        ConfigurationError as ConfigurationError,
        ContentFilterError as ContentFilterError,
        ContextLengthError as ContextLengthError,
        InvalidRequestError as InvalidRequestError,
        LlmError as LlmError,
        MissingKeyError as MissingKeyError,
        ModelLoadingError as ModelLoadingError,
        NetworkError as NetworkError,
        NotFoundError as NotFoundError,
        OverloadedError as OverloadedError,
        PermissionDeniedError as PermissionDeniedError,
        ProviderError as ProviderError,
        QuotaExceededError as QuotaExceededError,
        RateLimitError as RateLimitError,
        RequestTimeoutError as RequestTimeoutError,
        RequestTooLargeError as RequestTooLargeError,
        RunawayError as RunawayError,
        ServerError as ServerError,
        StreamError as StreamError,
    )
    from agent_ls.llm.generate import (
        DEFAULT_GENERATE_OPTIONS as DEFAULT_GENERATE_OPTIONS,
        GenerateOptions as GenerateOptions,
        GenerateResult as GenerateResult,
        GenerateStep as GenerateStep,
        GenerateStepFinish as GenerateStepFinish,
        ObjectStream as ObjectStream,
        StreamResult as StreamResult,
        build_request as build_request,
        default_client as default_client,
        generate as generate,
        generate_object as generate_object,
        retry as retry,
        set_default_client as set_default_client,
        stream as stream,
        stream_object as stream_object,
    )
    from agent_ls.llm.messages import (
        AudioPart as AudioPart,
        Citation as Citation,
        DocumentPart as DocumentPart,
        ImagePart as ImagePart,
        JsonObject as JsonObject,
        Message as Message,
        OpaquePart as OpaquePart,
        Origin as Origin,
        ReasoningPart as ReasoningPart,
        Role as Role,
        SearchPart as SearchPart,
        Source as Source,
        TextPart as TextPart,
        ToolCallPart as ToolCallPart,
        ToolResultPart as ToolResultPart,
        assistant as assistant,
        system as system,
        user as user,
    )
    from agent_ls.llm.middleware import (
        Middleware as Middleware,
    )
    from agent_ls.llm.object_errors import (
        NoObjectGeneratedError as NoObjectGeneratedError,
    )
    from agent_ls.llm.requests import (
        FinishReason as FinishReason,
        FreeText as FreeText,
        JsonFormat as JsonFormat,
        NamedToolChoice as NamedToolChoice,
        RateLimit as RateLimit,
        Request as Request,
        Response as Response,
        ToolDefinition as ToolDefinition,
        Usage as Usage,
    )
    from agent_ls.llm.retry import (
        RetryPolicy as RetryPolicy,
    )
    from agent_ls.llm.stream import (
        OpaqueItem as OpaqueItem,
        ProviderEvent as ProviderEvent,
        ReasoningDelta as ReasoningDelta,
        ReasoningEnd as ReasoningEnd,
        ReasoningStart as ReasoningStart,
        StreamEvent as StreamEvent,
        StreamFinish as StreamFinish,
        StreamStart as StreamStart,
        TextDelta as TextDelta,
        TextEnd as TextEnd,
        TextStart as TextStart,
        ToolCallDelta as ToolCallDelta,
        ToolCallEnd as ToolCallEnd,
        ToolCallStart as ToolCallStart,
    )
    from agent_ls.llm.tools import (
        CallableTool as CallableTool,
    )

_PLACES = {
    "Ability": "catalog",
    "AudioPart": "messages",
    "AuthenticationError": "errors",
    "BlockingAdapter": "adapter",
    "CallableTool": "tools",
    "CatalogEntry": "catalog",
    "Citation": "messages",
    "Client": "client",
    "ConfigurationError": "errors",
    "ConnectionSettings": "endpoint",
    "ContentFilterError": "errors",
    "ContextLengthError": "errors",
    "DEFAULT_GENERATE_OPTIONS": "generate",
    "DocumentPart": "messages",
    "FinishReason": "requests",
    "FreeText": "requests",
    "GenerateOptions": "generate",
    "GenerateResult": "generate",
    "GenerateStep": "generate",
    "GenerateStepFinish": "generate",
    "ImagePart": "messages",
    "InvalidRequestError": "errors",
    "JsonFormat": "requests",
    "JsonObject": "messages",
    "LlmError": "errors",
    "Message": "messages",
    "Middleware": "middleware",
    "MissingKeyError": "errors",
    "ModelLoadingError": "errors",
    "NamedToolChoice": "requests",
    "NetworkError": "errors",
    "NoObjectGeneratedError": "object_errors",
    "NotFoundError": "errors",
    "ObjectStream": "generate",
    "OpaqueItem": "stream",
    "OpaquePart": "messages",
    "Origin": "messages",
    "OverloadedError": "errors",
    "PermissionDeniedError": "errors",
    "Price": "catalog",
    "cost_usd": "catalog",
    "ProviderAdapter": "adapter",
    "ProviderError": "errors",
    "ProviderEvent": "stream",
    "QuotaExceededError": "errors",
    "RateLimit": "requests",
    "RateLimitError": "errors",
    "ReasoningDelta": "stream",
    "ReasoningEnd": "stream",
    "ReasoningPart": "messages",
    "ReasoningStart": "stream",
    "Request": "requests",
    "RequestTimeoutError": "errors",
    "RequestTooLargeError": "errors",
    "Response": "requests",
    "RetryPolicy": "retry",
    "Role": "messages",
    "RunawayError": "errors",
    "SearchPart": "messages",
    "ServerError": "errors",
    "Source": "messages",
    "StreamError": "errors",
    "StreamEvent": "stream",
    "StreamFinish": "stream",
    "StreamResult": "generate",
    "StreamStart": "stream",
    "TextDelta": "stream",
    "TextEnd": "stream",
    "TextPart": "messages",
    "TextStart": "stream",
    "ToolCallDelta": "stream",
    "ToolCallEnd": "stream",
    "ToolCallPart": "messages",
    "ToolCallStart": "stream",
    "ToolDefinition": "requests",
    "ToolResultPart": "messages",
    "Usage": "requests",
    "assistant": "messages",
    "build_request": "generate",
    "default_client": "generate",
    "find_entry": "catalog",
    "generate": "generate",
    "generate_object": "generate",
    "known_efforts": "catalog",
    "known_models": "catalog",
    "latest_model": "catalog",
    "load_attachment": "attachments",
    "retry": "generate",
    "set_default_client": "generate",
    "stream": "generate",
    "stream_object": "generate",
    "system": "messages",
    "user": "messages",
}

__all__ = sorted(_PLACES)


if not TYPE_CHECKING:  # a type checker would take a misspelt name for Any

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})

    def __getattr__(name: str) -> object:
        if place := _PLACES.get(name):
            return getattr(import_module(f"agent_ls.llm.{place}"), name)
        raise AttributeError(f"module 'agent_ls.llm' has no attribute {name!r}")


class _Package(ModuleType):
    """The package. Its functions `generate`, `stream` and `retry` hide the modules of the same names.

    Without this class, `from agent_ls.llm import stream` would return a module as soon as something has imported it.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _PLACES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
