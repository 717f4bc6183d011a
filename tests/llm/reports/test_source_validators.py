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
    reported("fastapi/fastapi@form", 422, {"detail": [EXTRA]},
        what="chat-servers, passed: FastAPI lists the fields that it does not know"),
    reported("vllm-project/vllm@source", 400,
        {"error": {"message": "[{'type': 'extra_forbidden', 'loc': ('body', 'F'), 'msg': 'Extra inputs are not "
            "permitted', "
            "'input': 1}]", "type": "Bad Request", "param": None, "code": 400}},
        what="chat-servers, passed: vLLM writes the fields that it does not know in Python"),
    reported("pydantic/pydantic@form", 500,
        {"error": "1 validation error for ChatRequest\nF\n  Extra inputs are not permitted [type=extra_forbidden, "
            "input_value=1, input_type=int]\n    For further information visit https://errors.pydantic.dev/2/v/extra"},
        what="chat-servers, passed: an error of pydantic is a failure of the server"),
    reported("golang/go@form", 400, {"error": 'json: unknown field "F"'},
        what="chat-servers, passed: a server in Go does not know a field"),
    reported("serde-rs/serde@form", 422,
        "Failed to deserialize the JSON body into the target type: unknown field `F`, expected one of `model`, "
        "`messages` "
        "at line 1 column 9", what="chat-servers, failed: a server in Rust does not know a field"),
    reported("colinhacks/zod@form", 400,
        {"success": False, "error": {"name": "ZodError", "issues": ZOD}},
        what="chat-servers, passed: the issues of zod are the error"),
    reported("colinhacks/zod@form", 400, {"error": {"message": json.dumps(ZOD_4)}},
        what="chat-servers, passed: the issues of zod are a text"),
    reported("openai/openai-openapi@form", 400,
        {"error": {"message": "Unknown parameter: 'F'.", "type": "invalid_request_error", "param": "F",
            "code": "unknown_parameter"}}, what="chat-servers, passed: OpenAI does not know a parameter"),
    reported("openai/openai-openapi@form", 400,
        {"error": {"message": "Unrecognized request argument supplied: F", "type": "invalid_request_error",
        "param": None,
            "code": None}}, what="chat-servers, passed: an older OpenAI does not know an argument"),
    reported("openai/openai-openapi@form", 400,
        {"error": {"message": "Unsupported parameter: 'F' is not supported with this model.", "param": "F",
            "code": "unsupported_parameter"}}, what="chat-servers, passed: a model does not support a parameter"),
    reported("protocolbuffers/protobuf@form", 400,
        {"error": {"code": 400, "message": 'Invalid JSON payload received. Unknown name "F": Cannot find field.',
            "status": "INVALID_ARGUMENT"}}, what="gemini, passed: the parser of protobuf does not find a field"),
    reported("aws/aws-sdk-js-v3@form", 400,
        {"message": "Malformed input request: #: extraneous key [F] is not permitted, please reformat your input "
            "and try "
            "again."}, what="anthropic, passed: Bedrock does not permit a key"),
    reported("ajv-validator/ajv@form", 400,
        {"error": "Bad Request", "message": "body must NOT have additional properties", "validation": [AJV]},
        what="chat-servers, failed: ajv names a field in the parameters of its error"),
    reported("FasterXML/jackson-databind@form", 400,
        {"status": 400, "error": "Bad Request", "message": 'JSON parse error: Unrecognized field "F" (class '
            'a.ChatRequest), '
            'not marked as ignorable (3 known properties: "model", "messages", "stream")'},
        what="chat-servers, passed: a server in Java does not know a field and lists what it knows"),
    reported("dotnet/runtime@form", 400,
        {"title": "One or more validation errors occurred.", "status": 400,
        "errors": {"$.F": [("The JSON property 'F' could "
            "not be mapped to any .NET member contained in type 'ChatRequest'.")]}},
        what="chat-servers, failed: a server in C# cannot map a property"),
    reported("python/cpython@form", 500,
        {"error": {"message": "Completions.create() got an unexpected keyword argument 'F'", "type": "server_error"}},
        what="chat-servers, passed: a proxy in Python passes a field on that its library does not know"),
    reported("marshmallow-code/marshmallow@form", 422,
        {"errors": {"json": {"F": ["Unknown field."]}}},
        what="chat-servers, failed: marshmallow puts the field where others have a message"),
    reported("hapijs/joi@form", 400,
        {"statusCode": 400, "error": "Bad Request", "message": '"F" is not allowed'},
        what="chat-servers, passed: joi does not allow a field"),
    reported("typestack/class-validator@form", 400,
        {"statusCode": 400, "message": ["property F should not exist"], "error": "Bad Request"},
        what="chat-servers, failed: the message of class-validator is a list of texts"),
    reported("BerriAI/litellm@form", 400,
        {"error": {"message": "litellm.UnsupportedParamsError: groq does not support parameters: ['F'], for "
            "model=m. To drop "
            "these, set `litellm.drop_params=True` or for proxy: `litellm_settings: drop_params: true`",
            "type": "None", "param": None, "code": "400"}},
        what="chat-servers, passed: LiteLLM says that a provider does not support a parameter"),
    reported("jcrist/msgspec@form", 400, {"detail": "Object contains unknown field `F`"},
        what="chat-servers, passed: msgspec does not know a field"),
    reported("open-circle/valibot@form", 400,
        {"error": {"message": 'Invalid key: Expected never but received "F"'}},
        what="chat-servers, failed: valibot expects never a field"),
    reported("rails/rails@form", 400,
        {"error": "found unpermitted parameter: :F"}, what="chat-servers, failed: Rails does not permit a parameter"),
    reported("ai-dynamo/dynamo@form", 400,
        {"message": "Validation: Unsupported parameter(s): `F`", "type": "Bad Request", "code": 400},
        what="chat-servers, passed: Dynamo does not support a parameter"),
    reported("mlc-ai/mlc-llm@source", 400,
        {"object": "error", "message": "Request fields F are not supported right now.", "code": 400},
        what="chat-servers, passed: MLC does not support a field right now"),
    reported("python-jsonschema/jsonschema@form", 400,
        {"error": {"message": "Additional properties are not allowed ('F' was unexpected)"}},
        what="chat-servers, passed: jsonschema does not expect a field"),
    reported("ggml-org/llama.cpp@form", 400,
        {"error": {"code": 400, "message": "Unsupported param: F", "type": "invalid_request_error"}},
        what="chat-servers, passed: llama.cpp does not support a parameter"),
    reported("triton-inference-server/server@source", 400,
        {"detail": "F is not currently supported"}, what="chat-servers, passed: Triton does not support a field"),
    reported("spring-projects/spring-framework@form", 400,
        {"type": "about:blank", "title": "Bad Request", "status": 400, "detail": "Property 'F' is not recognized",
            "instance": "/v1/chat/completions"}, what="chat-servers, passed: a problem detail names a property"),
    reported("elastic/kibana@form", 400,
        {"statusCode": 400, "error": "Bad Request",
            "message": "[request body.F]: definition for this key is missing"},
        what="chat-servers, failed: a key has no definition"),
    reported("services/openapi-generators@form", 400,
        {"errors": [{"title": "Request body validation error", "status": 400,
            "schema_errors": ["Additional properties are not allowed ('F' was unexpected)"]}]},
        what="chat-servers, failed: the reasons of an error are a list of texts in it"),
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
