"""Optional fields that the libraries refuse with which servers check a request, in the form of each library."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from agent_ls.llm.messages import user
from agent_ls.llm.providers.base import ReplyHead
from tests.llm.providers.test_refusals import FORCED, JSON, asking, at, second, spoken
from tests.support.codec_runs import body_of
from tests.support.reports import reported

ZOD = [
    {"code": "unrecognized_keys", "keys": ["F"], "path": [], "message": "Unrecognized key(s) in object: 'F'"}
]
ZOD_4 = [{"code": "unrecognized_keys", "keys": ["F"], "path": [], "message": 'Unrecognized key: "F"'}]
EXTRA = {"type": "extra_forbidden", "loc": ["body", "F"], "msg": "Extra inputs are not permitted", "input": 1}
AJV = {"keyword": "additionalProperties", "params": {"additionalProperty": "F"},
    "message": "must NOT have additional properties"}  # fmt: skip
VALIDATORS: list[Any] = [
    reported("fastapi/fastapi@form", 422, {"detail": [EXTRA]}),
    reported("vllm-project/vllm@source", 400,
        {"error": {"message": "[{'type': 'extra_forbidden', 'loc': ('body', 'F'), 'msg': 'Extra inputs are not "
            "permitted', "
            "'input': 1}]", "type": "Bad Request", "param": None, "code": 400}}),
    reported("pydantic/pydantic@form", 500,
        {"error": "1 validation error for ChatRequest\nF\n  Extra inputs are not permitted [type=extra_forbidden, "
            "input_value=1, input_type=int]\n    For further information visit https://errors.pydantic.dev/2/v/extra"}),
    reported("golang/go@form", 400, {"error": 'json: unknown field "F"'}),
    reported("serde-rs/serde@form", 422,
        "Failed to deserialize the JSON body into the target type: unknown field `F`, expected one of `model`, "
        "`messages` "
        "at line 1 column 9"),
    reported("colinhacks/zod@form", 400,
        {"success": False, "error": {"name": "ZodError", "issues": ZOD}}),
    reported("colinhacks/zod@form", 400, {"error": {"message": json.dumps(ZOD_4)}}),
    reported("openai/openai-openapi@form", 400,
        {"error": {"message": "Unknown parameter: 'F'.", "type": "invalid_request_error", "param": "F",
            "code": "unknown_parameter"}}),
    reported("openai/openai-openapi@form", 400,
        {"error": {"message": "Unrecognized request argument supplied: F", "type": "invalid_request_error",
        "param": None,
            "code": None}}),
    reported("openai/openai-openapi@form", 400,
        {"error": {"message": "Unsupported parameter: 'F' is not supported with this model.", "param": "F",
            "code": "unsupported_parameter"}}),
    reported("protocolbuffers/protobuf@form", 400,
        {"error": {"code": 400, "message": 'Invalid JSON payload received. Unknown name "F": Cannot find field.',
            "status": "INVALID_ARGUMENT"}}),
    reported("aws/aws-sdk-js-v3@form", 400,
        {"message": "Malformed input request: #: extraneous key [F] is not permitted, please reformat your input "
            "and try "
            "again."}),
    reported("ajv-validator/ajv@form", 400,
        {"error": "Bad Request", "message": "body must NOT have additional properties", "validation": [AJV]}),
    reported("FasterXML/jackson-databind@form", 400,
        {"status": 400, "error": "Bad Request", "message": 'JSON parse error: Unrecognized field "F" (class '
            'a.ChatRequest), '
            'not marked as ignorable (3 known properties: "model", "messages", "stream")'}),
    reported("dotnet/runtime@form", 400,
        {"title": "One or more validation errors occurred.", "status": 400,
        "errors": {"$.F": [("The JSON property 'F' could "
            "not be mapped to any .NET member contained in type 'ChatRequest'.")]}}),
    reported("python/cpython@form", 500,
        {"error": {"message": "Completions.create() got an unexpected keyword argument 'F'", "type": "server_error"}}),
    reported("marshmallow-code/marshmallow@form", 422,
        {"errors": {"json": {"F": ["Unknown field."]}}}),
    reported("hapijs/joi@form", 400,
        {"statusCode": 400, "error": "Bad Request", "message": '"F" is not allowed'}),
    reported("typestack/class-validator@form", 400,
        {"statusCode": 400, "message": ["property F should not exist"], "error": "Bad Request"}),
    reported("BerriAI/litellm@form", 400,
        {"error": {"message": "litellm.UnsupportedParamsError: groq does not support parameters: ['F'], for "
            "model=m. To drop "
            "these, set `litellm.drop_params=True` or for proxy: `litellm_settings: drop_params: true`",
            "type": "None", "param": None, "code": "400"}}),
    reported("jcrist/msgspec@form", 400, {"detail": "Object contains unknown field `F`"}),
    reported("open-circle/valibot@form", 400,
        {"error": {"message": 'Invalid key: Expected never but received "F"'}}),
    reported("rails/rails@form", 400,
        {"error": "found unpermitted parameter: :F"}),
    reported("ai-dynamo/dynamo@form", 400,
        {"message": "Validation: Unsupported parameter(s): `F`", "type": "Bad Request", "code": 400}),
    reported("mlc-ai/mlc-llm@source", 400,
        {"object": "error", "message": "Request fields F are not supported right now.", "code": 400}),
    reported("python-jsonschema/jsonschema@form", 400,
        {"error": {"message": "Additional properties are not allowed ('F' was unexpected)"}}),
    reported("ggml-org/llama.cpp@form", 400,
        {"error": {"code": 400, "message": "Unsupported param: F", "type": "invalid_request_error"}}),
    reported("triton-inference-server/server@source", 400,
        {"detail": "F is not currently supported"}),
    reported("spring-projects/spring-framework@form", 400,
        {"type": "about:blank", "title": "Bad Request", "status": 400, "detail": "Property 'F' is not recognized",
            "instance": "/v1/chat/completions"}),
    reported("elastic/kibana@form", 400,
        {"statusCode": 400, "error": "Bad Request",
            "message": "[request body.F]: definition for this key is missing"}),
    reported("services/openapi-generators@form", 400,
        {"errors": [{"title": "Request body validation error", "status": 400,
            "schema_errors": ["Additional properties are not allowed ('F' was unexpected)"]}]}),
]  # fmt: skip
FIELDS: dict[str, list[Any]] = {
    "compatible": [
        ("stream_options", {}),
        ("reasoning_effort", {}),
        ("top_p", {}),
        ("tool_choice", FORCED),
        ("response_format", JSON),
    ],
    "anthropic": [
        ("thinking", {}),
        ("output_config", {}),
        ("metadata", {}),
        ("cache_control", {}),
        ("stop_sequences", {}),
    ],
    "openai": [
        ("prompt_cache_key", {"cache_key": "k"}),
        ("include", {}),
        ("parallel_tool_calls", {}),
        ("store", {}),
        ("metadata", {}),
    ],
    "gemini": [
        ("toolConfig", FORCED),
        ("generationConfig.topP", {}),
        ("generationConfig.thinkingConfig", {}),
    ],
}


@pytest.mark.parametrize("wire", FIELDS)
@pytest.mark.parametrize(("status", "body"), VALIDATORS)
def test_a_field_that_a_library_does_not_know_is_left_out(status: int, body: Any, wire: str) -> None:
    for path, more in FIELDS[wire]:
        request = asking(wire, **more)
        first = body_of(spoken(wire).encode(request, stream=True))
        again = second(wire, _named(body, path.rpartition(".")[2]), request, status)
        assert at(first, path) is not None
        assert at(again, path) is None, path
        assert {*first} - {*again} <= {path.partition(".")[0]}, "nothing else is left out"


def _named(said: Any, name: str) -> Any:
    """Return a body with `name` in place of each F that is alone."""
    if isinstance(said, list):
        return [_named(item, name) for item in said]
    if isinstance(said, dict):
        return {_named(key, name): _named(value, name) for key, value in said.items()}
    return re.sub(r"\bF\b", name, said) if isinstance(said, str) else said


def test_instructions_of_another_program_are_a_message() -> None:
    speaker, request = spoken("openai"), asking("openai")
    for words in (
        "Instructions are not valid",
        "System messages are not allowed",
        "Instructions are required",
    ):
        error = speaker.decode_error(request, ReplyHead(400), json.dumps({"detail": words}).encode())
        assert speaker.adapt_encoding(request, error), words
    sent = body_of(speaker.encode(request, stream=True))
    assert sent["instructions"]
    assert sent["input"][0] == {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": "Be brief."}],
    }


def test_a_request_without_instructions_gets_some_where_they_are_required() -> None:
    sent = second("openai", {"detail": "Instructions are required"}, asking("openai", messages=(user("hi"),)))
    assert sent["instructions"]
