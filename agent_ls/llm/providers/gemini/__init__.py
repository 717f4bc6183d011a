"""Codec of Google's Gemini API (generateContent), with its list of models."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial

from agent_ls.llm.errors import LlmError
from agent_ls.llm.messages import JsonObject
from agent_ls.llm.providers.base import CapabilitiesLookup, ListedModel, ReplyHead, StreamDecoder, WireRequest
from agent_ls.llm.providers.gemini.errors import NAME, http_error
from agent_ls.llm.providers.gemini.forms import FIELDS, REFUSALS
from agent_ls.llm.providers.gemini.history import GeminiHistory
from agent_ls.llm.providers.gemini.request import VERSION, encode_request
from agent_ls.llm.providers.gemini.stream import GeminiStream
from agent_ls.llm.providers.history_cache import HistoryCache
from agent_ls.llm.providers.notices import LeftOutNotices
from agent_ls.llm.providers.output_room import OutputRoom
from agent_ls.llm.providers.part_writer import to_response
from agent_ls.llm.providers.plain_schemas import PlainSchemas
from agent_ls.llm.providers.prefill import Prefills
from agent_ls.llm.providers.refused_fields import RefusedFields
from agent_ls.llm.providers.refused_files import RefusedFiles
from agent_ls.llm.providers.refused_forms import RefusedForms
from agent_ls.llm.providers.refused_streams import refuses_stream
from agent_ls.llm.providers.text_calls import TextCallsDecoder, offered_names, with_text_calls
from agent_ls.llm.providers.tools_as_text import ToolsAsText
from agent_ls.llm.providers.wire_json import int_at, objects_at, parse_object, text_at
from agent_ls.llm.requests import Request, Response
from agent_ls.llm.stream import StreamEvent

_OF_JSON = r"json mode|response.?mime.?type|response_?(json_?)?schema"
_DROPPABLE = {
    "generationConfig.thinkingConfig.thinkingLevel": "",
    "generationConfig.thinkingConfig.thinkingBudget": r"budget",
    "generationConfig.thinkingConfig": r"thinking|include_?thoughts",
    "generationConfig.temperature": "",
    "generationConfig.topP": "",
    "generationConfig.maxOutputTokens": "",
    "generationConfig.stopSequences": "",
    "generationConfig.responseSchema": _OF_JSON,
    "generationConfig.responseJsonSchema": _OF_JSON,
    "generationConfig.responseMimeType": _OF_JSON,
    "toolConfig": r"function.?calling.?(mode|config)\b",
}


class GeminiCodec:
    """The codec of Gemini; see Codec for the contract."""

    def __init__(self, facts: CapabilitiesLookup, *, text_tools: bool = False) -> None:
        self._facts = facts
        self._histories = HistoryCache(GeminiHistory)
        self._forms = RefusedForms(REFUSALS, FIELDS)
        self._unstreamed: set[str] = set()  # the models whose server does not stream
        self._notices = LeftOutNotices()
        self._tools = ToolsAsText(self._notices, always=text_tools)
        self._refused = RefusedFields(_DROPPABLE, self._notices)
        self._files = RefusedFiles(self._notices)
        self._plain = PlainSchemas(typed=True)
        self._prefills = Prefills()
        self._room = OutputRoom()

    @property
    def name(self) -> str:
        return NAME

    @property
    def default_base_url(self) -> str:
        return "https://generativelanguage.googleapis.com"

    def authorization(self, secret: str) -> Mapping[str, str]:
        return {"x-goog-api-key": secret}

    def encode(self, request: Request, *, stream: bool) -> WireRequest:
        request = self._tools.fit(self._files.fit(self._prefills.fit(request)))
        return self._room.fitted(request, partial(self._encode, stream=stream))

    def _encode(self, request: Request, *, stream: bool) -> WireRequest:
        model = request.model
        history, facts = self._histories.encode(request), self._facts(model)
        self._notices.add_unused_effort(request, facts)
        return encode_request(
            request,
            history,
            facts,
            stream=stream and model not in self._unstreamed,
            fit=lambda body: self._plain.fit(model, self._refused.without(model, body)),
            forms=self._forms.of(model),
        )

    def adapt_encoding(self, request: Request, error: LlmError) -> bool:
        """Encode later requests without an optional field that the server or a proxy refuses, with plain schemas, with
        contents in another form, or with a lower limit of the output.
        """
        if self._tools.learn(request, error):
            return True
        if self._forms.learn(request.model, error, lambda: self.encode(request, stream=True).content):
            return True
        if request.model not in self._unstreamed and refuses_stream(error):
            self._unstreamed.add(request.model)
            return True
        if self._prefills.learn(request, error) or self._files.learn(request, error):
            return True
        sent = self.encode(request, stream=True).content
        if self._room.learn(request, error, len(sent)) or self._plain.learn(request.model, error):
            return True
        body = parse_object(sent) or {}
        return self._refused.learn(request, error, body, request.provider_options.get(NAME, {}))

    def decode(self, request: Request, head: ReplyHead, body: bytes) -> Response:
        chunks = _chunks(body)
        if not chunks:
            raise http_error(request.model, ReplyHead(200), body)
        decoder = GeminiStream(request, head)
        events: list[StreamEvent] = []
        for chunk in chunks:
            events += decoder.chunk(chunk)
        events += decoder.close()
        response = to_response(NAME, request, events, chunks[-1])
        return (
            with_text_calls(response, offered_names(request)) if self._tools.has(request.model) else response
        )

    def stream_decoder(self, request: Request, head: ReplyHead) -> StreamDecoder:
        inner = GeminiStream(request, head)
        if not self._tools.has(request.model):
            return inner
        return TextCallsDecoder(inner, offered_names(request), lenient=True)

    def take_notices(self, model: str) -> Sequence[str]:
        return self._notices.take(model)

    def decode_error(self, request: Request, head: ReplyHead, body: bytes) -> LlmError:
        return http_error(request.model, head, body)

    @property
    def models_path(self) -> str:
        return f"{VERSION}/models?pageSize=1000"

    def models_headers(self) -> Mapping[str, str]:
        return {}

    def decode_models(self, body: bytes) -> Sequence[ListedModel]:
        rows = objects_at(parse_object(body) or {}, "models")
        return [_decode_model(row) for row in rows if "generateContent" in _methods(row)]


def _chunks(body: bytes) -> list[JsonObject]:
    """Return the chunks of a response body: one complete response, or a list of streamed chunks."""
    whole = parse_object(body)
    if whole is not None:
        return [whole]
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return []
    rows = found if isinstance(found, list) else []
    return [row for item in rows if (row := parse_object(json.dumps(item))) is not None]


def _methods(row: JsonObject) -> list[object]:
    found = row.get("supportedGenerationMethods")
    return [*found] if isinstance(found, list) else []


def _decode_model(row: JsonObject) -> ListedModel:
    name = text_at(row, "name").removeprefix("models/")
    inputs, outputs = int_at(row, "inputTokenLimit"), int_at(row, "outputTokenLimit")
    return ListedModel(name, text_at(row, "displayName") or name, inputs, outputs)
