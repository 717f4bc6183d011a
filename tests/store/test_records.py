"""Encode turns of any content to JSON, and decode them (L4, R3)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agent_ls.llm.messages import (
    Citation,
    ImagePart,
    Message,
    OpaquePart,
    Origin,
    ReasoningPart,
    Role,
    SearchPart,
    Source,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from agent_ls.llm.requests import FinishReason, Usage
from agent_ls.loop.turns import AssistantTurn, SteeringTurn, SystemTurn, ToolResultsTurn, Turn, UserTurn
from agent_ls.store.log import record
from agent_ls.store.records import turn_from_json, turn_to_json

TEXT = st.text(st.characters(codec=None), max_size=8)  # lone surrogates too
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
ORIGINS = st.builds(Origin, TEXT, TEXT, st.dictionaries(TEXT, JSON, max_size=3))
IMAGES = st.builds(ImagePart, st.none() | st.binary(max_size=8), TEXT, TEXT)
RESULTS = st.builds(ToolResultPart, TEXT, TEXT, TEXT, st.booleans(), st.lists(IMAGES, max_size=2).map(tuple))
SOURCES = st.builds(Source, TEXT, TEXT)
CITATIONS = st.builds(Citation, SOURCES, st.integers(0, 9), st.integers(0, 9), TEXT)
PARTS = st.one_of(
    st.builds(TextPart, TEXT, st.none() | ORIGINS, st.lists(CITATIONS, max_size=2).map(tuple)),
    st.builds(ReasoningPart, TEXT, st.none() | ORIGINS),
    st.builds(ToolCallPart, TEXT, TEXT, TEXT, st.none() | ORIGINS),
    st.builds(OpaquePart, ORIGINS),
    st.builds(
        SearchPart, st.lists(TEXT, max_size=2).map(tuple), st.lists(SOURCES, max_size=2).map(tuple), ORIGINS
    ),
    IMAGES,
)
COUNTS = st.none() | st.integers(0, 9)
TURNS: st.SearchStrategy[Turn] = st.one_of(
    st.builds(UserTurn, TEXT, TEXT, st.lists(IMAGES, max_size=2).map(tuple)),
    st.builds(SystemTurn, TEXT, TEXT),
    st.builds(
        SteeringTurn, TEXT, TEXT, st.sampled_from(["user", "review"]), st.lists(IMAGES, max_size=2).map(tuple)
    ),
    st.builds(ToolResultsTurn, st.lists(RESULTS, max_size=3).map(tuple), TEXT),
    st.builds(
        AssistantTurn,
        st.builds(Message, st.just(Role.ASSISTANT), st.lists(PARTS, max_size=4).map(tuple)),
        st.builds(Usage, st.integers(0, 9), st.integers(0, 9), COUNTS, COUNTS, COUNTS),
        TEXT,
        TEXT,
        TEXT,
        st.builds(FinishReason, st.sampled_from(["stop", "length"]), TEXT),
        TEXT,
    ),
)


@given(TURNS)
def test_a_turn_is_unchanged_after_encoding_and_decoding(turn: Turn) -> None:
    line = record("turn", turn_to_json(turn))
    assert line.count(b"\n") == 1
    assert turn_from_json(json.loads(line)["turn"]) == turn


BAD: dict[str, dict[str, Any]] = {
    "no content": {"type": "user", "timestamp": "t"},
    "a number for text": {"type": "system", "timestamp": "t", "content": 3},
    "parts of nothing": {"type": "assistant", "timestamp": "t", "parts": None},
    "bad base64": {
        "type": "user",
        "timestamp": "t",
        "content": "",
        "images": [{"data": "a", "mediaType": "", "url": ""}],
    },
    "no type": {"timestamp": "t"},
}


@pytest.mark.parametrize("case", BAD)
def test_an_incomplete_record_is_a_value_error(case: str) -> None:
    with pytest.raises(ValueError, match=r"not a turn|base64"):
        turn_from_json(BAD[case])


def test_turns_and_message_parts_of_unknown_types_are_ignored() -> None:
    assert turn_from_json({"type": "dream", "timestamp": "t"}) is None
    turn = turn_to_json(
        AssistantTurn(
            Message(Role.ASSISTANT, (TextPart("a"),)), Usage(), "", "", "", FinishReason("stop"), "t"
        )
    )
    turn["parts"].append({"type": "hologram"})
    turn["usage"]["carbon"] = 3
    read = turn_from_json(turn)
    assert isinstance(read, AssistantTurn)
    assert read.message.parts == (TextPart("a"),)
