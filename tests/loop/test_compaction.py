"""Turns that a compaction keeps and removes, and its summary. The history depends only on the turns."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from agent_ls.llm.messages import Message, Role, TextPart, ToolCallPart, ToolResultPart
from agent_ls.llm.requests import FinishReason, Usage
from agent_ls.loop.config import ContextConfig
from agent_ls.loop.context.compaction import (
    ITEM_CAPS,
    WORDS_MAX_CHARS,
    WORDS_MIN_CHARS,
    content,
    find_cut,
    plan_text,
    transcript,
    users_words,
    words_room,
)
from agent_ls.loop.context.history import ConversationHistory
from agent_ls.loop.events.types import PlanChanged, PlanItem
from agent_ls.loop.turns import AssistantTurn, CompactionTurn, SteeringTurn, ToolResultsTurn, Turn, UserTurn
from tests.support.fake_provider import problem_of

SPARE = 0.5


def _answer(words: str = "", *calls: str) -> AssistantTurn:
    parts = (
        *((TextPart(words),) if words else ()),
        *(ToolCallPart(id_, "look", f'{{"at": "{id_}"}}') for id_ in calls),
    )
    return AssistantTurn(Message(Role.ASSISTANT, parts), Usage(), "r", "p", "m", FinishReason("stop"), "t")


def _results(*ids: str, words: str = "seen") -> ToolResultsTurn:
    return ToolResultsTurn(tuple(ToolResultPart(id_, "look", f"{words} {id_}") for id_ in ids), "t")


def _turns(shape: str) -> list[Turn]:
    """Return turns: `u` a user, `c` an answer with a call, `r` its result, `a` an answer of text, `s` a steer."""
    made: list[Turn] = []
    for number, kind in enumerate(shape):
        if kind == "r":
            made.append(_results(f"k{number - 1}"))
            continue
        one: dict[str, Turn] = {
            "u": UserTurn(f"wish {number}", "t"),
            "c": _answer("", f"k{number}"),
            "a": _answer(f"words {number}"),
            "s": SteeringTurn(f"steer {number}", "t"),
        }
        made.append(one[kind])
    return made


# shape, settings, number of turns that remain (None: no compaction)
CUTS: list[tuple[str, dict[str, Any], int | None]] = [
    ("ua", {}, None),
    ("uauauaua", {}, None),
    ("uauauauau", {}, 8),
    ("ucrcrcrcra", {}, 9),  # the eighth from the end is a result: its call is kept too
    ("uucrcrcrcrcra", {"keep_messages": 10}, 9),  # an eleventh would be one too many
    ("ucrcrcrcrcra", {"keep_messages": 6}, 7),
    ("uauauauauauauauaua", {"keep_messages": 6}, 6),
    ("uauauauauauauauaua", {"strategy": "full"}, None),
    ("uauauauauauauauaua", {"strategy": "slidingWindow", "window_messages": 10}, 10),
    ("uauauauauauauauaua", {"strategy": "slidingWindow", "window_messages": 40}, 9),
    ("ucrcrcrcrcrcrcrcra", {"strategy": "slidingWindow", "window_messages": 12}, 11),
    ("uauauauauauauauaua", {"strategy": "dropOldest"}, 8),
    ("uauaua", {"strategy": "dropOldest"}, None),
]


@pytest.mark.spec("conversation 4.7")
@pytest.mark.req("L13", "L14")
@pytest.mark.parametrize(("shape", "settings", "kept"), CUTS)
def test_a_compaction_keeps_the_configured_number_of_turns(
    shape: str, settings: dict[str, Any], kept: int | None
) -> None:
    turns = _turns(shape)
    found = find_cut(ConversationHistory(turns), ContextConfig(**settings), SPARE)
    assert (found.kept if found else None) == kept
    if found:
        assert found.removed == tuple(turns[: len(turns) - found.kept])


@pytest.mark.req("L13", "L14")
@given(
    shape=st.lists(st.sampled_from(["u", "a", "cr", "s", "crcr"]), max_size=40).map("".join),
    strategy=st.sampled_from(["summarize", "slidingWindow", "dropOldest"]),
    keep=st.integers(6, 10),
    spare=st.floats(-1, 2),
)
def test_a_compaction_never_separates_a_tool_call_from_its_result_and_keeps_at_least_six_messages(
    shape: str, strategy: Any, keep: int, spare: float
) -> None:
    history = ConversationHistory(_turns(shape))
    config = ContextConfig(strategy=strategy, keep_messages=keep, window_messages=10)
    found = find_cut(history, config, spare)
    if found is None:
        return
    assert found.removed and found.kept >= 6
    if strategy == "summarize":
        assert found.kept <= 10
    history.append(CompactionTurn("before", found.kept, "t"))
    messages = history.messages("")
    assert messages[0].text == "before"
    assert problem_of(messages) == ""
    assert len(messages) == found.kept + 1


@pytest.mark.spec("conversation 4.5")
@pytest.mark.req("L13", "L14")
def test_a_compacted_history_sends_the_summary_and_newest_messages_but_stores_all_turns() -> None:
    turns = _turns("ucracracra")
    history = ConversationHistory(turns)
    in_flight = history.messages("p")
    history.append(CompactionTurn("It was so.", 3, "t"))
    assert [m.text for m in history.messages("p")[:2]] == ["p", "It was so."]
    assert history.messages("p")[2:] == in_flight[-3:]
    assert in_flight == ConversationHistory(turns).messages("p")  # a request in flight has a snapshot
    assert list(history.turns[:-1]) == turns and list(history.visible) == turns[-3:]
    assert (history.chars, history.tool_chars) == (10 + 16 + 7 + 7, 7)  # summary, call, result, text
    assert history.model_calls == 6
    assert ConversationHistory(history.turns).messages("p") == history.messages("p")
    assert ConversationHistory(history.turns[:-1]).messages("p") == in_flight  # undone before it


def test_a_second_compaction_replaces_the_first() -> None:
    history = ConversationHistory([*_turns("uauaua"), CompactionTurn("one", 2, "t"), *_turns("uaua")])
    history.append(CompactionTurn("two", 3, "t"))
    assert [message.text for message in history.messages("")] == ["two", "words 1", "wish 2", "words 3"]


@pytest.mark.spec("conversation 4.6")
@pytest.mark.req("L13")
def test_the_compaction_message_contains_notice_summary_user_messages_plan_and_pins_in_order() -> None:
    turns = [*_turns("uasa"), UserTurn("never touch the vendor folder", "t"), *_turns("crcrcr")]
    history = ConversationHistory(turns)
    plan = PlanChanged(
        "why", (PlanItem("look", "done"), PlanItem("mend", "active"), PlanItem("test", "pending"))
    )
    said = users_words(history, turns[:5], 12_000)
    text = content(said, summary="All went well.", plan=plan, pinned=("# Open\n- a.py: line 3",))
    assert text.startswith("[Background from agent-ls, not a request:")
    places = [
        text.index(words)
        for words in (
            "search_history",
            "# Summary\nAll went well.",
            "- wish 0",
            "- steer 2",
            "- never touch the vendor folder",
            "# The plan\nwhy\n- [x] look\n- [>] mend\n- [ ] test",
            "# Open\n- a.py: line 3",
        )
    ]
    assert places == sorted(places)


@pytest.mark.req("L13")
def test_user_messages_before_an_earlier_compaction_are_still_included() -> None:
    history = ConversationHistory(
        [UserTurn("use tabs", "t"), *_turns("auauaua"), CompactionTurn("one", 2, "t"), *_turns("uaua")]
    )
    assert "use tabs" in users_words(history, history.visible[:4], 12_000).texts


def words_of(texts: list[str], room: int) -> Any:
    turns: list[Turn] = [UserTurn(text, "t") for text in texts]
    return users_words(ConversationHistory(turns), turns, room)


@pytest.mark.req("L13")
@pytest.mark.report("obra/superpowers#147")  # fmt: skip
@pytest.mark.parametrize("count", [1, 2, 16, 60, 300])
@pytest.mark.parametrize("size", [10, 1_500, 5_000])
def test_messages_of_the_user_that_fit_stay_word_for_word(count: int, size: int) -> None:
    texts = [f"wish {number} {'x' * size}\nand" for number in range(count)]
    said = words_of(texts, count * (size + 30))
    assert list(said.texts) == texts
    assert (said.shortened, said.left_out, said.describe_losses()) == (0, 0, "")


@pytest.mark.req("L13")
def test_a_long_message_of_the_user_is_shortened_before_any_short_one() -> None:
    texts = ["mend the tests", "log: " + "y" * 100_000, "never touch the vendor folder", "z" * 9_000]
    said = words_of(texts, 12_000)
    assert [said.texts[0], said.texts[2]] == [texts[0], texts[2]]
    assert (said.shortened, said.left_out) == (2, 0)
    assert sum(map(len, said.texts)) < 12_100 and "2 shortened" in said.describe_losses()


@pytest.mark.req("L13")
def test_very_many_messages_of_the_user_leave_out_the_oldest_after_the_first() -> None:
    said = words_of([f"wish {number} " + "x" * 3000 for number in range(400)], 12_000)
    assert said.texts[0].startswith("wish 0 ") and said.texts[-1].startswith("wish 399 ")
    assert said.left_out == 360 and "360 more" in said.texts[1]
    assert sum(map(len, said.texts)) < 14_000


@given(st.lists(st.integers(1, 5_000), max_size=50), st.integers(1_000, 40_000))
def test_words_of_the_user_never_exceed_their_room_by_more_than_the_markers(
    sizes: list[int], room: int
) -> None:
    said = words_of(["x" * size for size in sizes], room)
    assert sum(map(len, said.texts)) <= room + 40 * (len(sizes) + 2) + 300
    assert said.shortened == 0 or sum(sizes) > room


def test_the_room_for_words_of_the_user_grows_with_the_window() -> None:
    rooms = [words_room(tokens, 4.0) for tokens in (4_000, 32_000, 200_000, 1_000_000, 0)]
    assert rooms == [WORDS_MIN_CHARS, 32_000, 200_000, WORDS_MAX_CHARS, WORDS_MAX_CHARS]


@pytest.mark.req("L13")
@pytest.mark.parametrize("max_chars", [200_000, 20_000, 4_000])
def test_the_transcript_to_summarise_fits_its_size_limit_and_begins_with_the_earlier_summary(
    max_chars: int,
) -> None:
    turns = [*_turns("u"), _answer("Looking.", "k1"), _results("k1", words="w" * 50_000), *_turns("au" * 50)]
    text = transcript(turns, CompactionTurn("framed", 2, "t", "What was before."), max_chars)
    assert len(text) <= max_chars + 100
    assert text.startswith("# Summary of what came before\nWhat was before.")
    assert "# User\nwish 0" in text
    assert "w" * (ITEM_CAPS[0] // 2) not in text


def test_plan_text_without_an_explanation_contains_only_the_items() -> None:
    assert plan_text(PlanChanged("", (PlanItem("a", "pending"),))) == "- [ ] a"
