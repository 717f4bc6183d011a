"""OpenAI Responses: one codec of five files, and what strict schemas ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent_ls.llm.errors import LlmError
from agent_ls.llm.providers.base import FactsLookup, ListedModel, ReplyHead, StreamDecoder, WireRequest
from agent_ls.llm.providers.histories import Histories
from agent_ls.llm.providers.model_lists import MODELS_PATH, listed_models
from agent_ls.llm.providers.openai_responses.errors import NAME, http_error
from agent_ls.llm.providers.openai_responses.history import ResponsesHistory
from agent_ls.llm.providers.openai_responses.request import encode_request
from agent_ls.llm.providers.openai_responses.response import decode_response
from agent_ls.llm.providers.openai_responses.stream import ResponsesStream
from agent_ls.llm.requests import Request, Response


class OpenAIResponsesCodec:
    """A Codec (see the seam)."""

    def __init__(self, facts: FactsLookup) -> None:
        self._facts = facts
        self._histories = Histories(ResponsesHistory)

    @property
    def name(self) -> str:
        return NAME

    @property
    def default_base_url(self) -> str:
        return "https://api.openai.com/v1"

    def authorization(self, secret: str) -> Mapping[str, str]:
        return {"authorization": f"Bearer {secret}"}

    def encode(self, request: Request, *, stream: bool) -> WireRequest:
        history, facts = self._histories.of(request), self._facts(request.model)
        return encode_request(request, history, facts, stream=stream)

    def decode(self, request: Request, head: ReplyHead, body: bytes) -> Response:
        return decode_response(request, head, body)

    def stream_decoder(self, request: Request, head: ReplyHead) -> StreamDecoder:
        return ResponsesStream(request, head)

    def decode_error(self, request: Request, head: ReplyHead, body: bytes) -> LlmError:
        return http_error(request.model, head, body)

    @property
    def models_path(self) -> str:
        return MODELS_PATH

    def models_headers(self) -> Mapping[str, str]:
        return {}

    def decode_models(self, body: bytes) -> Sequence[ListedModel]:
        return listed_models(body)
