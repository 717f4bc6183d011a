"""`agent-ls protocol --schema`: the golden messages match the schema, and invalid messages do not."""

from __future__ import annotations

import json
import sys
from typing import Any, get_args

import anyio
import pytest

from agent_ls.acp.extension_types import extension_schema
from agent_ls.environments import effects
from agent_ls.environments.effects import Effect
from agent_ls.llm.schema_check import find_schema_error
from agent_ls.loop.calls.approval import SELDOM, effect_json
from agent_ls.loop.events.codec import decode
from agent_ls.loop.events.items import ItemReducer
from agent_ls.loop.events.types import RecordedEvent
from agent_ls.server.features.routes import ROUTES
from agent_ls.server.protocol import ASKED
from agent_ls.server.rpc import to_wire
from agent_ls.server.transport.errors import CODES
from tests.docs.pages import read as read_page, table
from tests.support.wire_schema import event_schema, fits, misfit, schema, whole
from tests.test_protocol_golden import REQUESTS, SESSION, read

SCHEMA = schema()
MESSAGE = whole({"anyOf": SCHEMA["anyOf"]}, strict=False)
METHODS = whole(SCHEMA["methods"])
EVENT = whole(SCHEMA["$defs"]["Event"])
ITEM = whole(SCHEMA["$defs"]["Item"])


@pytest.mark.req("H2")
def test_each_golden_request_and_its_answer_fit_the_schema() -> None:
    for example in REQUESTS:
        method, params, result = example["method"], example["params"], example["result"]
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        assert misfit(params, METHODS[method]["params"]) == "", method
        assert not result or misfit(result, METHODS[method]["result"]) == "", method
        assert misfit(message, MESSAGE) == "", method


def test_the_cached_validator_finds_the_same_errors_as_an_uncached_validation() -> None:
    errors = []
    for event in SESSION[::4]:
        first = next(iter(event["data"]), "")
        poorer = {key: value for key, value in event["data"].items() if key != first}
        for change in ({}, {"data": poorer}, {"kind": "unknown"}, {"kind": 7}, {"more": 1}):
            value = {**event, **change}
            errors.append(misfit(value, event_schema()))
            assert errors[-1] == find_schema_error(value, event_schema(), is_own=True), value

    assert "" in errors and len(set(errors)) > 1


@pytest.mark.req("E1")
def test_each_golden_event_matches_the_schema_only_with_all_required_fields() -> None:
    for event in (*SESSION, read("client_request.json")["event"], read("access.json")["event"]):
        assert misfit(event, EVENT) == "", event["kind"]
        for name in event["data"]:
            if name in ("name", "owner"):
                continue  # a text delta has no name, and a session that is not open has no owner
            poorer = {key: value for key, value in event["data"].items() if key != name}
            assert not fits({**event, "data": poorer}, EVENT), f"{event['kind']} without {name}"


@pytest.mark.req("E1")
@pytest.mark.parametrize("case", read("folds.json")["cases"], ids=lambda c: c["name"])
def test_the_messages_of_each_golden_reducer_case_match_the_schema(case: dict[str, Any]) -> None:
    for step in case["steps"]:
        if "subscribed" in step:
            assert misfit(step["subscribed"], METHODS["agent/subscribe"]["result"]) == ""
        elif step["event"]["kind"] != "from_the_future":
            assert misfit(step["event"], EVENT) == ""


@pytest.mark.req("H3")
def test_items_of_the_golden_session_match_the_schema_only_with_all_required_fields() -> None:
    reducer = ItemReducer()
    for event in SESSION:
        reducer.add(decode(json.dumps(event).encode()) or pytest.fail(event["kind"]))
    encoded = json.loads(to_wire.items(reducer.items))
    optional = {
        "tool": {"result", "terminalId", "background", "look", "doing", "done"},
        "approval": {"reason", "scope", "decidedBy"},
        "question": {"answers", "decidedBy"},
        "notice": {"hint", "action"},
    }

    assert {item["kind"] for item in encoded} == {one["properties"]["kind"]["const"] for one in ITEM["anyOf"]}
    for item in encoded:
        assert misfit(item, ITEM) == "", item["kind"]
        for name in item.keys() - optional.get(item["kind"], set()) - {"agentId"}:
            poorer = {key: value for key, value in item.items() if key != name}
            assert not fits(poorer, ITEM), f"{item['kind']} without {name}"


EFFECTS: list[Effect] = [
    effects.NoEffect(),
    effects.ReadEffect(("/w",)),
    effects.WriteEffect((effects.PlannedWrite("/w/a", "move", "", "k"),)),
    effects.CommandEffect("ls", "/w", (("A", "1"),)),
    effects.CommandEffect("y", "/w", input_of="p1"),
    effects.CommandEffect("ls", "/w", outside_sandbox=True),
    effects.ProcessEffect("p1", "kill"),
    effects.TrustEffect("/w", "1000"),
    effects.FetchEffect("https://a.example/"),
    effects.CallEffect("deploy", "./deploy", "admin", argv=("./deploy",)),
    effects.CallEffect("db__get", "{}", "read", server="db", title="get", reads_rule="reads:db@1"),
    effects.ServerEffect(
        "db", "1f", file="/w/.mcp.json", command="npx db", variables=("A=1",), is_fetched=True
    ),
]


@pytest.mark.parametrize("effect", EFFECTS, ids=lambda e: type(e).__name__)
def test_an_effect_matches_the_schema_only_with_all_required_fields(effect: Effect) -> None:
    schema, encoded = whole(SCHEMA["$defs"]["Effect"]), json.loads(json.dumps(effect_json(effect)))

    assert misfit(encoded, schema) == ""
    for name in encoded.keys() - {*SELDOM}:
        assert misfit({key: value for key, value in encoded.items() if key != name}, schema), name


def test_the_effect_examples_include_every_effect_class() -> None:
    assert {type(effect) for effect in EFFECTS} == set(get_args(Effect))


def test_the_schema_has_every_method_every_event_and_every_error_code() -> None:
    assert set(SCHEMA["methods"]) == {route.params.method for route in ROUTES.values()}
    kinds = {one["properties"]["kind"].get("const") for one in EVENT["anyOf"]}
    unrecorded = {"client_request", "access", "missing", None}  # None: the schema of deltas has several kinds
    assert {cls.kind for cls in get_args(RecordedEvent)} | unrecorded == kinds
    assert SCHEMA["errors"] == dict(CODES)


ASKED_EXAMPLES = read("client_request.json")["asked"]
OPTIONAL = ("symbols", "diagnostics")
"""Requests whose parameters are all optional."""


@pytest.mark.req("H2")
@pytest.mark.parametrize("what", ASKED_EXAMPLES)
def test_client_requests_and_their_answers_fit_the_schema(what: str) -> None:
    example, known = ASKED_EXAMPLES[what], whole(SCHEMA["clientRequests"])[what]
    for side in ("params", "result"):
        assert misfit(example[side], known[side]) == ""
    for name in () if what in OPTIONAL else example["params"]:
        assert misfit({key: it for key, it in example["params"].items() if key != name}, known["params"])


def test_client_requests_on_the_documentation_page_are_those_of_the_schema_and_the_examples() -> None:
    documented = {row[0].strip("`") for row in table(read_page("docs/protocol/requests.md"), "`what`")}
    assert set(ASKED) == set(ASKED_EXAMPLES) == documented


@pytest.mark.req("H10")
def test_the_neovim_plugin_answers_every_client_request() -> None:
    # protocol_types.test.ts checks VS Code's types against the schema.
    rooms = ("client_requests", "code_queries", "code_details")
    lua = "".join(read_page(f"editors/nvim/lua/agent_ls/{room}.lua") for room in rooms)
    for what in ASKED:
        is_answered = f"{what} = " in lua or f"answerers.{what}(" in lua
        assert is_answered or what == "editNotebook"  # Neovim edits a notebook as plain text


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "agent/nothing", "params": {}},
        {"jsonrpc": "2.0", "method": "agent/submit", "params": {"sessionId": "s"}},
        {"jsonrpc": "2.0", "method": "agent/configure", "params": {"sessionId": "s", "clientKey": 7}},
        {"jsonrpc": "2.0", "method": "agent/event", "params": {"sessionId": "s", "kind": "state"}},
    ],
)
def test_an_invalid_message_does_not_fit_the_schema(message: dict[str, Any]) -> None:
    assert misfit(message, MESSAGE)


def test_every_reference_is_defined() -> None:
    text = json.dumps(SCHEMA)
    named = {part.split('"', 1)[0] for part in text.split('"#/$defs/')[1:]}

    assert named <= set(SCHEMA["$defs"])


async def test_the_command_protocol_schema_prints_the_json_schema() -> None:
    command = [sys.executable, "-m", "agent_ls", "protocol", "--schema"]
    printed = await anyio.run_process(command)

    assert json.loads(printed.stdout) == {**SCHEMA, "acp": extension_schema()}
