"""Validate ACP messages against the schema of the official Python SDK, with unknown fields refused."""

from __future__ import annotations

from functools import cache
from typing import Any

import acp.schema as sdk
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter

from agent_ls.acp.extension_types import extension_schema

REQUESTS: dict[str, tuple[Any, Any]] = {
    "initialize": (sdk.InitializeRequest, sdk.InitializeResponse),
    "authenticate": (sdk.AuthenticateRequest, sdk.AuthenticateResponse),
    "session/new": (sdk.NewSessionRequest, sdk.NewSessionResponse),
    "session/load": (sdk.LoadSessionRequest, sdk.LoadSessionResponse),
    "session/resume": (sdk.ResumeSessionRequest, sdk.ResumeSessionResponse),
    "session/list": (sdk.ListSessionsRequest, sdk.ListSessionsResponse),
    "session/close": (sdk.CloseSessionRequest, sdk.CloseSessionResponse),
    "session/delete": (sdk.DeleteSessionRequest, sdk.DeleteSessionResponse),
    "session/prompt": (sdk.PromptRequest, sdk.PromptResponse),
    "session/set_mode": (sdk.SetSessionModeRequest, sdk.SetSessionModeResponse),
    "session/set_config_option": (
        sdk.SetSessionConfigOptionSelectRequest | sdk.SetSessionConfigOptionBooleanRequest,
        sdk.SetSessionConfigOptionResponse,
    ),
    "session/request_permission": (sdk.RequestPermissionRequest, sdk.RequestPermissionResponse),
    "fs/read_text_file": (sdk.ReadTextFileRequest, sdk.ReadTextFileResponse),
    "fs/write_text_file": (sdk.WriteTextFileRequest, sdk.WriteTextFileResponse),
    "elicitation/create": (
        sdk.CreateFormSessionElicitationRequest,
        sdk.AcceptElicitationResponse | sdk.DeclineElicitationResponse | sdk.CancelElicitationResponse,
    ),
}
NOTICES: dict[str, Any] = {
    "session/update": sdk.SessionNotification,
    "session/cancel": sdk.CancelNotification,
    "$/cancel_request": sdk.CancelRequestNotification,
}


def problems(method: str, kind: str, value: Any) -> list[str]:
    """Return the errors in the parameters (`kind` request or notice) or the result of a method. Extensions
    are checked by the schema of `agent-ls protocol --schema`.
    """
    if method.startswith("_"):
        found = _extension(method, kind)
        return (
            [f"{method} ({kind}): {it.message[:300]}" for it in found.iter_errors(value or {})]
            if found
            else []
        )
    model = NOTICES.get(method) if kind == "notice" else REQUESTS.get(method, (None, None))[kind == "result"]
    if model is None:
        return [f"{method}: no {kind} of the protocol"]
    errors = _validator(model).iter_errors(value if value is not None else {})
    return [f"{method} ({kind}): {'/'.join(map(str, it.path))}: {it.message[:300]}" for it in errors]


@cache
def _validator(model: Any) -> Draft202012Validator:
    schema = TypeAdapter(model).json_schema(by_alias=True)
    return Draft202012Validator(_strict(schema))


@cache
def _extension(method: str, kind: str) -> Draft202012Validator | None:
    schema = extension_schema()
    known = schema["methods"].get(method)
    if known is None or kind == "notice":
        return None
    reference = known["result" if kind == "result" else "params"]
    return Draft202012Validator({**reference, "acp": {"$defs": schema["$defs"]}})


def _strict(value: Any) -> Any:
    if isinstance(value, list):
        return [_strict(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {key: _strict(item) for key, item in value.items()}
    if isinstance(value.get("properties"), dict) and "additionalProperties" not in value:
        found["additionalProperties"] = False
    return found
