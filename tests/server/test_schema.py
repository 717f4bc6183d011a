"""`agent-ls protocol --schema`: the golden messages fit it, and what is no message does not."""

from __future__ import annotations

import json
import sys
from typing import Any, get_args

import anyio
import pytest

from agent_ls.llm.schema_check import misfit
from agent_ls.loop.events import RecordedEvent
from agent_ls.server.assembly import ROUTES
from agent_ls.server.errors import CODES
from agent_ls.server.protocol import ASKED
from agent_ls.server.schema import protocol_schema
from tests.docs.pages import read as read_page, table
from tests.test_protocol_golden import REQUESTS, SESSION, read

SCHEMA = protocol_schema()


def whole(schema: Any) -> Any:
    """With what is referred to in place of the reference; nothing of ours refers to itself."""
    if isinstance(schema, list):
        return [whole(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if isinstance(ref := schema.get("$ref"), str):
        return whole(SCHEMA["$defs"][ref.removeprefix("#/$defs/")])
    return {key: whole(value) for key, value in schema.items() if key != "$defs"}


MESSAGE = whole({"anyOf": SCHEMA["anyOf"]})
METHODS = whole(SCHEMA["methods"])
EVENT = METHODS and whole(SCHEMA["$defs"]["Event"])


@pytest.mark.req("H2")
@pytest.mark.parametrize("example", REQUESTS, ids=lambda e: e["method"])
def test_a_golden_request_and_its_answer_fit_the_schema(example: dict[str, Any]) -> None:
    method, params, result = example["method"], example["params"], example["result"]

    assert misfit(params, METHODS[method]["params"]) == ""
    assert not result or misfit(result, METHODS[method]["result"]) == ""
    assert misfit({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, MESSAGE) == ""


@pytest.mark.req("E1")
@pytest.mark.parametrize(
    "event",
    [*SESSION, read("client_request.json")["event"], read("access.json")["event"]],
    ids=lambda e: e["kind"],
)
def test_a_golden_event_fits_the_schema_and_without_one_of_its_fields_it_does_not(
    event: dict[str, Any],
) -> None:
    assert misfit(event, EVENT) == ""
    for name in event["data"]:
        if name in ("uri", "name", "owner"):
            continue  # a delta of a text has no name, and a session that nobody has open no owner
        poorer = {key: value for key, value in event["data"].items() if key != name}
        assert misfit({**event, "data": poorer}, EVENT), f"{event['kind']} without {name}"


def test_the_schema_has_every_method_that_is_answered_every_event_and_every_error() -> None:
    assert set(SCHEMA["methods"]) == {route.params.method for route in ROUTES}
    kinds = {one["properties"]["kind"].get("const") for one in EVENT["anyOf"]}
    unrecorded = {"client_request", "access", None}  # a delta has one of several kinds
    assert {cls.kind for cls in get_args(RecordedEvent)} | unrecorded == kinds
    assert SCHEMA["errors"] == dict(CODES)


ASKED_EXAMPLES = read("client_request.json")["asked"]
OPTIONAL = ("symbols", "diagnostics")
"""Whose parameters may be left out."""


@pytest.mark.req("H2")
@pytest.mark.parametrize("what", ASKED_EXAMPLES)
def test_what_the_server_asks_of_a_client_and_its_answer_fit_the_schema(what: str) -> None:
    example, known = ASKED_EXAMPLES[what], whole(SCHEMA["clientRequests"])[what]
    for side in ("params", "result"):
        assert misfit(example[side], known[side]) == ""
    for name in () if what in OPTIONAL else example["params"]:
        assert misfit({key: it for key, it in example["params"].items() if key != name}, known["params"])


def test_what_the_page_says_that_is_asked_of_a_client_is_in_the_schema_and_the_examples() -> None:
    told = {row[0].strip("`") for row in table(read_page("docs/protocol.md"), "`what`")}
    assert set(ASKED) == set(ASKED_EXAMPLES) == told


@pytest.mark.req("H9", "H10")
def test_both_plugins_answer_what_is_asked_of_them() -> None:
    typescript = read_page("vscode-extension/src/client_requests.ts")
    rooms = ("client_requests", "language")
    lua = "".join(read_page(f"editors/nvim/lua/agent_ls/{room}.lua") for room in rooms)
    for what in ASKED:
        assert f'case "{what}":' in typescript
        is_answered = f"{what} = " in lua or f"answerers.{what}(" in lua
        assert is_answered or what == "editNotebook"  # Neovim opens a notebook as its text


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "agent/nothing", "params": {}},
        {"jsonrpc": "2.0", "method": "agent/submit", "params": {"sessionId": "s"}},
        {"jsonrpc": "2.0", "method": "agent/configure", "params": {"sessionId": "s", "clientKey": 7}},
        {"jsonrpc": "2.0", "method": "agent/event", "params": {"sessionId": "s", "kind": "state"}},
    ],
)
def test_what_is_no_message_does_not_fit(message: dict[str, Any]) -> None:
    assert misfit(message, MESSAGE)


def test_every_reference_is_defined() -> None:
    text = json.dumps(SCHEMA)
    named = {part.split('"', 1)[0] for part in text.split('"#/$defs/')[1:]}

    assert named <= set(SCHEMA["$defs"])


async def test_the_command_prints_it() -> None:
    command = [sys.executable, "-m", "agent_ls", "protocol", "--schema"]
    printed = await anyio.run_process(command)

    assert json.loads(printed.stdout) == SCHEMA
