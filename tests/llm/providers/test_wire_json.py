from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from agent_ls.llm.messages import JsonObject, JsonValue
from agent_ls.llm.providers.anthropic.response import usage as claude_usage
from agent_ls.llm.providers.gemini.response import usage as gemini_usage
from agent_ls.llm.providers.openai_chat.response import usage as chat_usage
from agent_ls.llm.providers.openai_responses.response import usage as responses_usage
from agent_ls.llm.providers.wire_json import (
    PieceJoiner,
    arguments_object,
    encode_body,
    encode_json,
    int_at,
    is_same_json,
    object_at,
    objects_at,
    parse_object,
    text_at,
)
from agent_ls.llm.requests import Usage


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ("", None),
        ("[1]", None),
        ('{"a":', None),
        ("[" * 100_000, None),
        (b"\xff", None),
    ],
)
def test_parse_object_returns_an_object_or_none(text: str | bytes, expected: object) -> None:
    assert parse_object(text) == expected


@pytest.mark.parametrize("broken", ["", "null", "[]", '"x"', '{"a": ', "{'a': 1}"])
@pytest.mark.req("L17")
def test_tool_arguments_that_are_not_a_json_object_become_an_empty_object(broken: str) -> None:
    assert arguments_object(broken) == {}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\ud83d", "a\ufffd"),
        ("\udc80x", "\ufffdx"),
        ("\ud83d\ude00", "😀"),
        ("😀 \ud83d", "😀 \ufffd"),
    ],
)
def test_encode_json_replaces_lone_surrogates(text: str, shown: str) -> None:
    assert json.loads(encode_json({"t": text})) == {"t": shown}


VALUES = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 0.0, 1.0, "", "1"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=5,
)


@given(VALUES, VALUES)
def test_is_same_json_agrees_with_a_comparison_of_the_encodings(one: JsonValue, other: JsonValue) -> None:
    assert is_same_json(one, other) == (encode_json(one) == encode_json(other))


@given(st.lists(st.dictionaries(st.sampled_from("abx"), VALUES, max_size=3), max_size=6), st.integers(0, 3))
def test_encode_body_result_does_not_depend_on_previously_encoded_bodies(
    bodies: list[dict[str, JsonValue]], count: int
) -> None:
    items: list[JsonValue] = [{"n": number} for number in range(count)]
    for body in bodies:
        encoded = encode_body(body, "x", [*map(encode_json, items)])
        assert encoded == encode_json(body if "x" in body else {**body, "x": items})


@given(st.text(st.characters()), st.lists(st.integers(0, 8)))
def test_piece_joiner_returns_valid_text_and_joins_split_surrogate_pairs(text: str, sizes: list[int]) -> None:
    units = text.encode("utf-16-le", "surrogatepass")
    wire = [units[i : i + 2].decode("utf-16-le", "surrogatepass") for i in range(0, len(units), 2)]
    pieces, start = [], 0
    for size in [*sizes, len(wire)]:
        pieces.append("".join(wire[start : start + size]))
        start += size
    joiner = PieceJoiner()
    shown = "".join(joiner.add(piece) for piece in pieces)
    assert shown == joiner.text
    shown.encode()
    whole = units.decode("utf-16-le", "replace")
    assert whole.startswith(shown)
    assert len(whole) - len(shown) <= 1  # a lone half at the very end was never shown


def test_json_readers_treat_values_of_a_wrong_type_as_absent() -> None:
    wire: dict[str, JsonValue] = {
        "a": {"b": 3},
        "n": True,
        "f": 2.0,
        "s": 5,
        "l": [{"x": 1}, 2, "y"],
        "o": "text",
    }
    assert object_at(wire, "a") == {"b": 3}
    assert object_at(wire, "a", "b") == {}
    assert object_at(wire, "o", "p") == {}
    assert int_at(wire, "n") is None
    assert int_at(wire, "f") == 2
    assert text_at(wire, "s") == ""
    assert list(objects_at(wire, "l")) == [{"x": 1}]
    assert list(objects_at(wire, "o")) == []


COUNTS = ("prompt_tokens", "promptTokenCount", "input_tokens", "candidatesTokenCount", "output_tokens")


@pytest.mark.parametrize("usage", [chat_usage, claude_usage, gemini_usage, responses_usage])
@pytest.mark.parametrize("value", ["-10", "1e999", "-1e999", "NaN", "1" + 400 * "0", f'"{5000 * "9"}"'])
@pytest.mark.req("H18")
def test_token_counts_that_cannot_be_counted_are_unknown(
    usage: Callable[[JsonObject], Usage], value: str
) -> None:
    assert usage({name: json.loads(value) for name in COUNTS}).total_tokens == 0
