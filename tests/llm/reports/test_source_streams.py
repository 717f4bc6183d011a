"""Streams of model servers and gateways, in the forms that their sources write."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.providers.base import Codec
from agent_ls.llm.requests import Response
from tests.llm.providers.test_anthropic_stream import block, end, sse as events, text_block
from tests.llm.providers.test_chat_stream import wire as chat_wire
from tests.llm.providers.test_gemini_stream import chunk as part, wire as gemini_wire
from tests.llm.providers.test_openai_stream import CREATED, added, done, final, sse as items
from tests.llm.reports.chat import ASK, codec
from tests.llm.reports.test_more_streams import ENDS, call_piece, piece, said
from tests.llm.reports.test_twentieth_streams import STOP, ended
from tests.support.codec_runs import ANTHROPIC, GEMINI, OPENAI, response_of
from tests.support.reports import reported

CODECS: dict[str, Codec] = {"anthropic": ANTHROPIC, "responses": OPENAI, "gemini": GEMINI}


def heard(wire: str, data: bytes) -> Response:
    return response_of(CODECS.get(wire) or codec(wire), data, ASK)


def lines(*data: Any) -> bytes:
    return b"".join(
        b"data: %s\n\n" % (one if isinstance(one, str) else json.dumps(one)).encode() for one in data
    )


def failed(**error: Any) -> Any:
    return {"error": error}


HI = piece(content="Hi")
READ = ("read", {"path": "a.py"})
WHOLE = '{"path": "a.py"}'
# A failure after the answer has begun.
BROKEN: list[Any] = [
    reported("vllm-project/vllm@source", "vllm",
        lines(HI, failed(message="Internal server error", type="InternalServerError", param=None, code=500), "[DONE]"),
        e.ServerError, what="chat-servers, passed: vLLM ends a failed stream with DONE"),
    reported("sgl-project/sglang@source", "compatible",
        lines(HI, failed(object="error", message="The request queue is full.", type="ABORT", param=None, code=503),
            "[DONE]"), e.ServerError, what="chat-servers, passed: SGLang aborts a request within its stream"),
    reported("sgl-project/sglang@source", "compatible",
        lines(HI, ended({"type": "abort", "message": "Abort before prefill", "status_code": 503}), "[DONE]"),
        "error", what="chat-servers, failed: the finish reason of SGLang is an object"),
    reported("ggml-org/llama.cpp@form", "llamacpp",
        lines(HI) + b'error: {"code":500,"message":"Compute error.","type":"server_error"}\n\n', e.ServerError,
        what="chat-servers, passed: an older llama.cpp has a field of its own for errors"),
    reported("ggml-org/llama.cpp@form", "llamacpp",
        lines(HI, failed(code=500, message="Context size has been exceeded.", type="server_error")),
        e.ContextLengthError,
        what="chat-servers, passed: the context of llama.cpp is full within an answer"),
    reported("ollama/ollama@source", "ollama", lines(HI) + b'{"error":"an error was encountered while '
            b'running the '
        b'model: unexpected EOF","status":500}\n', e.ServerError,
        what="chat-servers, passed: the error of Ollama is no event"),
    reported("ollama/ollama@source", "ollama",
        lines(HI, failed(message="error parsing tool call: raw='{', err=unexpected end of JSON input", type="api_error",
            param=None, code=None)), e.ProviderError, what="chat-servers, passed: Ollama cannot read a call within "
                "a stream"),
    reported("theroyallab/tabbyAPI@source", "compatible",
        lines(HI, failed(message="Chat completion aborted. Please check the server console.", trace="Traceback")),
        e.ProviderError, what="chat-servers, passed: TabbyAPI aborts within a stream"),
    reported("huggingface/text-generation-inference@source", "compatible",
        b"event: error\n" + lines(failed(message="Request failed during generation: CUDA error", http_status_code=422)),
        e.ServerError, what="chat-servers, passed: TGI gives a failure the status of a refusal"),
    reported("lm-sys/FastChat@source", "compatible",
        lines(HI, {"text": "**NETWORK ERROR DUE TO HIGH TRAFFIC.**", "error_code": 50002}), e.ProviderError,
        what="chat-servers, failed: FastChat has a code and a text in place of choices"),
    reported("Kong/kong@source", "compatible",
        lines(HI, {"error": True, "message": "empty or unsupported transformer response"}), e.ProviderError,
        what="chat-servers, passed: the error of Kong is true"),
    reported("router-for-me/CLIProxyAPI@source", "compatible",
        lines(HI, failed(message="upstream stream failed without error details", type="server_error")), e.ServerError,
        what="chat-servers, passed: CLIProxyAPI has no details"),
    reported("BerriAI/litellm@form", "compatible",
        lines(HI, failed(message="litellm.MidStreamFallbackError: litellm.APIConnectionError: peer closed connection",
            type=None, param=None, code="500")), e.ServerError,
        what="chat-servers, passed: the upstream of LiteLLM closes the connection"),
    reported("BerriAI/litellm@form", "compatible",
        lines(HI, json.dumps(failed(message="Rate limit", code="429")).replace('"429"', "429")), e.RateLimitError,
        what="chat-servers, passed: LiteLLM meets a limit within a stream"),
    reported("deepseek-ai/DeepSeek-V3@form", "deepseek", lines(HI, ended("insufficient_system_resource"),
        "[DONE]"),
        "error", what="chat-servers, passed: DeepSeek runs out of resources"),
    reported("vllm-project/vllm@source", "vllm", lines(HI, ended("error"), "[DONE]"), "error",
        what="chat-servers, passed: vLLM ends an answer by an error"),
    reported("vllm-project/vllm@source", "vllm", lines(HI, ended("repetition"), "[DONE]"), "error",
        what="chat-servers, failed: vLLM ends an answer that repeats itself"),
    reported("NVIDIA/TensorRT-LLM@form", "compatible",
        lines(HI, ended("cancelled"), "[DONE]"), "error", what="chat-servers, failed: TensorRT-LLM cancels an answer"),
    reported("mlc-ai/mlc-llm@source", "compatible", lines(HI, ended("preempt"), "[DONE]"), "error",
        what="chat-servers, failed: MLC gives up a sequence"),
    reported("mistralai/client-python@form", "mistral",
        lines(HI, ended("error"), "[DONE]"), "error", what="chat-servers, passed: Mistral ends an answer by an error"),
    reported("mistralai/client-python@form", "mistral",
        lines(HI, ended("model_length"), "[DONE]"), "length", what="chat-servers, passed: the window of Mistral is "
            "full"),
    reported("cohere-ai/cohere-python@form", "compatible",
        lines(HI, ended("ERROR_LIMIT"), "[DONE]"), "length", what="chat-servers, failed: an answer of Cohere has a "
            "limit"),
    reported("cohere-ai/cohere-python@form", "compatible",
        lines(HI, ended("ERROR_TOXIC"), "[DONE]"), "content_filter", what="chat-servers, failed: Cohere filters an "
            "answer"),
    reported("cohere-ai/cohere-python@form", "compatible",
        lines(HI, ended("ERROR"), "[DONE]"), "error", what="chat-servers, passed: an answer of Cohere fails"),
    reported("aws/aws-sdk-js-v3@form", "compatible",
        lines(HI, ended("guardrail_intervened"), "[DONE]"), "content_filter",
        what="chat-servers, failed: a guardrail of Bedrock ends an answer"),
    reported("aws/aws-sdk-js-v3@form", "compatible",
        lines(HI, ended("content_filtered"), "[DONE]"), "content_filter",
        what="chat-servers, failed: Bedrock filters an answer"),
    reported("aws/aws-sdk-js-v3@form", "compatible",
        lines(HI, ended("malformed_model_output"), "[DONE]"), "error",
        what="chat-servers, failed: the output of a model at Bedrock is malformed"),
    reported("googleapis/python-genai@form", "compatible", lines(HI, ended("PROHIBITED_CONTENT"),
        "[DONE]"),
        "content_filter", what="chat-servers, failed: a proxy keeps a finish reason of Gemini"),
    reported("googleapis/python-genai@form", "compatible", lines(HI, ended("MAX_TOKENS"), "[DONE]"),
        "length",
        what="chat-servers, passed: a proxy keeps the limit of Gemini"),
    reported("googleapis/python-genai@form", "compatible",
        lines(HI, ended("UNEXPECTED_TOOL_CALL"), "[DONE]"), "error",
        what="chat-servers, failed: a proxy keeps a failed call of Gemini"),
    reported("googleapis/python-genai@form", "gemini",
        gemini_wire(part({"text": "Hi"}), part(finish="TOO_MANY_TOOL_CALLS")), "error",
        what="gemini, passed: Gemini has made too many calls"),
    reported("googleapis/python-genai@form", "gemini",
        gemini_wire(part({"text": "Hi"}), part(finish="MALFORMED_RESPONSE")), "error",
        what="gemini, passed: an answer of Gemini is malformed"),
    reported("googleapis/python-genai@form", "gemini",
        gemini_wire(part({"text": "Hi"}), part(finish="BLOCKLIST")), "content_filter",
        what="gemini, passed: a word of an answer is in a block list"),
    reported("googleapis/python-genai@form", "gemini",
        gemini_wire(part({"text": "Hi"}), part(finish="SPII")), "content_filter",
        what="gemini, passed: an answer has personal data"),
    reported("googleapis/python-genai@form", "gemini",
        gemini_wire(part({"text": "Hi"}), failed(code=503, message="overloaded", status="UNAVAILABLE")),
        e.OverloadedError,
        what="gemini, passed: Gemini is overloaded within a stream"),
    reported("1rgs/claude-code-proxy@source", "anthropic",
        events({"type": "message_start", "message": {}}, *text_block(0, "Hi"), *end("error")) + b"data: [DONE]\n\n",
        "error",
        what="anthropic, failed: the stop reason of a proxy is an error"),
    reported("ericc-ch/copilot-api@source", "anthropic",
        events({"type": "message_start", "message": {}}, *text_block(0, "Hi"), {"type": "error", "error": {
            "type": "api_error", "message": "An unexpected error occurred during streaming."}}), e.ServerError,
        what="anthropic, passed: a proxy of Copilot fails within a stream"),
    reported("anthropics/anthropic-sdk-typescript@form", "anthropic",
        events({"type": "message_start", "message": {}}, *text_block(0, "Hi"), *end("model_context_window_exceeded")),
        "length", what="anthropic, passed: the window is full within an answer"),
    reported("vllm-project/vllm@source", "anthropic",
        events({"type": "message_start", "message": {}}, *text_block(0, "Hi")) + b"event: error\n" + lines(
            {"type": "error", "error": {"type": "internal_error", "message": "EngineCore encountered an issue."}}),
        e.ProviderError, what="anthropic, passed: the engine of vLLM dies within a stream"),
    reported("openai/openai-openapi@form", "responses",
        items(CREATED, {"type": "response.failed", "response": {"status": "failed", "error": {
            "code": "server_error", "message": "failed"}}}), e.ServerError, what="responses, passed: a response fails"),
    reported("router-for-me/CLIProxyAPI@source", "responses",
        items(CREATED, {"type": "error", "code": "internal_server_error", "message": "internal error",
            "sequence_number": 0}), e.ServerError, what="responses, passed: CLIProxyAPI has a code of its own"),
    reported("openai/openai-openapi@form", "responses",
        items(CREATED, {"type": "error", "error": {"type": "too_many_requests", "code": "rate_limit_exceeded",
            "message": "Please try again in 2s.", "headers": {}}}), e.RateLimitError,
        what="responses, passed: a limit is met within a stream"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "data", "outcome"), BROKEN)
def test_a_broken_answer_is_no_complete_one(wire: str, data: bytes, outcome: Any) -> None:
    if isinstance(outcome, str):
        response = heard(wire, data)
        assert (response.finish_reason.kind, response.text) == (outcome, "Hi")
        return
    with pytest.raises(outcome) as raised:
        heard(wire, data)
    assert isinstance(raised.value, e.ProviderError), "it is the server's error"
    is_overflow = isinstance(raised.value, e.ContextLengthError)
    assert raised.value.retryable is not is_overflow


CALLS: list[Any] = [
    reported("LostRuins/koboldcpp@source",
        [piece(tool_calls=[{"id": "call_001", "index": "0", "type": "function", "function": {"name": "read",
            "arguments": {"path": "a.py"}}}]), ENDS], [READ],
        what="chat-servers, passed: the index of KoboldCpp is a text and its arguments are an object"),
    reported("ollama/ollama@source",
        [piece(role="assistant", content="", tool_calls=[{"id": "call_a", "index": 0, "type": "function", "function": {
            "name": "read", "arguments": WHOLE}}]), piece(role="assistant", content="", tool_calls=[{"id": "call_b",
            "index": 0, "type": "function", "function": {"name": "list", "arguments": "{}"}}]), ENDS],
        [READ, ("list", {})], what="chat-servers, passed: each call of Ollama is a chunk with index 0"),
    reported("huggingface/text-generation-inference@source",
        [piece(role="assistant", tool_calls=[{"index": 0, "id": "", "type": "function", "function": {"name": "read",
            "arguments": '{"'}}]), piece(role="assistant", tool_calls=[{"index": 0, "id": "", "type": "function",
            "function": {"name": None, "arguments": 'path": "a.py"}'}}]), ENDS], [READ],
        what="chat-servers, passed: calls of TGI have no id"),
    reported("huggingface/text-generation-inference@source",
        [piece(role="assistant", tool_calls={"index": 0, "id": "", "type": "function", "function": {"name": "read",
            "arguments": WHOLE}}), ENDS], [READ],
            what="chat-servers, passed: the calls of an older TGI are one object"),
    reported("triton-inference-server/server@source",
        [piece(tool_calls=[{"index": 0, "id": "cmpl-1", "type": "function", "function": {"name": "read"}}]),
            piece(tool_calls=[{"index": 0, "function": {"arguments": WHOLE}}]), ENDS], [READ],
        what="chat-servers, passed: the first piece of Triton has no arguments"),
    reported("EricLBuehler/mistral.rs@source",
        [piece(content=None, role="assistant", tool_calls=[{"index": 0, "id": "call-1", "type": "function",
        "function": {
            "name": "read", "arguments": WHOLE}}, {"index": 1, "id": "call-2", "type": "function", "function": {
            "name": "list", "arguments": "{}"}}]), ENDS], [READ, ("list", {})],
        what="chat-servers, passed: mistral.rs sends all calls at once"),
    reported("ml-explore/mlx-lm@source",
        [piece(role="assistant", content="", tool_calls=[]), piece(role="assistant", tool_calls=[{"function": {
            "name": "read", "arguments": WHOLE}, "type": "function", "id": None}]), ENDS], [READ],
        what="chat-servers, passed: a call of mlx-lm has neither index nor id"),
    reported("InternLM/lmdeploy@source",
        [piece(tool_calls=[{"id": "chatcmpl-1", "index": 0, "type": "function", "function": {"name": "read",
            "arguments": None}}]), piece(tool_calls=[{"id": "chatcmpl-2", "index": 0, "type": "function", "function": {
            "name": None, "arguments": '{"path": '}}]), piece(tool_calls=[{"id": "chatcmpl-3", "index": 0,
            "type": "function", "function": {"name": None, "arguments": '"a.py"}'}}]), ENDS], [READ],
        what="chat-servers, passed: each piece of LMDeploy has an id of its own"),
    reported("aws-samples/bedrock-access-gateway@source",
        [piece(role="assistant", tool_calls=[{"index": -1, "id": "tooluse_1", "type": "function", "function": {
            "name": "read", "arguments": ""}}]), piece(tool_calls=[{"index": -1, "function": {"arguments": WHOLE}}]),
            ENDS],
        [READ], what="chat-servers, passed: the index of a call is below 0"),
    reported("aws-samples/bedrock-access-gateway@source",
        [piece(tool_calls=[{"index": 1, "id": "t1", "type": "function", "function": {"name": "read",
        "arguments": ""}}]),
            piece(tool_calls=[{"index": 1, "function": {"arguments": WHOLE}}]), piece(tool_calls=[{"index": 3,
            "id": "t2",
            "type": "function", "function": {"name": "list", "arguments": ""}}]), ENDS], [READ, ("list", {})],
        what="chat-servers, passed: indexes have gaps"),
    reported("Portkey-AI/gateway@source",
        [piece(tool_calls=[{"index": 0, "id": "portkey-1", "type": "function", "function": {"name": "read",
            "arguments": WHOLE}}]), piece(tool_calls=[{"index": 0, "id": "portkey-2", "type": "function", "function": {
            "name": "read", "arguments": '{"path": "b.py"}'}}]), STOP], [READ, ("read", {"path": "b.py"})],
        what="chat-servers, passed: Portkey counts the calls of each chunk of Gemini from 0"),
    reported("Portkey-AI/gateway@source",
        [piece(tool_calls=[{"index": 0, "id": "read_1", "type": "function", "function": {"name": "read",
            "arguments": ""}}]), piece(tool_calls=[{"index": 0, "type": "function", "function": {"name": "",
            "arguments": WHOLE}}]), ENDS], [READ], what="chat-servers, passed: later pieces have an empty name"),
    reported("songquanpeng/one-api@source",
        [piece(content="", role="assistant", tool_calls=[{"id": "call_1", "type": "function",
        "function": {"name": "read",
            "arguments": WHOLE}}]), STOP], [READ], what="chat-servers, passed: a call of one-api has no index and "
            "ends by stop"),
    reported("songquanpeng/one-api@source",
        [{"choices": [{"index": 0, "delta": {"content": "", "tool_calls": [{"id": "call_1", "type": "function",
        "function": {
            "name": "read", "arguments": WHOLE}}]}}]}, STOP], [READ],
        what="chat-servers, passed: a chunk has no finish reason at all"),
    reported("QuantumNous/new-api@source",
        [piece(tool_calls=[{"index": 0, "id": "call_1", "type": "function", "function": {"name": "read",
            "arguments": WHOLE}}]), ended("tool_calls", tool_calls=[{"index": 0, "id": "call_1", "type": "function",
            "function": {"name": "read", "arguments": WHOLE}}])], [READ],
        what="chat-servers, passed: the last chunk of new-api repeats a call"),
    reported("katanemo/archgw@source",
        [piece(tool_calls=[{"index": 0, "id": "t1", "type": "function", "function": {"name": "read",
        "arguments": ""}}]),
            piece(tool_calls=[{"index": 0, "id": None, "type": None, "function": {"name": None, "arguments": WHOLE}}]),
            ENDS], [READ], what="chat-servers, passed: later pieces have nulls"),
    reported("musistudio/llms@form",
        [piece(tool_calls=[{"index": 0, "id": "t1", "function": {"name": "read", "arguments": "{'path': 'a.py',}"}}]),
        ENDS],
        [READ], what="chat-servers, failed: the arguments are JSON5"),
    reported("vllm-project/vllm@source",
        [piece(tool_calls=[{"index": 0, "id": "chatcmpl-tool-1", "type": "function", "function": {"name": "read"}}]),
            piece(tool_calls=[{"index": 0, "function": {"arguments": '{"path": "a.'}}]),
            piece(tool_calls=[{"index": 0, "function": {"arguments": 'py"}'}}]),
            piece(tool_calls=[{"index": 0, "function": {"arguments": ""}}]), ENDS], [READ],
        what="chat-servers, passed: a piece of vLLM is empty"),
    reported("vllm-project/vllm@source",
        [call_piece(0, "a", "read", WHOLE), ended("stop")], [READ],
        what="chat-servers, passed: a named choice of vLLM ends by stop"),
    reported("sgl-project/sglang@source",
        [piece(tool_calls=[{"id": "call_a", "index": 0, "type": "function", "function": {"name": "read",
            "arguments": ""}}]), piece(tool_calls=[{"id": None, "index": 0, "type": "function",
            "function": {"name": None,
            "arguments": WHOLE}}]), piece(tool_calls=[{"id": "call_b", "index": 1, "type": "function", "function": {
            "name": "list", "arguments": ""}}]), piece(tool_calls=[{"id": None, "index": 1, "type": "function",
            "function": {"name": None, "arguments": "{}"}}]), ENDS], [READ, ("list", {})],
        what="chat-servers, passed: calls of SGLang follow one another"),
    reported("deepset-ai/haystack@form",
        [piece(tool_calls=[{"index": 0, "id": "t1", "type": "function", "function": {"name": "read",
        "arguments": None}}]),
            piece(tool_calls=[{"index": 0, "function": None}]), piece(tool_calls=[{"index": 0, "function": {
            "arguments": WHOLE}}]), ENDS], [READ], what="chat-servers, passed: the function of a piece is null"),
    reported("services/cloudflare@form",
        [piece(tool_calls=[{"index": 0, "id": "t1", "type": "function", "function": {"name": "read",
        "arguments": WHOLE}}]),
            piece(tool_calls=[{"index": None, "id": None, "type": None, "function": {"name": None, "arguments": ""}}]),
            ENDS], [READ], what="chat-servers, passed: a piece of Workers AI has only nulls"),
    reported("services/Azure@form",
        [{"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}, call_piece(0, "a", "read", WHOLE), ENDS],
        [READ],
        what="chat-servers, passed: the first chunk of Azure has only the filter's results"),
    reported("openai/harmony@form",
        [piece(tool_calls=[{"index": 0, "id": "t1", "type": "function", "function": {
            "name": "functions.read<|channel|>commentary", "arguments": WHOLE}}]), ENDS], [READ],
        what="chat-servers, passed: the name of a call has a mark of harmony"),
    reported("services/MoonshotAI@form",
        [piece(tool_calls=[{"index": 0, "id": "functions.read:0", "type": "function",
        "function": {"name": "functions.read",
            "arguments": WHOLE}}]), ENDS], [READ], what="chat-servers, passed: the name of a call has that of its "
            "space"),
]  # fmt: skip


@pytest.mark.parametrize(("chunks", "calls"), CALLS)
def test_each_call_is_read(chunks: list[Any], calls: list[Any]) -> None:
    response = heard("compatible", chat_wire(*chunks) if "[DONE]" not in chunks else lines(*chunks))
    assert (said(response)[1], response.finish_reason.kind) == (calls, "tool_calls")
    assert len({call.id for call in response.tool_calls} - {""}) == len(calls)


def thought(**delta: Any) -> list[Any]:
    return [piece(**delta), piece(content="Hi"), STOP]


THOUGHTS: list[Any] = [
    reported("vllm-project/vllm@source", thought(reasoning="hm"),
        what="chat-servers, passed: reasoning is the field reasoning"),
    reported("sgl-project/sglang@source", thought(reasoning_content="hm"),
        what="chat-servers, passed: reasoning is the field reasoning_content"),
    reported("ericc-ch/copilot-api@source",
        thought(reasoning_text="hm", reasoning_opaque="b64"), what="chat-servers, passed: Copilot has an opaque "
            "reasoning"),
    reported("microsoft/vscode-copilot-chat@form",
        thought(cot_summary="hm", cot_id="c1"), what="chat-servers, failed: Copilot has a summary of a chain of "
            "thought"),
    reported("mistralai/client-python@form",
        thought(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]),
        what="chat-servers, passed: reasoning of Mistral is a part of the content"),
    reported("Portkey-AI/gateway@source",
        thought(content_blocks=[{"index": 0, "delta": {"thinking": "hm"}}]),
        what="chat-servers, failed: Portkey has content blocks beside the content"),
    reported("envoyproxy/ai-gateway@source",
        thought(reasoning_content={"text": "hm", "signature": "s"}),
        what="chat-servers, failed: the reasoning of Envoy is an object"),
    reported("BerriAI/litellm@form",
        thought(thinking_blocks=[{"type": "thinking", "thinking": "hm", "signature": "s"}]),
        what="chat-servers, passed: LiteLLM has thinking blocks alone"),
    reported("googleapis/python-genai@form",
        thought(content="<thought>hm</thought>", extra_content={"google": {"thought": True}}),
        what="chat-servers, passed: a thought of Gemini is marked beside the content"),
    reported("services/OpenRouterTeam@form",
        thought(reasoning_details=[{"type": "reasoning.summary", "summary": "hm", "format": "openai-responses-v1"}]),
        what="chat-servers, passed: a summary of OpenRouter is reasoning"),
    reported("huggingface/text-generation-inference@source", thought(content="<think>hm</think>"),
        what="chat-servers, passed: reasoning of TGI is in tags"),
    reported("services/MoonshotAI@form", thought(content="◁think▷hm◁/think▷"),
        what="chat-servers, failed: reasoning of Kimi is in triangles"),
    reported("services/CohereForAI@form", thought(content="<|START_THINKING|>hm<|END_THINKING|>"),
        what="chat-servers, failed: reasoning of Cohere is between marks"),
    reported("services/NovaSky-AI@form",
        thought(content="<|begin_of_thought|>hm<|end_of_thought|>"),
        what="chat-servers, failed: reasoning of Sky is between marks"),
    reported("services/google-deepmind@form", thought(content="<|channel>thought\nhm<channel|>"),
        what="chat-servers, failed: reasoning of Gemma is in a channel"),
    reported("services/ByteDance-Seed@form", thought(content="<seed:think>hm</seed:think>"),
        what="chat-servers, passed: reasoning of Seed is in tags of its own"),
    reported("mistralai/mistral-common@form", thought(content="[THINK]hm[/THINK]"),
        what="chat-servers, passed: reasoning of Magistral is in brackets"),
    reported("huggingface/text-generation-inference@source", thought(thinking="hm"),
        what="chat-servers, passed: reasoning is the field thinking"),
    reported("QwenLM/Qwen3@form", thought(content="<think>\nhm\n</think>\n\n"),
        what="chat-servers, passed: tags are on lines of their own"),
    reported("LostRuins/koboldcpp@source", thought(reasoning_content="hm", content=""),
        what="chat-servers, passed: an empty content is beside the reasoning"),
]  # fmt: skip


@pytest.mark.parametrize("chunks", THOUGHTS)
def test_reasoning_is_no_text(chunks: list[Any]) -> None:
    response = heard("compatible", chat_wire(*chunks))
    assert (response.reasoning.strip(), response.text.strip()) == ("hm", "Hi")


def counted(**usage: Any) -> list[Any]:
    return [HI, STOP, {"choices": [], "usage": usage}]


USAGES: list[Any] = [
    reported("deepseek-ai/DeepSeek-V3@form",
        counted(prompt_tokens=100, completion_tokens=20, prompt_cache_hit_tokens=64, prompt_cache_miss_tokens=36),
        (100, 20, 64),
        what="chat-servers, passed: DeepSeek counts hits and misses"),
    reported("services/MoonshotAI@form",
        [HI, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": {"prompt_tokens": 100,
            "completion_tokens": 20, "cached_tokens": 64}}]}], (100, 20, 64),
        what="chat-servers, passed: Moonshot counts within the choice"),
    reported("groq/groq-python@form",
        [HI, {**STOP, "x_groq": {"id": "r", "usage": {"prompt_tokens": 100, "completion_tokens": 20,
        "queue_time": 0.1}}}],
        (100, 20, None), what="chat-servers, passed: Groq counts in a field of its own"),
    reported("cohere-ai/cohere-python@form",
        counted(billed_units={"input_tokens": 90, "output_tokens": 20}, tokens={"input_tokens": 100,
        "output_tokens": 20}),
        (100, 20, None), what="chat-servers, failed: Cohere counts tokens within tokens"),
    reported("ollama/ollama@source", [HI, {**STOP, "prompt_eval_count": 100, "eval_count": 20}], (100, 20, None),
        what="chat-servers, failed: a proxy of Ollama keeps its counts"),
    reported("ggml-org/llama.cpp@form",
        [HI, {**STOP, "timings": {"cache_n": 64, "prompt_n": 36, "predicted_n": 20}}], (100, 20, 64),
        what="chat-servers, failed: llama.cpp has timings in place of usage"),
    reported("googleapis/python-genai@form",
        [HI, {**STOP, "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 20}}], (100, 20, None),
        what="chat-servers, failed: a proxy keeps the counts of Gemini"),
    reported("aws/aws-sdk-js-v3@form",
        counted(inputTokens=100, outputTokens=20, totalTokens=120), (100, 20, None),
        what="chat-servers, failed: a proxy keeps the counts of Bedrock"),
    reported("anthropics/anthropic-sdk-typescript@form",
        counted(input_tokens=36, output_tokens=20, cache_read_input_tokens=64), (64, 20, 64),
        what="chat-servers, passed: a proxy keeps the counts of Anthropic"),
    reported("QuantumNous/new-api@source",
        counted(prompt_tokens=100, completion_tokens=20, prompt_tokens_details={"cached_tokens": 64, "text_tokens": 36},
            input_tokens=0, output_tokens=0), (100, 20, 64),
        what="chat-servers, passed: new-api has zeros under other names"),
    reported("vllm-project/vllm@source",
        counted(prompt_tokens=100, completion_tokens=20, prompt_tokens_details=None), (100, 20, None),
        what="chat-servers, passed: details are null"),
    reported("services/cloudflare@form",
        [{**HI, "usage": {"prompt_tokens": 0, "completion_tokens": 0}}, {**STOP, "usage": {"prompt_tokens": 100,
            "completion_tokens": 20}}], (100, 20, None), what="chat-servers, passed: Workers AI counts in each chunk"),
]  # fmt: skip


@pytest.mark.parametrize(("chunks", "counts"), USAGES)
def test_tokens_are_counted(chunks: list[Any], counts: tuple[int, int, int | None]) -> None:
    usage = heard("compatible", chat_wire(*chunks)).usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == counts


QUIET: list[Any] = [
    reported("ml-explore/mlx-lm@source", "compatible", b": keepalive 10/100\n\n" + chat_wire(HI, STOP),
        what="chat-servers, passed: mlx-lm counts the prompt in comments"),
    reported("sysid/sse-starlette@form", "compatible",
        b": ping - 2026-11-30 18:00:00.000000+00:00\r\n\r\n" + chat_wire(HI, STOP).replace(b"\n", b"\r\n"),
        what="chat-servers, passed: starlette sends a ping in a comment"),
    reported("services/OpenRouterTeam@form", "openrouter", b": OPENROUTER PROCESSING\n\n" + chat_wire(HI,
        STOP),
        what="chat-servers, passed: OpenRouter is processing"),
    reported("router-for-me/CLIProxyAPI@source", "compatible",
        b": keep-alive\n\n" + chat_wire(HI) + b": keep-alive\n\n" + chat_wire(STOP),
        what="chat-servers, passed: CLIProxyAPI keeps a stream alive"),
    reported("QuantumNous/new-api@source", "compatible", b": PING\n\n" + chat_wire(HI, STOP),
        what="chat-servers, passed: new-api sends a ping in capitals"),
    reported("services/Azure@form", "compatible",
        chat_wire(HI, {"choices": [{"index": 0, "content_filter_offsets": {"start_offset": 1},
        "content_filter_results": {},
            "finish_reason": None}]}, STOP), what="chat-servers, passed: a chunk of Azure has only the filter's "
            "offsets"),
    reported("anthropics/anthropic-sdk-typescript@form", "anthropic",
        b"event: ping\ndata: {\"type\": \"ping\"}\n\n" + events({"type": "message_start", "message": {}},
            *text_block(0, "Hi"), {"type": "ping"}, *end()), what="anthropic, passed: a ping comes before the start"),
    reported("vercel/ai@form", "compatible",
        b"retry: 3000\nid: 1\n" + chat_wire(HI, STOP), what="chat-servers, passed: a stream has ids and a delay"),
    reported("Helicone/ai-gateway@source", "compatible",
        b"event: message\n" + chat_wire(HI) + b"event: done\n" + chat_wire(STOP),
        what="chat-servers, passed: the events of a chat have names"),
    reported("openai/openai-openapi@form", "responses",
        items(CREATED, {"type": "keepalive", "sequence_number": 3}, added(0, {"type": "message", "id": "m",
        "content": []}),
            done(0, {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Hi"}]}), final()),
        what="responses, passed: OpenAI keeps a stream alive by an event"),
    reported("googleapis/python-genai@form", "gemini",
        b":\n\n" + gemini_wire(part({"text": "Hi"}), {"usageMetadata": {"promptTokenCount": 1}}, part(finish="STOP")),
        what="gemini, passed: a chunk of Gemini has only counts"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "data"), QUIET)
def test_what_keeps_a_stream_alive_is_no_text(wire: str, data: bytes) -> None:
    response = heard(wire, data)
    assert (response.text, response.finish_reason.kind) == ("Hi", "stop")


def test_a_thought_of_a_proxy_of_anthropic_is_read() -> None:
    data = events({"type": "message_start", "message": {}}, *block(0, {"type": "text", "text": ""}, {
        "type": "text_delta", "text": "<think>hm</think>Hi"}), *end())  # fmt: skip
    response = heard("anthropic", data)
    assert (response.reasoning, response.text) == ("hm", "Hi")
