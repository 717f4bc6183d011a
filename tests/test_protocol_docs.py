"""docs/protocol/ describes the code: its tables are generated, and each of its examples is a valid message."""

from __future__ import annotations

import json
import re
from typing import Any, get_args

import pytest

from agent_ls.loop.events.codec import DELTA_KINDS, decode, encode
from agent_ls.server import protocol
from agent_ls.server.features.routes import ROUTES
from agent_ls.server.lsp.capabilities import GRANTED, client_abilities, initialize_result
from agent_ls.server.rpc.access import access_event
from agent_ls.server.schema.messages import result_of
from agent_ls.server.transport.errors import CODES
from agent_ls.store.locks import Owner
from tests.docs.pages import Block, anchors, blocks, code_words, links, read, section, table
from tests.test_protocol_golden import without_uris
from tests.tools import protocol_docs

PAGES = protocol_docs.read_pages()
PAGE = "\n".join(PAGES.values())
TABLES = protocol_docs.written_tables(PAGE)
EXAMPLES = blocks(PAGE, "json")
PARAMS = {route.params.method: route.params for route in ROUTES.values()}
RESULTS = {route.params.method: result_of(route) for route in ROUTES.values()}
WHAT_TO_DO = f"docs/protocol/ differs from the code: run `{protocol_docs.COMMAND}`"


def test_the_generated_tables_of_the_protocol_documentation_match_the_code() -> None:
    assert protocol_docs.renew_pages(PAGES) == PAGES, WHAT_TO_DO


def test_every_row_of_a_protocol_table_has_a_description() -> None:
    silent = [row for table in TABLES.values() for row in protocol_docs.written_rows(table) if not row[-1]]

    assert not silent, "fill in the last column in docs/protocol/"


def test_every_request_has_documentation_tables_and_a_heading() -> None:
    for method, params in PARAMS.items():
        assert f"params {method}" in TABLES, f"{method} is not in docs/protocol/"
        assert method.replace("/", "").lower() in anchors(PAGE)
        # A result with one field is described in words.
        is_described = f"result {method}" in TABLES or len(RESULTS[method].model_fields) < 2
        assert is_described, f"the result of {params.method} is not in docs/protocol/"


def test_every_request_is_routed() -> None:
    assert set(protocol.Params.__subclasses__()) == set(PARAMS.values())


@pytest.mark.req("E1", "E8")
def test_every_kind_of_event_is_in_exactly_one_table() -> None:
    listed = [kind for name in TABLES if name.startswith("events ") for kind in name.split()[1:]]

    assert sorted(listed) == sorted(protocol_docs.EVENTS)
    assert {row[0].strip("`") for row in table(section(PAGES["events"], "## Deltas"), "kind")} == DELTA_KINDS


def test_every_object_type_linked_in_a_protocol_table_has_a_table() -> None:
    missing = [
        target
        for page, text in PAGES.items()
        for body in protocol_docs.written_tables(text).values()
        for target in links(body)
        if not target.startswith("../") and not _is_heading(page, target)
    ]

    assert not missing
    assert {f"object {name}" for name in protocol_docs.OBJECTS} <= set(TABLES)


def _is_heading(page: str, target: str) -> bool:
    other, _, anchor = target.partition("#")
    return anchor in anchors(PAGES[other.removesuffix(".md") or page])


def test_every_state_of_a_hunk_is_explained() -> None:
    states = get_args(protocol.HunkInfo.model_fields["state"].annotation)

    assert {row[0].strip("`") for row in table(PAGE, "state")} == set(states)


def test_every_negotiated_capability_is_explained() -> None:
    rows = table(section(PAGE, "## Negotiation"), "field")
    documented = {word for row in rows for word in code_words(row[0])}

    assert documented == {"version", "terminal", "workspaceTrusted", *GRANTED}


def test_features_documented_as_not_supported_do_not_exist_in_the_protocol() -> None:
    missing = section(PAGE, "## Not supported")
    named = set(code_words(missing))

    assert named and not named & set(PARAMS)
    assert not named & set(protocol_docs.EVENTS)


# --- examples -------------------------------------------------------------------------------------------------


def test_every_documented_example_has_a_kind_that_a_test_checks() -> None:
    kinds = {block.tag.split()[0] if block.tag else "" for block in EXAMPLES}

    assert kinds == {
        "initialize", "params", "result", "event", "moved", "access", "client_request", "error"
    }  # fmt: skip


def examples(kind: str) -> pytest.MarkDecorator:
    chosen = [block for block in EXAMPLES if block.tag.split()[0] == kind]
    return pytest.mark.parametrize("block", chosen, ids=[f"line {b.line} {b.tag}" for b in chosen])


def loaded(block: Block) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(block.text)
    return value


@examples("params")
def test_a_documented_params_example_is_parsed_without_loss(block: Block) -> None:
    params, value = PARAMS[block.tag.split()[1]], loaded(block)

    assert params.model_validate(value).model_dump(mode="json", by_alias=True, exclude_unset=True) == value


@examples("result")
def test_a_documented_result_example_is_a_valid_result(block: Block) -> None:
    result, value = RESULTS[block.tag.split()[1]], loaded(block)

    assert result.model_validate(value).model_dump(mode="json", by_alias=True, exclude_none=True) == value
    for event in value.get("events", ()):
        assert_is_event(event)


@examples("moved")
def test_a_documented_moved_hunks_example_has_the_fields_that_the_server_sends(block: Block) -> None:
    value = loaded(block)

    sent = protocol.FileHunks.model_validate(value)
    assert sent.model_dump(mode="json", by_alias=True, exclude_none=True) == value


@examples("event")
def test_a_documented_event_example_is_unchanged_after_decoding_and_encoding(block: Block) -> None:
    assert_is_event(loaded(block))


def assert_is_event(value: dict[str, Any]) -> None:
    envelope = decode(json.dumps(value).encode())
    assert envelope is not None
    assert json.loads(encode(envelope)) == without_uris(value)


@examples("error")
def test_a_documented_error_example_has_the_code_of_its_error_kind(block: Block) -> None:
    value = loaded(block)

    assert set(value) == {"code", "message", "data"}
    assert set(value["data"]) == {"kind", "retryable", "hint"}
    assert CODES[value["data"]["kind"]] == value["code"]


@examples("initialize")
def test_a_documented_initialize_example_requests_every_grantable_capability(block: Block) -> None:
    client = client_abilities(loaded(block))

    assert client.is_rich and all(getattr(client, ability) for ability in GRANTED)
    granted = initialize_result(client)["capabilities"]["experimental"]["agentLs"]
    assert granted == {"version": 1, **dict.fromkeys(GRANTED, True)}


@examples("access")
def test_a_documented_access_example_has_the_fields_that_the_server_sends(block: Block) -> None:
    value = loaded(block)
    made = json.loads(access_event("s", "readOnly", Owner(1, "", "ada", "Neovim")))

    assert "seq" not in value and value.keys() == made.keys()
    assert value["data"].keys() == made["data"].keys()
    protocol.OwnerInfo.model_validate(value["data"]["owner"])


@examples("client_request")
def test_a_documented_client_request_example_names_a_documented_client_request(block: Block) -> None:
    value = loaded(block)

    assert value["kind"] == "client_request" and "seq" not in value
    assert set(value["data"]) == {"requestId", "clientId", "what", "params", "deadlineMs"}
    assert f"`{value['data']['what']}`" in {row[0] for row in table(PAGE, "`what`")}


def test_the_documented_client_requests_are_those_that_the_server_sends() -> None:
    source = read("agent_ls/server/editor/client_requests.py") + read("agent_ls/server/editor/language.py")

    assert {f"`{what}`" for what in re.findall(r'\b_?(?:ask|find_locations)\(\s*"(\w+)"', source)} == {
        row[0] for row in table(PAGE, "`what`")
    }
