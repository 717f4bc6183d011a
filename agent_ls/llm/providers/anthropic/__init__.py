"""Codec of Anthropic's Messages API."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product

from agent_ls.llm.errors import LlmError
from agent_ls.llm.providers.anthropic.errors import NAME, http_error
from agent_ls.llm.providers.anthropic.forms import FIELDS, REFUSALS, adapt_body
from agent_ls.llm.providers.anthropic.history import AnthropicHistory
from agent_ls.llm.providers.anthropic.request import encode_request
from agent_ls.llm.providers.anthropic.response import decode_response
from agent_ls.llm.providers.anthropic.stream import AnthropicStream
from agent_ls.llm.providers.base import CapabilitiesLookup, ListedModel, ReplyHead, StreamDecoder, WireRequest
from agent_ls.llm.providers.history_cache import HistoryCache
from agent_ls.llm.providers.notices import LeftOutNotices
from agent_ls.llm.providers.output_room import OutputRoom
from agent_ls.llm.providers.plain_schemas import PlainSchemas
from agent_ls.llm.providers.prefill import Prefills
from agent_ls.llm.providers.refused_efforts import RefusedEfforts
from agent_ls.llm.providers.refused_fields import RefusedFields
from agent_ls.llm.providers.refused_files import RefusedFiles
from agent_ls.llm.providers.refused_forms import RefusedForms
from agent_ls.llm.providers.text_calls import TextCallsDecoder, offered_names, with_text_calls
from agent_ls.llm.providers.text_thoughts import TextThoughtsDecoder, with_text_thoughts
from agent_ls.llm.providers.tools_as_text import ToolsAsText
from agent_ls.llm.providers.wire_json import int_at, objects_at, parse_object, text_at
from agent_ls.llm.requests import Request, Response
from agent_ls.patterns import regex

DEFAULT_VERSION = "2023-06-01"  # every server supports it; 2026-10-21 only removes sampling parameters


_DROPPABLE = {
    "cache_control": r"cache_control|cache ?point|prompt ?caching",
    "thinking.display": "",
    "output_config.effort": r"output_config|\beffort",
    "output_config.format": "",
    "thinking": r"adaptive|reasoning",
    "metadata": "",
    "temperature": "",
    "top_p": "",
    "stop_sequences": "",
    "stream": r"\bstreaming\b",
    "tool_choice": "",
}


# The first name is of this API, the others are Bedrock's.
_OF_MARKS = regex(_DROPPABLE["cache_control"], re.IGNORECASE)
_AT_TOP = regex(r"(?<![\w.])cache_control: ")


class AnthropicCodec:
    """The codec of Anthropic; see Codec for the contract.

    `betas` are names of beta features. Every request enables them, in addition to those in the request's
    options. `text_tools`: use the text protocol for each model.
    """

    def __init__(
        self,
        facts: CapabilitiesLookup,
        version: str = DEFAULT_VERSION,
        betas: Sequence[str] = (),
        *,
        text_tools: bool = False,
    ) -> None:
        self._facts = facts
        self._version = version or DEFAULT_VERSION
        self._betas = tuple(betas)
        self._histories = {
            (thoughtful, has_blanks): HistoryCache(
                partial(AnthropicHistory, thoughtful=thoughtful, has_blanks=has_blanks)
            )
            for thoughtful, has_blanks in product((False, True), repeat=2)
        }
        self._forms = RefusedForms(REFUSALS, FIELDS)
        self._notices = LeftOutNotices()
        self._tools = ToolsAsText(self._notices, always=text_tools)
        self._refused = RefusedFields(_DROPPABLE, self._notices)
        self._files = RefusedFiles(self._notices)
        self._efforts = RefusedEfforts(self._notices)
        self._unmarked: set[str] = set()
        self._plain = PlainSchemas()
        self._prefills = Prefills()
        self._room = OutputRoom()

    @property
    def name(self) -> str:
        return NAME

    @property
    def default_base_url(self) -> str:
        return "https://api.anthropic.com"

    def authorization(self, secret: str) -> Mapping[str, str]:
        return {
            "x-api-key": secret
        }  # compatible servers accept this header; some do not accept the newer Bearer form

    def encode(self, request: Request, *, stream: bool) -> WireRequest:
        default = self._facts(request.model).max_output_tokens
        request = self._tools.fit(self._files.fit(self._efforts.fit(self._prefills.fit(request))))
        return self._room.fitted(request, partial(self._encode, stream=stream), default)

    def _encode(self, request: Request, *, stream: bool) -> WireRequest:
        model, betas = request.model, self._betas
        forms = self._forms.of(model)
        histories = self._histories["thoughtful" in forms, "blankless" not in forms]
        history, facts = histories.encode(request), self._facts(model)
        history.forms = forms
        self._notices.add_unused_effort(request, facts)
        if model in self._unmarked or forms & {"unmarked", "texts"}:
            request = _without_marks(request)
        return encode_request(
            request,
            history,
            facts,
            self._version,
            betas,
            stream=stream,
            fit=lambda body: adapt_body(self._plain.fit(model, self._refused.without(model, body)), forms),
        )

    def adapt_encoding(self, request: Request, error: LlmError) -> bool:
        """Encode later requests without an optional field that the server or a proxy refuses, with plain schemas, with
        a lower limit of the output, or with messages in another form.
        """
        if self._tools.learn(request, error):
            return True
        if self._forms.learn(request.model, error, lambda: self.encode(request, stream=True).content):
            return True
        if self._prefills.learn(request, error) or self._plain.learn(request.model, error):
            return True
        if self._files.learn(request, error) or self._efforts.learn(request, error):
            return True
        sent = self.encode(request, stream=True).content
        if self._room.learn(request, error, len(sent), self._facts(request.model).max_output_tokens):
            return True
        body = parse_object(sent) or {}
        model, had_refused = request.model, self._refused.has(request.model, "cache_control")
        learned = self._refused.learn(request, error, body, request.provider_options.get(NAME, {}))
        refuses_marks = self._refused.has(model, "cache_control") and _OF_MARKS.search(str(error))
        # Some clouds take the marks of blocks and refuse the field at the top. Others refuse every mark.
        if refuses_marks and model not in self._unmarked and (had_refused or not _AT_TOP.search(str(error))):
            self._unmarked.add(model)
            return True
        return learned

    def decode(self, request: Request, head: ReplyHead, body: bytes) -> Response:
        return with_text_calls(
            with_text_thoughts(decode_response(request, head, body)), offered_names(request)
        )

    def stream_decoder(self, request: Request, head: ReplyHead) -> StreamDecoder:
        inner = TextThoughtsDecoder(AnthropicStream(request, head))
        return TextCallsDecoder(inner, offered_names(request), lenient=self._tools.has(request.model))

    def take_notices(self, model: str) -> Sequence[str]:
        return self._notices.take(model)

    def decode_error(self, request: Request, head: ReplyHead, body: bytes) -> LlmError:
        return http_error(request.model, head, body)

    @property
    def models_path(self) -> str:
        return "/v1/models?limit=1000"

    def models_headers(self) -> Mapping[str, str]:
        return {"anthropic-version": self._version}

    def decode_models(self, body: bytes) -> Sequence[ListedModel]:
        rows = objects_at(parse_object(body) or {}, "data")
        return [
            ListedModel(
                text_at(row, "id"),
                text_at(row, "display_name"),
                int_at(row, "max_input_tokens"),
                int_at(row, "max_tokens"),
            )
            for row in rows
            if text_at(row, "id")
        ]


def _without_marks(request: Request) -> Request:
    options = {**request.provider_options.get(NAME, {}), "auto_cache": False}
    return replace(request, provider_options={**request.provider_options, NAME: options})
