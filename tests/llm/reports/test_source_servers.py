"""Errors of model servers that are run by their users, in the forms and words that their sources have."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.llm import errors as e
from tests.llm.reports.chat import say
from tests.llm.reports.test_error_kinds import refused
from tests.support.reports import reported


def detail(said: Any) -> Any:
    return {"detail": said}


def flat(message: str, code: int = 400, **more: Any) -> Any:
    return {"object": "error", "message": message, "code": code, **more}


SERVERS: list[Any] = [
    reported("theroyallab/tabbyAPI@source", "compatible", 400,
        detail("Prompt length 40960 exceeds the available context size of 32768 tokens. The request exceeds it."),
        e.ContextLengthError),
    reported("theroyallab/tabbyAPI@source", "compatible", 400,
        detail("Initial job allocation requires 40960 cache tokens, which exceeds the available context size of 32768 "
            "tokens"), e.ContextLengthError),
    reported("theroyallab/tabbyAPI@source", "compatible", 503,
        detail("Model is being unloaded. Cannot process new generation requests."), e.ServerError),
    reported("theroyallab/tabbyAPI@source", "compatible", 400, detail("No models are currently loaded."),
        e.NotFoundError),
    reported("theroyallab/tabbyAPI@source", "compatible", 422,
        detail("Chat completions are disabled because a prompt template is not set."), e.InvalidRequestError),
    reported("theroyallab/tabbyAPI@source", "compatible", 401, detail("Invalid API key"), e.AuthenticationError),
    reported("theroyallab/tabbyAPI@source", "compatible", 503,
        detail("Chat completion 3f1 aborted. Maybe the model was unloaded? Please check the server console."),
        e.ServerError),
    reported("theroyallab/tabbyAPI@source", "compatible", 400,
        detail("Failed to fetch image from https://a/b.png as fetch requests are disabled."), e.InvalidRequestError),
    reported("LostRuins/koboldcpp@source", "compatible", 503,
        detail({"msg": "Server is busy; please try again later.", "type": "service_unavailable"}), e.OverloadedError),
    reported("LostRuins/koboldcpp@source", "compatible", 401,
        detail({"error": "Unauthorized", "msg": "Authentication key is missing or invalid.", "type": "unauthorized"}),
        e.AuthenticationError),
    reported("LostRuins/koboldcpp@source", "compatible", 500,
        detail({"msg": "Payload is too big. Max payload size is 32MB.", "type": "bad_input"}), e.RequestTooLargeError),
    reported("LostRuins/koboldcpp@source", "compatible", 500,
        detail({"msg": "Error parsing input.", "type": "bad_input"}), e.InvalidRequestError),
    reported("InternLM/lmdeploy@source", "compatible", 400,
        flat("Input length (40960) must be smaller than the model context length (32768)."), e.ContextLengthError),
    reported("InternLM/lmdeploy@source", "compatible", 400,
        flat("The request exceeds the model context length.", param=None, type="context_length_exceeded"),
        e.ContextLengthError),
    reported("InternLM/lmdeploy@source", "compatible", 404,
        flat("The model 'internlm2' does not exist.", 404), e.NotFoundError),
    reported("InternLM/lmdeploy@source", "compatible", 400,
        flat("Tool call arguments contain invalid JSON at position 12: Expecting ',' delimiter"), e.InvalidRequestError),
    reported("InternLM/lmdeploy@source", "anthropic", 404,
        {"type": "error", "error": {"type": "not_found_error", "message": "The model 'a' does not exist."}},
        e.NotFoundError),
    reported("huggingface/text-generation-inference@source", "compatible", 422,
        {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8192. Given: 8100 `inputs` "
            "tokens "
            "and 1024 `max_new_tokens`", "error_type": "validation"}, e.ContextLengthError),
    reported("huggingface/text-generation-inference@source", "compatible", 429,
        {"error": "Model is overloaded", "error_type": "overloaded"}, e.OverloadedError),
    reported("huggingface/text-generation-inference@source", "compatible", 424,
        {"error": "Request failed during generation: Server error: CUDA out of memory", "error_type": "generation"},
        e.ServerError),
    reported("huggingface/text-generation-inference@source", "compatible", 500,
        {"error": "Incomplete generation", "error_type": "Incomplete generation"}, e.ServerError),
    reported("huggingface/text-generation-inference@source", "compatible", 422,
        {"error": "Input validation error: `max_new_tokens` must be strictly positive", "error_type": "validation"},
        e.InvalidRequestError),
    reported("ollama/ollama@source", "ollama", 503,
        {"error": "server busy, please try again.  maximum pending requests exceeded"}, e.ServerError),
    reported("ollama/ollama@source", "ollama", 500,
        say("model requires more system memory (9.2 GiB) than is available (7.1 GiB)", type="api_error"),
        e.InvalidRequestError),
    reported("ollama/ollama@source", "ollama", 500,
        say("model requires 20.0 GiB but only 10.1 GiB are available (after 1.0 GiB overhead)", type="api_error"),
        e.InvalidRequestError),
    reported("ollama/ollama@source", "ollama", 500,
        say("unable to load model: /m/blobs/sha256-1: this model may be incompatible with your version of Ollama. "
            "If you "
            "previously pulled this model, try updating it by running `ollama pull a`", type="api_error"),
            e.ServerError),
    reported("ollama/ollama@source", "ollama", 401,
        {"error": "unauthorized", "signin_url": "https://ollama.com/connect?key=a"}, e.AuthenticationError),
    reported("ollama/ollama@source", "ollama", 403,
        {"error": "ollama cloud is disabled: remote inference is unavailable"}, e.PermissionDeniedError),
    reported("ollama/ollama@source", "ollama", 403,
        {"error": "this model requires a subscription, upgrade for access: https://ollama.com/upgrade"},
        e.PermissionDeniedError),
    reported("ollama/ollama@source", "ollama", 429,
        {"error": "you have reached your weekly usage limit, upgrade for higher limits: https://ollama.com/upgrade"},
        e.QuotaExceededError),
    reported("ollama/ollama@source", "ollama", 400,
        say("input exceeds maximum context length and cannot be truncated further", type="invalid_request_error"),
        e.ContextLengthError),
    reported("ollama/ollama@source", "ollama", 400,
        say('"nomic-embed-text" does not support chat', type="invalid_request_error"), e.InvalidRequestError),
    reported("ollama/ollama@source", "anthropic", 404,
        {"type": "error", "error": {"type": "not_found_error", "message": "model 'a' not found"},
        "request_id": "req_1"},
        e.NotFoundError),
    reported("ollama/ollama@source", "anthropic", 403,
        {"type": "error", "error": {"type": "permission_error",
            "message": "ollama cloud is disabled: web search is unavailable"}}, e.PermissionDeniedError),
    reported("mlc-ai/mlc-llm@source", "compatible", 400,
        flat("Request prompt has 5000 tokens in total, larger than the model input length limit 4096."),
        e.ContextLengthError),
    reported("mlc-ai/mlc-llm@source", "compatible", 400,
        flat('The requested model "a" is not served.'), e.NotFoundError),
    reported("triton-inference-server/server@source", "compatible", 400,
        detail("Unknown model: llama"), e.NotFoundError),
    reported("triton-inference-server/server@source", "compatible", 400,
        detail("only text message is supported, but got image_url"), e.InvalidRequestError),
    reported("triton-inference-server/server@source",
        "compatible",
        500, detail("Attached inference engine is not ready for inference requests."), e.ServerError),
    reported("xorbitsai/inference@source", "compatible", 400,
        detail("[address=0.0.0.0:4, pid=7] Model not found in the model list, uid: a"), e.NotFoundError),
    reported("xorbitsai/inference@source", "compatible", 503,
        detail("Model is loading, please retry later: a"), e.ModelLoadingError),
    reported("xorbitsai/inference@source", "compatible", 503,
        detail("[address=0.0.0.0:4, pid=7] Rate limit reached for the model. Request limit 1 for the model: a-0"),
        e.RateLimitError),
    reported("lm-sys/FastChat@source", "compatible", 400,
        flat("This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens. "
            "Please "
            "reduce the length of the messages.", 40303), e.ContextLengthError),
    reported("lm-sys/FastChat@source", "compatible", 400,
        flat("**NETWORK ERROR DUE TO HIGH TRAFFIC. PLEASE REGENERATE OR REFRESH THIS PAGE.**\n\n(CUDA out of memory.)",
            50002), e.ServerError),
    reported("lm-sys/FastChat@source", "compatible", 400,
        flat("**NETWORK ERROR DUE TO HIGH TRAFFIC. PLEASE REGENERATE OR REFRESH THIS PAGE.**", 50005), e.ServerError),
    reported("abetlen/llama-cpp-python@source", "compatible", 500,
        say("Requested tokens (5000) exceed context window of 4096", type="internal_server_error", param=None,
        code=None),
        e.ContextLengthError),
    reported("abetlen/llama-cpp-python@source", "compatible", 500,
        say("Prompt exceeds n_ctx: 5000 > 4096", type="internal_server_error"), e.ContextLengthError),
    reported("abetlen/llama-cpp-python@source", "compatible", 503, detail("Service is not available"),
        e.ServerError),
    reported("ggml-org/llama.cpp@form", "llamacpp", 400,
        say("request (40000 tokens) exceeds the available context size (32768 tokens), try increasing it", code=400,
            type="exceed_context_size_error", n_prompt_tokens=40000, n_ctx=32768), e.ContextLengthError),
    reported("ggml-org/llama.cpp@form", "llamacpp", 500,
        say("Context size has been exceeded.", code=500, type="server_error"), e.ContextLengthError),
    reported("ggml-org/llama.cpp@form", "llamacpp", 500,
        say("input (5000 tokens) is too large to process. increase the physical batch size (current batch size: 2048)",
            code=500, type="server_error"), e.ContextLengthError),
    reported("ggml-org/llama.cpp@form", "llamacpp", 501,
        say("This server does not support completions. Start it without `--embeddings`", code=501,
            type="not_supported_error"), e.InvalidRequestError),
    reported("ggml-org/llama.cpp@form", "llamacpp", 400,
        say("model is not loaded", code=400, type="invalid_request_error"), e.NotFoundError),
    reported("ggml-org/llama.cpp@form", "llamacpp", 404,
        say("model 'a' not found", code=404, type="not_found_error"), e.NotFoundError),
    reported("ggml-org/llama.cpp@form", "llamacpp", 503,
        say("Loading model", type="unavailable_error", code=503), e.ModelLoadingError),
    reported("ggml-org/llama.cpp@form", "llamacpp", 400,
        say("Unable to generate parser for this template. Automatic parser generation failed: unknown marker", code=400,
            type="invalid_request_error"), e.InvalidRequestError),
    reported("vllm-project/vllm@source", "vllm", 400,
        say("This model's maximum context length is 8192 tokens. However, you requested 1024 output tokens and your "
            "prompt "
            "contains at least 7169 input tokens, for a total of at least 8193 tokens. (parameter=input_tokens, "
            "value=7169)", type="BadRequestError", param="input_tokens", code=400), e.ContextLengthError),
    reported("vllm-project/vllm@source", "vllm", 400,
        say("You passed 9000 input tokens and requested 0 output tokens. However, the model's context length is "
            "only 8192 "
            "tokens, resulting in a maximum input length of 8192 tokens.", type="BadRequestError", code=400),
        e.ContextLengthError),
    reported("vllm-project/vllm@source", "vllm", 404,
        say("The model `a` does not exist.", type="NotFoundError", param="model", code=404), e.NotFoundError),
    reported("vllm-project/vllm@source", "vllm", 500,
        say("EngineCore encountered an issue. See stack trace (above) for the root cause.", type="InternalServerError",
            param=None, code=500), e.ServerError),
    reported("vllm-project/vllm@source", "vllm", 400,
        say("At most 1 image(s) may be provided in one prompt.", type="BadRequestError", param=None, code=400),
        e.InvalidRequestError),
    reported("vllm-project/vllm@source", "vllm", 401, {"error": "Unauthorized"},
        e.AuthenticationError),
    reported("sgl-project/sglang@source", "compatible", 400,
        flat("The input (40000 tokens) is longer than the model's context length (32768 tokens).",
        type="BadRequestError"),
        e.ContextLengthError),
    reported("sgl-project/sglang@source", "compatible", 400,
        flat("Input length (40000 tokens) exceeds the maximum allowed length (32762 tokens). Use a shorter input or "
            "enable "
            "--allow-auto-truncate.", type="BadRequestError"), e.ContextLengthError),
    reported("sgl-project/sglang@source", "compatible", 503,
        flat("The request queue is full.", 503, type="503"), e.ServerError),
    reported("sgl-project/sglang@source", "compatible", 503,
        flat("The request is aborted by a higher priority request.", 503, type="503"), e.ServerError),
    reported("sgl-project/sglang@source", "compatible", 503,
        say("All workers are unavailable (circuit breaker open or unhealthy)", type="Service Unavailable",
            code="no_available_workers"), e.ServerError),
    reported("NVIDIA/TensorRT-LLM@form", "compatible", 400,
        flat("default_max_tokens (-100) should be greater than 0, default_max_tokens is derived by max_seq_len "
            "(8192) - "
            "splited_prompt_len (8292)", type="BadRequestError"), e.ContextLengthError),
    reported("NVIDIA/TensorRT-LLM@form", "compatible", 400,
        flat("The sum of prompt length (9000.0), query length (0) should not exceed max_num_tokens (8192)",
            type="BadRequestError"), e.ContextLengthError),
    reported("ai-dynamo/dynamo@form", "compatible", 503,
        {"message": "Service temporarily unavailable: All workers are busy, please retry later",
            "type": "Service Unavailable", "code": 503}, e.ServerError),
    reported("ai-dynamo/dynamo@form", "compatible", 404,
        {"message": "Model not found", "type": "Not Found", "code": 404}, e.NotFoundError),
    reported("EricLBuehler/mistral.rs@source", "compatible", 422,
        {"message": "Prompt sequence length is greater than 4096, perhaps consider using `truncate_sequence`?"},
        e.ContextLengthError),
    reported("EricLBuehler/mistral.rs@source", "compatible", 500,
        {"message": "Prompt sequence length is greater than 4096, perhaps consider using `truncate_sequence`?"},
        e.ContextLengthError),
    reported("raullenchai/Rapid-MLX@source", "compatible", 503, detail("model loading"),
        e.ModelLoadingError),
    reported("raullenchai/Rapid-MLX@source", "compatible", 503,
        detail("DDTree runtime is still loading; retry shortly."), e.ServerError),
    reported("raullenchai/Rapid-MLX@source", "compatible", 400,
        detail({"error": {"message": "`messages` must be a JSON array", "type": "invalid_request_error",
            "param": "messages", "code": None}}), e.InvalidRequestError),
    reported("lmstudio-ai/lmstudio-bug-tracker@form", "lmstudio", 400,
        {"error": "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: "
            "15028>= "
            "n_ctx: 7424). Try to load the model with a larger context length, or provide a shorter input."},
        e.ContextLengthError),
    reported("lmstudio-ai/lmstudio-bug-tracker@form", "lmstudio", 404,
        say("No models loaded. Please load a model in the developer page or use the 'lms load' command.",
            type="invalid_request_error", param="model", code="model_not_found"), e.NotFoundError),
    reported("lmstudio-ai/lmstudio-bug-tracker@form", "lmstudio", 400,
        say('Failed to load model "a". Error: Model loading was stopped due to insufficient system resources.',
            type="invalid_request_error", param="model", code="model_not_found"), e.NotFoundError),
    reported("mudler/LocalAI@source", "compatible", 500,
        say("could not load model: rpc error: code = Canceled desc = context canceled", code=500, type=""),
        e.ServerError),
    reported("mudler/LocalAI@source", "compatible", 404,
        say("model 'a' not found. To see available models, call GET /v1/models", code=404,
        type="invalid_request_error"),
        e.NotFoundError),
    reported("mudler/LocalAI@source", "compatible", 400,
        say("text blocked by content policy (sensitive data detected)", type="pii_blocked"), e.ContentFilterError),
    reported("mudler/LocalAI@source", "compatible", 401,
        say("An authentication key is required", code=401, type="invalid_request_error"), e.AuthenticationError),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind"), SERVERS)
def test_an_error_of_a_server_has_its_class(
    wire: str, status: int, body: Any, kind: type[e.ProviderError]
) -> None:
    error = refused(wire, status, body)
    is_kind = isinstance(error, kind) if kind is e.ServerError else type(error) is kind
    assert (is_kind, error.retryable) == (True, kind.retryable), f"{type(error).__name__}: {error}"
