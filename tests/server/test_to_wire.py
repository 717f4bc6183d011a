"""Events are sent with the bytes of the log. Only events that name files get uris in addition to their paths."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agent_ls.loop.events.codec import encode
from agent_ls.loop.events.types import (
    AssistantTextEnd,
    Envelope,
    FileChange,
    Hunk,
    HunkStateChanged,
    RecordedEvent,
)
from agent_ls.server import protocol as wire
from agent_ls.server.features.routes import ROUTES
from agent_ls.server.lsp import to_lsp
from agent_ls.server.rpc import to_wire

NASTY = st.text(alphabet='ab"\\/:{}, pathuri\n😋', max_size=40)


def hunk(path: str, text: str) -> Hunk:
    return Hunk("h", "s", "t", "c", path, "content", "pending", 0, 1, 0, 1, (text,), (f'"path":"{text}"',))


def without_uris(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_uris(item) for name, item in value.items() if name != "uri"}
    return [without_uris(item) for item in value] if isinstance(value, list) else value


@pytest.mark.req("H3")
@given(NASTY.filter(bool), NASTY, st.booleans())
def test_events_with_file_paths_are_sent_with_a_uri_for_each_path(
    name: str, text: str, is_change: bool
) -> None:
    path, hunks = f"/project/{name}", (hunk(f"/project/{name}", text),)
    event: RecordedEvent = HunkStateChanged(path, hunks, "user", comment=text)
    if is_change:
        event = FileChange("c", path, "modify", 1, 1, f'"path":"{text}"', hunks)
    encoded = encode(Envelope("s-1", 7, "now", event, turn_id="t"))
    sent = json.loads(to_wire.event(encoded))
    assert sent["data"]["uri"] == sent["data"]["hunks"][0]["uri"] == to_lsp.uri(path)
    assert without_uris(sent) == json.loads(encoded)


@given(NASTY)
def test_events_without_file_paths_are_sent_unchanged(text: str) -> None:
    encoded = encode(
        Envelope("s-1", 7, "now", AssistantTextEnd("p", f'"path":"/a"{text}"kind":"file_change"'))
    )
    assert to_wire.event(encoded) is encoded


def test_a_result_with_undecodable_bytes_is_valid_json() -> None:
    info = to_wire.hunk(hunk("/a", "caf\udce9\n"))
    sent = json.loads(to_wire.encode_result(wire.ReviewResult(changed=(info,))))
    assert sent["changed"][0]["oldLines"] == ["caf?\n"]


def test_every_request_class_of_the_protocol_has_exactly_one_route() -> None:
    def below(cls: type[wire.Params]) -> set[type[wire.Params]]:
        return {found for sub in cls.__subclasses__() for found in (sub, *below(sub))}

    assert {route.params for route in ROUTES.values()} == below(wire.Params)
    methods = [route.params.method for route in ROUTES.values()]
    assert len(set(methods)) == len(methods)


@pytest.mark.req("H2")
def test_every_request_that_changes_state_accepts_a_client_key() -> None:
    only_look = {
        "agent/sessions", "agent/subscribe", "agent/unsubscribe", "agent/hunks", "agent/terminals",
        "agent/editorState", "agent/diagnostics", "agent/clientAnswer", "agent/models", "agent/commands",
        "agent/complete", "agent/history", "agent/draft", "agent/terminalOutput", "agent/export",
        "agent/output", "agent/rules", "agent/mcpServers", "agent/commitMessage", "agent/memory", "agent/blame",
        "agent/looked",  # the same again changes nothing
        "workspace/textDocumentContent",
    }  # fmt: skip
    assert {route.params.method for route in ROUTES.values() if not route.has_key} == only_look
