"""Codec of the Chat Completions API for all compatible servers. The table SERVERS lists their differences."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from agent_ls.llm.errors import LlmError
from agent_ls.llm.providers.base import (
    CapabilitiesLookup,
    ListedModel,
    Probe,
    ReplyHead,
    StreamDecoder,
    WireRequest,
)
from agent_ls.llm.providers.history_cache import HistoryCache
from agent_ls.llm.providers.model_lists import MODELS_PATH, listed_models
from agent_ls.llm.providers.notices import LeftOutNotices
from agent_ls.llm.providers.openai_chat.abilities import (
    calls_tools,
    describe,
    describing_probes,
    probes_of,
)
from agent_ls.llm.providers.openai_chat.adaptations import (
    FIELDS,
    REFUSALS,
    adapt_body,
    adapt_messages,
)
from agent_ls.llm.providers.openai_chat.cut_prompts import CutPrompts
from agent_ls.llm.providers.openai_chat.errors import http_error
from agent_ls.llm.providers.openai_chat.history import ChatHistory
from agent_ls.llm.providers.openai_chat.rejected_output import answer_in_error
from agent_ls.llm.providers.openai_chat.request import Changes, encode_request
from agent_ls.llm.providers.openai_chat.response import as_chunk, unwrapped
from agent_ls.llm.providers.openai_chat.servers import SERVERS
from agent_ls.llm.providers.openai_chat.stream import AnswerSyntax, ChatStream
from agent_ls.llm.providers.output_room import OutputRoom
from agent_ls.llm.providers.part_writer import to_response
from agent_ls.llm.providers.prefill import Prefills
from agent_ls.llm.providers.refused_efforts import RefusedEfforts
from agent_ls.llm.providers.refused_fields import RefusedFields
from agent_ls.llm.providers.refused_files import RefusedFiles
from agent_ls.llm.providers.refused_forms import RefusedForms
from agent_ls.llm.providers.refused_tools import refuses_tools
from agent_ls.llm.providers.text_tools import NO_TOOLS
from agent_ls.llm.providers.wire_json import encode_json, parse_object
from agent_ls.llm.requests import Request, Response
from agent_ls.patterns import regex

_DROPPABLE = {
    "stream_options": "include_usage",
    "reasoning_effort": r"\breasoning\b|\bthinking\b",
    "reasoning": "reasoning.?effort",
    "thinking": "",
    "temperature": "",
    "top_p": "",
    "max_tokens": "",  # renamed, see `encode`
    "max_completion_tokens": "",
    "stop": "",
    "stream": r"\bstreaming\b",
    "tool_choice": "",
    "response_format.json_schema.strict": "",
    "response_format": r"json mode|structured output|\btext\.format\b|json_object",
}
# Bedrock: The toolConfig field must be defined when using toolUse and toolResult content blocks.
_NEEDS_TOOLS = regex(r"toolConfig field must be defined|without `tools=` param", re.IGNORECASE)
# OpenAI: Function tools with reasoning_effort are not supported […] or set reasoning_effort to 'none'.
_WANTS_NO_EFFORT = regex(r"\bset \W?reasoning_effort\W? to \W?none\b", re.IGNORECASE)


class ChatCodec:
    """The codec of one compatible server; see Codec for the contract. `provider` is one of SERVERS.

    The text protocol (text_tools.py) is used for a model that cannot call tools: the catalogue or the option
    `text_tools` says so, or the server has refused a request with tools for this model.
    """

    def __init__(self, provider: str, facts: CapabilitiesLookup, *, text_tools: bool = False) -> None:
        self._provider = provider
        self._server = SERVERS[provider]
        self._facts = facts
        self._text_tools = text_tools
        self._toolless: set[str] = set()
        self._probed: set[str] = set()  # the models whose server was asked what they can
        self._unwarned: set[str] = set()  # the models without tools of which the user has no warning yet
        self._unopened: set[str] = (
            set()
        )  # the models whose answers begin with reasoning that has no opening tag
        self._effortless: set[str] = set()  # the models whose own effort has to be switched off
        self._needs_tools: set[str] = set()  # the models that refuse old calls in a request without tools
        self._forms = RefusedForms(REFUSALS, FIELDS)
        self._notices = LeftOutNotices()
        self._refused = RefusedFields(_DROPPABLE, self._notices)
        self._files = RefusedFiles(self._notices)
        self._efforts = RefusedEfforts(self._notices)
        self._prefills = Prefills()
        self._room = OutputRoom()
        self._cut = CutPrompts()
        self._native = HistoryCache(lambda model: ChatHistory(provider, self._server, model, textual=False))
        self._textual = HistoryCache(lambda model: ChatHistory(provider, self._server, model, textual=True))

    @property
    def name(self) -> str:
        return self._provider

    @property
    def default_base_url(self) -> str:
        return self._server.base_url

    def authorization(self, secret: str) -> Mapping[str, str]:
        return {"authorization": f"Bearer {secret}"} if secret else {}

    def encode(self, request: Request, *, stream: bool) -> WireRequest:
        request = self._files.fit(self._efforts.fit(self._prefills.fit(request)))
        return self._room.fitted(request, partial(self._encode, stream=stream))

    def _encode(self, request: Request, *, stream: bool) -> WireRequest:
        textual = self._is_textual(request)
        history = (self._textual if textual else self._native).encode(request)
        chosen = self._forms.of(request.model)
        history.keeps_thoughts = "reasoning" in chosen
        server = self._server
        if request.model in self._effortless:
            request = replace(request, reasoning_effort="none")
        if self._refused.has(request.model, "max_tokens"):
            server = replace(server, max_tokens_key="max_completion_tokens")
        return encode_request(
            self._provider,
            server,
            request,
            history,
            textual=textual,
            stream=stream,
            changes=Changes(
                lambda body: adapt_body(self._refused.without(request.model, body), chosen),
                partial(adapt_messages, chosen=chosen),
            ),
        )

    def decode(self, request: Request, head: ReplyHead, body: bytes) -> Response:
        wire = unwrapped(parse_object(body) or {})
        if wire.get("error") or not wire.get("choices"):
            raise http_error(self._provider, request.model, ReplyHead(200), body)
        decoder = ChatStream(request, head, self._reading(request))
        events = [*decoder.chunk(as_chunk(wire)), *decoder.close()]
        return to_response(self._provider, request, events, wire)

    def stream_decoder(self, request: Request, head: ReplyHead) -> StreamDecoder:
        return ChatStream(request, head, self._reading(request))

    def take_notices(self, model: str) -> Sequence[str]:
        return self._notices.take(model)

    def decode_error(self, request: Request, head: ReplyHead, body: bytes) -> LlmError:
        return http_error(self._provider, request.model, head, body)

    def rescue(self, request: Request, head: ReplyHead, body: bytes) -> Response | None:
        message = answer_in_error(body, [tool.name for tool in request.tools])
        if message is None:
            return None
        reply = encode_json({"id": "rescued", "choices": [{"message": message, "finish_reason": "stop"}]})
        return self.decode(request, head, reply)

    def adapt_encoding(self, request: Request, error: LlmError) -> bool:
        if request.tools and not self._is_textual(request) and refuses_tools(error):
            self._toolless.add(request.model)
            self._unwarned.add(request.model)
            return True
        if not request.tools and not self._is_textual(request) and _NEEDS_TOOLS.search(str(error)):
            self._needs_tools.add(request.model)
            return True
        if _WANTS_NO_EFFORT.search(str(error)) and request.model not in self._effortless:
            self._effortless.add(request.model)
            self._notices.add_left_out(request, "reasoning_effort")
            return True
        if any(each.learn(request, error) for each in (self._prefills, self._files, self._efforts)):
            return True
        if (
            "signed" in self._forms.of(request.model)
            and request.tools
            and "missing a thought_signature" in str(error)
        ):
            self._toolless.add(request.model)  # a proxy drops each signature: calls are sent as text
            return True
        if self._forms.learn(request.model, error, lambda: self.encode(request, stream=True).content):
            return True
        options = request.provider_options.get(self._provider, {})
        sent = self.encode(request, stream=True).content
        if self._room.learn(request, error, len(sent)):
            return True
        body = parse_object(sent) or {}
        return self._refused.learn(request, error, body, options)

    def probes(self, request: Request, base_url: str) -> Sequence[Probe]:
        asked = request.provider_options.get(self._provider, {}).get("text_tools")
        is_settled = request.model in self._probed or isinstance(asked, bool) or self._is_textual(request)
        if not request.tools or is_settled:
            return ()
        self._probed.add(request.model)
        return probes_of(self._provider, request.model, base_url)

    def learn_abilities(self, request: Request, body: bytes) -> bool:
        able = calls_tools(body)
        if able is False:
            self._toolless.add(request.model)
            self._unwarned.add(request.model)
        return able is not None

    def describing_probes(self, models: Sequence[ListedModel], base_url: str) -> Sequence[Probe]:
        return describing_probes(self._provider, models, base_url)

    def describe(self, models: Sequence[ListedModel], probe: Probe, body: bytes) -> Sequence[ListedModel]:
        return describe(models, probe, body)

    @property
    def models_path(self) -> str:
        return MODELS_PATH

    def models_headers(self) -> Mapping[str, str]:
        return {}

    def decode_models(self, body: bytes) -> Sequence[ListedModel]:
        return listed_models(body)

    def _reading(self, request: Request) -> AnswerSyntax:
        offered = tuple(tool.name for tool in request.tools) if request.tool_choice != "none" else ()
        notice = NO_TOOLS if request.model in self._unwarned else ""
        self._unwarned.discard(request.model)
        return AnswerSyntax(
            self._provider,
            offered,
            textual=self._is_textual(request),
            notice=notice,
            thinks_first=request.model in self._unopened,
            on_unopened=partial(self._unopened.add, request.model),
            **({"notice_of": partial(self._cut.notice, request)} if self._provider == "ollama" else {}),
        )

    def _is_textual(self, request: Request) -> bool:
        """Return whether to use the text protocol (text_tools.py) instead of the API's tool calls.

        A request without tools can need the text protocol too, because its history may contain calls.
        """
        asked = request.provider_options.get(self._provider, {}).get("text_tools")
        if isinstance(asked, bool):
            return asked
        if not request.tools and request.model in self._needs_tools:
            return True
        is_known = request.model in self._toolless or not self._facts(request.model).calls_tools
        return self._text_tools or is_known
