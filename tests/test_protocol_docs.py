"""docs/protocol.md is the code's: its tables are the generated ones, and each of its examples is a message."""

from __future__ import annotations

import json
import re
from typing import Any, get_args

import pytest

from agent_ls.loop.event_codec import DELTA_KINDS, decode, encode
from agent_ls.server import protocol
from agent_ls.server.access import access_event
from agent_ls.server.assembly import ROUTES
from agent_ls.server.errors import CODES
from agent_ls.server.hello import GRANTED, client_abilities, initialize_result
from agent_ls.server.schema import result_of
from agent_ls.store.locks import Owner
from tests.docs.pages import Block, anchors, blocks, code_words, links, read, section, table
from tests.test_protocol_golden import without_uris
from tests.tools import protocol_docs

PAGE = read("docs/protocol.md")
TABLES = protocol_docs.written_tables(PAGE)
EXAMPLES = blocks(PAGE, "json")
PARAMS = {route.params.method: route.params for route in ROUTES}
RESULTS = {route.params.method: result_of(route) for route in ROUTES}
WHAT_TO_DO = f"docs/protocol.md is not what the code is: run `{protocol_docs.COMMAND}`"


def test_the_tables_of_the_page_are_those_of_the_code() -> None:
    assert protocol_docs.renewed(PAGE) == PAGE, WHAT_TO_DO


@pytest.mark.parametrize("name", TABLES)
def test_every_row_of_a_table_says_what_it_means(name: str) -> None:
    silent = [row for row in protocol_docs.written_rows(TABLES[name]) if not row[-1]]

    assert not silent, f"fill in the last column of {silent} in docs/protocol.md"


def test_every_request_has_its_tables_and_its_heading() -> None:
    for method, params in PARAMS.items():
        assert f"params {method}" in TABLES, f"{method} is not in docs/protocol.md"
        assert method.replace("/", "").lower() in anchors(PAGE)
        # A result of one object is told in words.
        told = f"result {method}" in TABLES or len(RESULTS[method].model_fields) < 2
        assert told, f"the result of {params.method} is not in docs/protocol.md"


def test_every_request_is_routed() -> None:
    assert set(protocol.Params.__subclasses__()) == set(PARAMS.values())


@pytest.mark.req("E1", "E8")
def test_every_kind_of_event_stands_in_exactly_one_table() -> None:
    told = [kind for name in TABLES if name.startswith("events ") for kind in name.split()[1:]]

    assert sorted(told) == sorted(protocol_docs.EVENTS)
    assert {row[0].strip("`") for row in table(section(PAGE, "### Deltas"), "kind")} == DELTA_KINDS


def test_every_object_that_a_table_names_has_a_table() -> None:
    named = {target[1:] for body in TABLES.values() for target in links(body) if target.startswith("#")}
    missing = named - anchors(PAGE)

    assert not missing
    assert {f"object {name}" for name in protocol_docs.OBJECTS} <= set(TABLES)


def test_every_state_of_a_hunk_is_explained() -> None:
    states = get_args(protocol.HunkInfo.model_fields["state"].annotation)

    assert {row[0].strip("`") for row in table(PAGE, "state")} == set(states)


def test_every_ability_that_is_negotiated_is_explained() -> None:
    rows = table(section(PAGE, "## Negotiation"), "field")
    told = {word for row in rows for word in code_words(row[0])}

    assert told == {"version", "terminal", "workspaceTrusted", *GRANTED}


def test_what_is_said_not_to_be_built_is_not_built() -> None:
    missing = section(PAGE, "## Not built yet")
    named = set(code_words(missing))

    assert not named & set(PARAMS)
    assert not named & set(protocol_docs.EVENTS)


# --- examples -------------------------------------------------------------------------------------------------


def test_every_fenced_example_has_a_kind_that_is_checked() -> None:
    kinds = {block.tag.split()[0] if block.tag else "" for block in EXAMPLES}

    assert kinds == {"initialize", "params", "result", "event", "access", "client_request", "error"}


def examples(kind: str) -> pytest.MarkDecorator:
    chosen = [block for block in EXAMPLES if block.tag.split()[0] == kind]
    return pytest.mark.parametrize("block", chosen, ids=[f"line {b.line} {b.tag}" for b in chosen])


def loaded(block: Block) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(block.text)
    return value


@examples("params")
def test_an_example_of_parameters_is_understood_whole(block: Block) -> None:
    params, value = PARAMS[block.tag.split()[1]], loaded(block)

    assert params.model_validate(value).model_dump(mode="json", by_alias=True, exclude_unset=True) == value


@examples("result")
def test_an_example_of_a_result_is_one_that_the_server_gives(block: Block) -> None:
    result, value = RESULTS[block.tag.split()[1]], loaded(block)

    assert result.model_validate(value).model_dump(mode="json", by_alias=True, exclude_none=True) == value
    for event in value.get("events", ()):
        assert_is_event(event)


@examples("event")
def test_an_example_of_an_event_is_decoded_and_encoded_to_the_same(block: Block) -> None:
    assert_is_event(loaded(block))


def assert_is_event(value: dict[str, Any]) -> None:
    envelope = decode(json.dumps(value).encode())
    assert envelope is not None
    assert json.loads(encode(envelope)) == without_uris(value)


@examples("error")
def test_an_example_of_an_error_has_the_code_of_its_kind(block: Block) -> None:
    value = loaded(block)

    assert set(value) == {"code", "message", "data"}
    assert set(value["data"]) == {"kind", "retryable", "hint"}
    assert CODES[value["data"]["kind"]] == value["code"]


@examples("initialize")
def test_an_example_of_initialize_makes_a_rich_client(block: Block) -> None:
    client = client_abilities(loaded(block))

    assert client.is_rich and all(getattr(client, ability) for ability in GRANTED)
    granted = initialize_result(client)["capabilities"]["experimental"]["agentLs"]
    assert granted == {"version": 1, **dict.fromkeys(GRANTED, True)}


@examples("access")
def test_an_example_of_access_is_as_the_server_makes_it(block: Block) -> None:
    value = loaded(block)
    made = json.loads(access_event("s", "readOnly", Owner(1, "", "ada", "Neovim")))

    assert "seq" not in value and value.keys() == made.keys()
    assert value["data"].keys() == made["data"].keys()
    protocol.OwnerInfo.model_validate(value["data"]["owner"])


@examples("client_request")
def test_an_example_of_a_client_request_is_of_a_kind_that_is_listed(block: Block) -> None:
    value = loaded(block)

    assert value["kind"] == "client_request" and "seq" not in value
    assert set(value["data"]) == {"requestId", "clientId", "what", "params", "deadlineMs"}
    assert f"`{value['data']['what']}`" in {row[0] for row in table(PAGE, "`what`")}


def test_the_client_requests_that_are_listed_are_those_that_are_sent() -> None:
    source = read("agent_ls/server/client_requests.py") + read("agent_ls/server/language.py")

    assert {f"`{what}`" for what in re.findall(r'\b_?(?:ask|places)\(\s*"(\w+)"', source)} == {
        row[0] for row in table(PAGE, "`what`")
    }
