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
from tests.llm.reports.test_broken_streams import ENDS, call_piece, piece, said
from tests.llm.reports.test_printed_calls_and_lists import STOP, ended
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
        e.ServerError),
    reported("sgl-project/sglang@source", "compatible",
        lines(HI, failed(object="error", message="The request queue is full.", type="ABORT", param=None, code=503),
            "[DONE]"), e.ServerError),
    reported("sgl-project/sglang@source", "compatible",
        lines(HI, ended({"type": "abort", "message": "Abort before prefill", "status_code": 503}), "[DONE]"),
        "error"),
    reported("ggml-org/llama.cpp@form", "llamacpp",
        lines(HI) + b'error: {"code":500,"message":"Compute error.","type":"server_error"}\n\n', e.ServerError),
    reported("ggml-org/llama.cpp@form", "llamacpp",
        lines(HI, failed(code=500, message="Context size has been exceeded.", type="server_error")),
        e.ContextLengthError),
    reported("ollama/ollama@source", "ollama", lines(HI) + b'{"error":"an error was encountered while '
            b'running the '
        b'model: unexpected EOF","status":500}\n', e.ServerError),
    reported("ollama/ollama@source", "ollama",
        lines(HI, failed(message="error parsing tool call: raw='{', err=unexpected end of JSON input", type="api_error",
            param=None, code=None)), e.ProviderError),
    reported("theroyallab/tabbyAPI@source", "compatible",
        lines(HI, failed(message="Chat completion aborted. Please check the server console.", trace="Traceback")),
        e.ProviderError),
    reported("huggingface/text-generation-inference@source", "compatible",
        b"event: error\n" + lines(failed(message="Request failed during generation: CUDA error", http_status_code=422)),
        e.ServerError),
    reported("lm-sys/FastChat@source", "compatible",
        lines(HI, {"text": "**NETWORK ERROR DUE TO HIGH TRAFFIC.**", "error_code": 50002}), e.ProviderError),
    reported("Kong/kong@source", "compatible",
        lines(HI, {"error": True, "message": "empty or unsupported transformer response"}), e.ProviderError),
    reported("router-for-me/CLIProxyAPI@source", "compatible",
        lines(HI, failed(message="upstream stream failed without error details", type="server_error")), e.ServerError),
    reported("BerriAI/litellm@form", "compatible",
        lines(HI, failed(message="litellm.MidStreamFallbackError: litellm.APIConnectionError: peer closed connection",
            type=None, param=None, code="500")), e.ServerError),
    reported("BerriAI/litellm@form", "compatible",
        lines(HI, json.dumps(failed(message="Rate limit", code="429")).replace('"429"', "429")), e.RateLimitError),
    reported("deepseek-ai/DeepSeek-V3@form", "deepseek", lines(HI, ended("insufficient_system_resource"),
        "[DONE]"),
        "error"),
    reported("vllm-project/vllm@source", "vllm", lines(HI, ended("error"), "[DONE]"), "error"),
    reported("vllm-project/vllm@source", "vllm", lines(HI, ended("repetition"), "[DONE]"), "error"),
    reported("NVIDIA/TensorRT-LLM@form", "compatible",
        lines(HI, ended("cancelled"), "[DONE]"), "error"),
    reported("mlc-ai/mlc-llm@source", "compatible", lines(HI, ended("preempt"), "[DONE]"), "error"),
    reported("mistralai/client-python@form", "mistral",
        lines(HI, ended("error"), "[DONE]"), "error"),
    reported("mistralai/client-python@form", "mistral",
        lines(HI, ended("model_length"), "[DONE]"), "length"),
    reported("cohere-ai/cohere-python@form", "compatible",
        lines(HI, ended("ERROR_LIMIT"), "[DONE]"), "length"),
    reported("cohere-ai/cohere-python@form", "compatible",
        lines(HI, ended("ERROR_TOXIC"), "[DONE]"), "content_filter"),
    reported("cohere-ai/cohere-python@form", "compatible",
        lines(HI, ended("ERROR"), "[DONE]"), "error"),
    reported("aws/aws-sdk-js-v3@form", "compatible",
        lines(HI, ended("guardrail_intervened"), "[DONE]"), "content_filter"),
    reported("aws/aws-sdk-js-v3@form", "compatible",
        lines(HI, ended("content_filtered"), "[DONE]"), "content_filter"),
    reported("aws/aws-sdk-js-v3@form", "compatible",
        lines(HI, ended("malformed_model_output"), "[DONE]"), "error"),
    reported("googleapis/python-genai@form", "compatible", lines(HI, ended("PROHIBITED_CONTENT"),
        "[DONE]"),
        "content_filter"),
    reported("googleapis/python-genai@form", "compatible", lines(HI, ended("MAX_TOKENS"), "[DONE]"),
        "length"),
    reported("googleapis/python-genai@form", "compatible",
        lines(HI, ended("UNEXPECTED_TOOL_CALL"), "[DONE]"), "error"),
    reported("googleapis/python-genai@form", "gemini",
        gemini_wire(part({"text": "Hi"}), part(finish="TOO_MANY_TOOL_CALLS")), "error"),
    reported("googleapis/python-genai@form", "gemini",
        gemini_wire(part({"text": "Hi"}), part(finish="MALFORMED_RESPONSE")), "error"),
    reported("googleapis/python-genai@form", "gemini",
        gemini_wire(part({"text": "Hi"}), part(finish="BLOCKLIST")), "content_filter"),
    reported("googleapis/python-genai@form", "gemini",
        gemini_wire(part({"text": "Hi"}), part(finish="SPII")), "content_filter"),
    reported("googleapis/python-genai@form", "gemini",
        gemini_wire(part({"text": "Hi"}), failed(code=503, message="overloaded", status="UNAVAILABLE")),
        e.OverloadedError),
    reported("1rgs/claude-code-proxy@source", "anthropic",
        events({"type": "message_start", "message": {}}, *text_block(0, "Hi"), *end("error")) + b"data: [DONE]\n\n",
        "error"),
    reported("ericc-ch/copilot-api@source", "anthropic",
        events({"type": "message_start", "message": {}}, *text_block(0, "Hi"), {"type": "error", "error": {
            "type": "api_error", "message": "An unexpected error occurred during streaming."}}), e.ServerError),
    reported("anthropics/anthropic-sdk-typescript@form", "anthropic",
        events({"type": "message_start", "message": {}}, *text_block(0, "Hi"), *end("model_context_window_exceeded")),
        "length"),
    reported("vllm-project/vllm@source", "anthropic",
        events({"type": "message_start", "message": {}}, *text_block(0, "Hi")) + b"event: error\n" + lines(
            {"type": "error", "error": {"type": "internal_error", "message": "EngineCore encountered an issue."}}),
        e.ProviderError),
    reported("openai/openai-openapi@form", "responses",
        items(CREATED, {"type": "response.failed", "response": {"status": "failed", "error": {
            "code": "server_error", "message": "failed"}}}), e.ServerError),
    reported("router-for-me/CLIProxyAPI@source", "responses",
        items(CREATED, {"type": "error", "code": "internal_server_error", "message": "internal error",
            "sequence_number": 0}), e.ServerError),
    reported("openai/openai-openapi@form", "responses",
        items(CREATED, {"type": "error", "error": {"type": "too_many_requests", "code": "rate_limit_exceeded",
            "message": "Please try again in 2s.", "headers": {}}}), e.RateLimitError),
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
            "arguments": {"path": "a.py"}}}]), ENDS], [READ]),
    reported("ollama/ollama@source",
        [piece(role="assistant", content="", tool_calls=[{"id": "call_a", "index": 0, "type": "function", "function": {
            "name": "read", "arguments": WHOLE}}]), piece(role="assistant", content="", tool_calls=[{"id": "call_b",
            "index": 0, "type": "function", "function": {"name": "list", "arguments": "{}"}}]), ENDS],
        [READ, ("list", {})]),
    reported("huggingface/text-generation-inference@source",
        [piece(role="assistant", tool_calls=[{"index": 0, "id": "", "type": "function", "function": {"name": "read",
            "arguments": '{"'}}]), piece(role="assistant", tool_calls=[{"index": 0, "id": "", "type": "function",
            "function": {"name": None, "arguments": 'path": "a.py"}'}}]), ENDS], [READ]),
    reported("huggingface/text-generation-inference@source",
        [piece(role="assistant", tool_calls={"index": 0, "id": "", "type": "function", "function": {"name": "read",
            "arguments": WHOLE}}), ENDS], [READ]),
    reported("triton-inference-server/server@source",
        [piece(tool_calls=[{"index": 0, "id": "cmpl-1", "type": "function", "function": {"name": "read"}}]),
            piece(tool_calls=[{"index": 0, "function": {"arguments": WHOLE}}]), ENDS], [READ]),
    reported("EricLBuehler/mistral.rs@source",
        [piece(content=None, role="assistant", tool_calls=[{"index": 0, "id": "call-1", "type": "function",
        "function": {
            "name": "read", "arguments": WHOLE}}, {"index": 1, "id": "call-2", "type": "function", "function": {
            "name": "list", "arguments": "{}"}}]), ENDS], [READ, ("list", {})]),
    reported("ml-explore/mlx-lm@source",
        [piece(role="assistant", content="", tool_calls=[]), piece(role="assistant", tool_calls=[{"function": {
            "name": "read", "arguments": WHOLE}, "type": "function", "id": None}]), ENDS], [READ]),
    reported("InternLM/lmdeploy@source",
        [piece(tool_calls=[{"id": "chatcmpl-1", "index": 0, "type": "function", "function": {"name": "read",
            "arguments": None}}]), piece(tool_calls=[{"id": "chatcmpl-2", "index": 0, "type": "function", "function": {
            "name": None, "arguments": '{"path": '}}]), piece(tool_calls=[{"id": "chatcmpl-3", "index": 0,
            "type": "function", "function": {"name": None, "arguments": '"a.py"}'}}]), ENDS], [READ]),
    reported("aws-samples/bedrock-access-gateway@source",
        [piece(role="assistant", tool_calls=[{"index": -1, "id": "tooluse_1", "type": "function", "function": {
            "name": "read", "arguments": ""}}]), piece(tool_calls=[{"index": -1, "function": {"arguments": WHOLE}}]),
            ENDS],
        [READ]),
    reported("aws-samples/bedrock-access-gateway@source",
        [piece(tool_calls=[{"index": 1, "id": "t1", "type": "function", "function": {"name": "read",
        "arguments": ""}}]),
            piece(tool_calls=[{"index": 1, "function": {"arguments": WHOLE}}]), piece(tool_calls=[{"index": 3,
            "id": "t2",
            "type": "function", "function": {"name": "list", "arguments": ""}}]), ENDS], [READ, ("list", {})]),
    reported("Portkey-AI/gateway@source",
        [piece(tool_calls=[{"index": 0, "id": "portkey-1", "type": "function", "function": {"name": "read",
            "arguments": WHOLE}}]), piece(tool_calls=[{"index": 0, "id": "portkey-2", "type": "function", "function": {
            "name": "read", "arguments": '{"path": "b.py"}'}}]), STOP], [READ, ("read", {"path": "b.py"})]),
    reported("Portkey-AI/gateway@source",
        [piece(tool_calls=[{"index": 0, "id": "read_1", "type": "function", "function": {"name": "read",
            "arguments": ""}}]), piece(tool_calls=[{"index": 0, "type": "function", "function": {"name": "",
            "arguments": WHOLE}}]), ENDS], [READ]),
    reported("songquanpeng/one-api@source",
        [piece(content="", role="assistant", tool_calls=[{"id": "call_1", "type": "function",
        "function": {"name": "read",
            "arguments": WHOLE}}]), STOP], [READ]),
    reported("songquanpeng/one-api@source",
        [{"choices": [{"index": 0, "delta": {"content": "", "tool_calls": [{"id": "call_1", "type": "function",
        "function": {
            "name": "read", "arguments": WHOLE}}]}}]}, STOP], [READ]),
    reported("QuantumNous/new-api@source",
        [piece(tool_calls=[{"index": 0, "id": "call_1", "type": "function", "function": {"name": "read",
            "arguments": WHOLE}}]), ended("tool_calls", tool_calls=[{"index": 0, "id": "call_1", "type": "function",
            "function": {"name": "read", "arguments": WHOLE}}])], [READ]),
    reported("katanemo/archgw@source",
        [piece(tool_calls=[{"index": 0, "id": "t1", "type": "function", "function": {"name": "read",
        "arguments": ""}}]),
            piece(tool_calls=[{"index": 0, "id": None, "type": None, "function": {"name": None, "arguments": WHOLE}}]),
            ENDS], [READ]),
    reported("musistudio/llms@form",
        [piece(tool_calls=[{"index": 0, "id": "t1", "function": {"name": "read", "arguments": "{'path': 'a.py',}"}}]),
        ENDS],
        [READ]),
    reported("vllm-project/vllm@source",
        [piece(tool_calls=[{"index": 0, "id": "chatcmpl-tool-1", "type": "function", "function": {"name": "read"}}]),
            piece(tool_calls=[{"index": 0, "function": {"arguments": '{"path": "a.'}}]),
            piece(tool_calls=[{"index": 0, "function": {"arguments": 'py"}'}}]),
            piece(tool_calls=[{"index": 0, "function": {"arguments": ""}}]), ENDS], [READ]),
    reported("vllm-project/vllm@source",
        [call_piece(0, "a", "read", WHOLE), ended("stop")], [READ]),
    reported("sgl-project/sglang@source",
        [piece(tool_calls=[{"id": "call_a", "index": 0, "type": "function", "function": {"name": "read",
            "arguments": ""}}]), piece(tool_calls=[{"id": None, "index": 0, "type": "function",
            "function": {"name": None,
            "arguments": WHOLE}}]), piece(tool_calls=[{"id": "call_b", "index": 1, "type": "function", "function": {
            "name": "list", "arguments": ""}}]), piece(tool_calls=[{"id": None, "index": 1, "type": "function",
            "function": {"name": None, "arguments": "{}"}}]), ENDS], [READ, ("list", {})]),
    reported("deepset-ai/haystack@form",
        [piece(tool_calls=[{"index": 0, "id": "t1", "type": "function", "function": {"name": "read",
        "arguments": None}}]),
            piece(tool_calls=[{"index": 0, "function": None}]), piece(tool_calls=[{"index": 0, "function": {
            "arguments": WHOLE}}]), ENDS], [READ]),
    reported("services/cloudflare@form",
        [piece(tool_calls=[{"index": 0, "id": "t1", "type": "function", "function": {"name": "read",
        "arguments": WHOLE}}]),
            piece(tool_calls=[{"index": None, "id": None, "type": None, "function": {"name": None, "arguments": ""}}]),
            ENDS], [READ]),
    reported("services/Azure@form",
        [{"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}, call_piece(0, "a", "read", WHOLE), ENDS],
        [READ]),
    reported("openai/harmony@form",
        [piece(tool_calls=[{"index": 0, "id": "t1", "type": "function", "function": {
            "name": "functions.read<|channel|>commentary", "arguments": WHOLE}}]), ENDS], [READ]),
    reported("services/MoonshotAI@form",
        [piece(tool_calls=[{"index": 0, "id": "functions.read:0", "type": "function",
        "function": {"name": "functions.read",
            "arguments": WHOLE}}]), ENDS], [READ]),
]  # fmt: skip


@pytest.mark.parametrize(("chunks", "calls"), CALLS)
def test_each_call_is_read(chunks: list[Any], calls: list[Any]) -> None:
    response = heard("compatible", chat_wire(*chunks) if "[DONE]" not in chunks else lines(*chunks))
    assert (said(response)[1], response.finish_reason.kind) == (calls, "tool_calls")
    assert len({call.id for call in response.tool_calls} - {""}) == len(calls)


def thought(**delta: Any) -> list[Any]:
    return [piece(**delta), piece(content="Hi"), STOP]


THOUGHTS: list[Any] = [
    reported("vllm-project/vllm@source", thought(reasoning="hm")),
    reported("sgl-project/sglang@source", thought(reasoning_content="hm")),
    reported("ericc-ch/copilot-api@source",
        thought(reasoning_text="hm", reasoning_opaque="b64")),
    reported("microsoft/vscode-copilot-chat@form",
        thought(cot_summary="hm", cot_id="c1")),
    reported("mistralai/client-python@form",
        thought(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}])),
    reported("Portkey-AI/gateway@source",
        thought(content_blocks=[{"index": 0, "delta": {"thinking": "hm"}}])),
    reported("envoyproxy/ai-gateway@source",
        thought(reasoning_content={"text": "hm", "signature": "s"})),
    reported("BerriAI/litellm@form",
        thought(thinking_blocks=[{"type": "thinking", "thinking": "hm", "signature": "s"}])),
    reported("googleapis/python-genai@form",
        thought(content="<thought>hm</thought>", extra_content={"google": {"thought": True}})),
    reported("services/OpenRouterTeam@form",
        thought(reasoning_details=[{"type": "reasoning.summary", "summary": "hm", "format": "openai-responses-v1"}])),
    reported("huggingface/text-generation-inference@source", thought(content="<think>hm</think>")),
    reported("services/MoonshotAI@form", thought(content="◁think▷hm◁/think▷")),
    reported("services/CohereForAI@form", thought(content="<|START_THINKING|>hm<|END_THINKING|>")),
    reported("services/NovaSky-AI@form",
        thought(content="<|begin_of_thought|>hm<|end_of_thought|>")),
    reported("services/google-deepmind@form", thought(content="<|channel>thought\nhm<channel|>")),
    reported("services/ByteDance-Seed@form", thought(content="<seed:think>hm</seed:think>")),
    reported("mistralai/mistral-common@form", thought(content="[THINK]hm[/THINK]")),
    reported("huggingface/text-generation-inference@source", thought(thinking="hm")),
    reported("QwenLM/Qwen3@form", thought(content="<think>\nhm\n</think>\n\n")),
    reported("LostRuins/koboldcpp@source", thought(reasoning_content="hm", content="")),
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
        (100, 20, 64)),
    reported("services/MoonshotAI@form",
        [HI, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": {"prompt_tokens": 100,
            "completion_tokens": 20, "cached_tokens": 64}}]}], (100, 20, 64)),
    reported("groq/groq-python@form",
        [HI, {**STOP, "x_groq": {"id": "r", "usage": {"prompt_tokens": 100, "completion_tokens": 20,
        "queue_time": 0.1}}}],
        (100, 20, None)),
    reported("cohere-ai/cohere-python@form",
        counted(billed_units={"input_tokens": 90, "output_tokens": 20}, tokens={"input_tokens": 100,
        "output_tokens": 20}),
        (100, 20, None)),
    reported("ollama/ollama@source", [HI, {**STOP, "prompt_eval_count": 100, "eval_count": 20}], (100, 20, None)),
    reported("ggml-org/llama.cpp@form",
        [HI, {**STOP, "timings": {"cache_n": 64, "prompt_n": 36, "predicted_n": 20}}], (100, 20, 64)),
    reported("googleapis/python-genai@form",
        [HI, {**STOP, "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 20}}], (100, 20, None)),
    reported("aws/aws-sdk-js-v3@form",
        counted(inputTokens=100, outputTokens=20, totalTokens=120), (100, 20, None)),
    reported("anthropics/anthropic-sdk-typescript@form",
        counted(input_tokens=36, output_tokens=20, cache_read_input_tokens=64), (64, 20, 64)),
    reported("QuantumNous/new-api@source",
        counted(prompt_tokens=100, completion_tokens=20, prompt_tokens_details={"cached_tokens": 64, "text_tokens": 36},
            input_tokens=0, output_tokens=0), (100, 20, 64)),
    reported("vllm-project/vllm@source",
        counted(prompt_tokens=100, completion_tokens=20, prompt_tokens_details=None), (100, 20, None)),
    reported("services/cloudflare@form",
        [{**HI, "usage": {"prompt_tokens": 0, "completion_tokens": 0}}, {**STOP, "usage": {"prompt_tokens": 100,
            "completion_tokens": 20}}], (100, 20, None)),
]  # fmt: skip


@pytest.mark.parametrize(("chunks", "counts"), USAGES)
def test_tokens_are_counted(chunks: list[Any], counts: tuple[int, int, int | None]) -> None:
    usage = heard("compatible", chat_wire(*chunks)).usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == counts


QUIET: list[Any] = [
    reported("ml-explore/mlx-lm@source", "compatible", b": keepalive 10/100\n\n" + chat_wire(HI, STOP)),
    reported("sysid/sse-starlette@form", "compatible",
        b": ping - 2026-11-30 18:00:00.000000+00:00\r\n\r\n" + chat_wire(HI, STOP).replace(b"\n", b"\r\n")),
    reported("services/OpenRouterTeam@form", "openrouter", b": OPENROUTER PROCESSING\n\n" + chat_wire(HI,
        STOP)),
    reported("router-for-me/CLIProxyAPI@source", "compatible",
        b": keep-alive\n\n" + chat_wire(HI) + b": keep-alive\n\n" + chat_wire(STOP)),
    reported("QuantumNous/new-api@source", "compatible", b": PING\n\n" + chat_wire(HI, STOP)),
    reported("services/Azure@form", "compatible",
        chat_wire(HI, {"choices": [{"index": 0, "content_filter_offsets": {"start_offset": 1},
        "content_filter_results": {},
            "finish_reason": None}]}, STOP)),
    reported("anthropics/anthropic-sdk-typescript@form", "anthropic",
        b"event: ping\ndata: {\"type\": \"ping\"}\n\n" + events({"type": "message_start", "message": {}},
            *text_block(0, "Hi"), {"type": "ping"}, *end())),
    reported("vercel/ai@form", "compatible",
        b"retry: 3000\nid: 1\n" + chat_wire(HI, STOP)),
    reported("Helicone/ai-gateway@source", "compatible",
        b"event: message\n" + chat_wire(HI) + b"event: done\n" + chat_wire(STOP)),
    reported("openai/openai-openapi@form", "responses",
        items(CREATED, {"type": "keepalive", "sequence_number": 3}, added(0, {"type": "message", "id": "m",
        "content": []}),
            done(0, {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Hi"}]}), final())),
    reported("googleapis/python-genai@form", "gemini",
        b":\n\n" + gemini_wire(part({"text": "Hi"}), {"usageMetadata": {"promptTokenCount": 1}}, part(finish="STOP"))),
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
