"""Codec of OpenAI's Responses API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from agent_ls.llm.errors import LlmError
from agent_ls.llm.providers.base import (
    CapabilitiesLookup,
    ListedModel,
    ModelCapabilities,
    ReplyHead,
    StreamDecoder,
    WireRequest,
)
from agent_ls.llm.providers.history_cache import HistoryCache
from agent_ls.llm.providers.model_lists import MODELS_PATH, listed_models
from agent_ls.llm.providers.notices import LeftOutNotices
from agent_ls.llm.providers.openai_responses.errors import (
    NAME,
    http_error,
    refuses_custom_tools,
)
from agent_ls.llm.providers.openai_responses.forms import FIELDS, REFUSALS
from agent_ls.llm.providers.openai_responses.history import ResponsesHistory
from agent_ls.llm.providers.openai_responses.request import encode_request, is_custom
from agent_ls.llm.providers.openai_responses.response import decode_response
from agent_ls.llm.providers.openai_responses.stream import ResponsesStream
from agent_ls.llm.providers.output_room import OutputRoom
from agent_ls.llm.providers.plain_schemas import PlainSchemas
from agent_ls.llm.providers.refused_efforts import RefusedEfforts
from agent_ls.llm.providers.refused_fields import RefusedFields
from agent_ls.llm.providers.refused_files import RefusedFiles
from agent_ls.llm.providers.refused_forms import RefusedForms
from agent_ls.llm.providers.text_calls import TextCallsDecoder, offered_names, with_text_calls
from agent_ls.llm.providers.text_thoughts import TextThoughtsDecoder, with_text_thoughts
from agent_ls.llm.providers.tools_as_text import ToolsAsText
from agent_ls.llm.providers.wire_json import parse_object
from agent_ls.llm.requests import Request, Response

_DROPPABLE = {
    "prompt_cache_key": "",
    "reasoning.summary": "reasoning summar",
    "include": r"encrypted.content.{0,40}not|reasoning\.encrypted_content",
    "reasoning.effort": "",
    "reasoning": "",
    "parallel_tool_calls": "",
    "metadata": "",
    "store": "",
    "temperature": "",
    "top_p": "",
    "max_output_tokens": "",
    "stream": r"\bstreaming\b",
    "tools.strict": "",
    "tool_choice": "",
    "text.format": r"json mode|structured output|response_?format",
}


class OpenAIResponsesCodec:
    """The codec of the Responses API; see Codec for the contract."""

    def __init__(self, facts: CapabilitiesLookup, *, text_tools: bool = False) -> None:
        self._facts = facts
        self._histories = HistoryCache(ResponsesHistory)
        self._forms = RefusedForms(REFUSALS, FIELDS)
        self._without_custom_tools: set[str] = set()
        self._plain = PlainSchemas()
        self._notices = LeftOutNotices()
        self._tools = ToolsAsText(self._notices, always=text_tools)
        self._refused = RefusedFields(_DROPPABLE, self._notices)
        self._files = RefusedFiles(self._notices)
        self._efforts = RefusedEfforts(self._notices)
        self._room = OutputRoom()

    @property
    def name(self) -> str:
        return NAME

    @property
    def default_base_url(self) -> str:
        return "https://api.openai.com/v1"

    def authorization(self, secret: str) -> Mapping[str, str]:
        return {"authorization": f"Bearer {secret}"}

    def encode(self, request: Request, *, stream: bool) -> WireRequest:
        request = self._tools.fit(self._files.fit(self._efforts.fit(request)))
        return self._room.fitted(request, partial(self._encode, stream=stream))

    def _encode(self, request: Request, *, stream: bool) -> WireRequest:
        model, facts = request.model, self._facts_of(request.model)
        self._notices.add_unused_effort(request, facts)
        return encode_request(
            request,
            self._histories.encode(request),
            facts,
            stream=stream,
            forms=self._forms.of(model),
            fit=lambda body: self._plain.fit(model, self._refused.without(model, body)),
        )

    def decode(self, request: Request, head: ReplyHead, body: bytes) -> Response:
        return with_text_calls(
            with_text_thoughts(decode_response(request, head, body)), offered_names(request)
        )

    def stream_decoder(self, request: Request, head: ReplyHead) -> StreamDecoder:
        inner = TextThoughtsDecoder(ResponsesStream(request, head))
        return TextCallsDecoder(inner, offered_names(request), lenient=self._tools.has(request.model))

    def take_notices(self, model: str) -> Sequence[str]:
        return self._notices.take(model)

    def decode_error(self, request: Request, head: ReplyHead, body: bytes) -> LlmError:
        return http_error(request.model, head, body)

    def adapt_encoding(self, request: Request, error: LlmError) -> bool:
        """Encode later requests without custom tools, an optional field or details of schemas, with a lower limit of
        the output, or with items in another form, if `error` shows that the server refuses them.

        Custom tools are then offered as functions. Returns whether the encoding was changed.
        """
        if any(each.learn(request, error) for each in (self._tools, self._files, self._efforts)):
            return True
        facts = self._facts_of(request.model)
        offers_some = any(is_custom(tool, facts) for tool in request.tools)
        if offers_some and refuses_custom_tools(error):
            self._without_custom_tools.add(request.model)
            return True
        if self._forms.learn(request.model, error, lambda: self.encode(request, stream=True).content):
            return True
        sent = self.encode(request, stream=True).content
        if self._room.learn(request, error, len(sent)):
            return True
        body = parse_object(sent) or {}
        if self._refused.learn(request, error, body, request.provider_options.get(NAME, {})):
            return True
        return self._plain.learn(request.model, error)

    def _facts_of(self, model: str) -> ModelCapabilities:
        facts = self._facts(model)
        return replace(facts, custom_tools=False) if model in self._without_custom_tools else facts

    @property
    def models_path(self) -> str:
        return MODELS_PATH

    def models_headers(self) -> Mapping[str, str]:
        return {}

    def decode_models(self, body: bytes) -> Sequence[ListedModel]:
        return listed_models(body)
