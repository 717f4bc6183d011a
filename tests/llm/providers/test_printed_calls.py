from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from agent_ls.llm.providers.printed_calls import PrintedCalls
from agent_ls.llm.providers.think_tags import ThinkTags

TOOLS = ("glob", "shell")
CALL = '{"name": "glob", "arguments": {"pattern": "*.py"}}'
GLOB = ("glob", {"pattern": "*.py"})
LS = ("shell", {"command": "ls"})


def cut(text: str, sizes: list[int]) -> list[str]:
    ends = [sum(sizes[:number]) for number in range(len(sizes) + 1)]
    return [text[start:end] for start, end in zip(ends, [*ends[1:], None], strict=True)]


def read(text: str, sizes: list[int], *, lenient: bool = False) -> tuple[str, list[tuple[str, object]]]:
    printed = PrintedCalls(TOOLS, lenient=lenient)
    shown = "".join(map(printed.feed, cut(text, sizes)))
    rest, calls, _ = printed.close()
    return shown + rest, [(call.name, json.loads(call.arguments)) for call in calls]


PRINTED = {
    "hermes": (f"I look.\n<tool_call>\n{CALL}\n</tool_call>", "I look.\n", [GLOB]),
    "two of them": (f"<tool_call>{CALL}</tool_call>\n<tool_call>{CALL}</tool_call>\n", "", [GLOB, GLOB]),
    "end mark forgotten": (f"<tool_call>\n{CALL}", "", [GLOB]),
    "function": ('<function=glob>{"pattern": "*.py"}</function>', "", [GLOB]),
    "function with parameters": (
        "<tool_call>\n<function=glob>\n<parameter=pattern>\n*.py\n</parameter>\n</function>\n</tool_call>",
        "",
        [GLOB],
    ),
    "mistral": (
        f'[TOOL_CALLS][{CALL}, {{"name": "shell", "arguments": {{"command": "ls"}}}}]',
        "",
        [GLOB, LS],
    ),
    "llama": ('<|python_tag|>{"name": "shell", "parameters": {"command": "ls"}}', "", [LS]),
    "bare": (CALL, "", [GLOB]),
    "bare, nested": (f'{{"type": "function", "function": {CALL}}}', "", [GLOB]),
    "bare, arguments as text": (json.dumps({"name": "glob", "arguments": '{"pattern": "*.py"}'}), "", [GLOB]),
    "fenced": (f"```json\n{CALL}\n```", "", [GLOB]),
}


@pytest.mark.req("P5")
@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize(("text", "shown", "calls"), PRINTED.values(), ids=PRINTED)
def test_printed_call_at_the_end_of_an_answer_is_parsed_as_a_tool_call(
    text: str, shown: str, calls: list[tuple[str, object]], lenient: bool
) -> None:
    for sizes in ([], [1] * len(text), [3, 11, 2]):
        assert read(text, sizes, lenient=lenient) == (shown, calls)


QUOTED = {
    "nothing": "",
    "plain": "No call here.\nNot < here > either.",
    "other tool": '<tool_call>{"name": "rm", "arguments": {}}</tool_call>',
    "in a sentence": f"The form is <tool_call>{CALL}</tool_call>",
    "text follows": f"<tool_call>{CALL}</tool_call>\nThat was an example.",
    "in a fence": f"An example:\n```\n<tool_call>{CALL}</tool_call>\n```",
    "fence after text": f"An example:\n```json\n{CALL}\n```",
    "json after text": f"Here:\n{CALL}",
    "json answer": '{"name": "Ada", "age": 36}',
    "broken": '<tool_call>{"name": "glob", "arguments": {"pattern": "*.p',
    "arguments no object": '{"name": "glob", "arguments": [1]}',
    "mark only": "<tool_call>",
    "half a mark": "Look:\n<tool_ca",
    "blank lines": "\n\n  \nhello\n\n",
}


@pytest.mark.req("P5")
@pytest.mark.parametrize("text", QUOTED.values(), ids=QUOTED)
def test_printed_call_that_may_be_a_quotation_is_returned_as_text(text: str) -> None:
    for sizes in ([], [1] * len(text), [3, 11, 2]):
        assert read(text, sizes) == (text, [])


def test_text_after_a_printed_call_is_dropped_only_in_lenient_mode() -> None:
    text = f"Sure.\n<tool_call>{CALL}</tool_call>\n<tool_result>made up</tool_result>"
    assert read(text, [], lenient=True) == ("Sure.\n", [GLOB])
    assert read(text, [], lenient=False) == (text, [])


@given(st.text("ab<>[]{}`\n\r\u2028 tool_cal/=", max_size=60), st.lists(st.integers(1, 5)))
def test_text_without_printed_calls_is_returned_unchanged_in_any_chunks(text: str, sizes: list[int]) -> None:
    assert read(text, sizes) == (text, [])


def thoughts(text: str, sizes: list[int]) -> tuple[str, str]:
    tags = ThinkTags()
    pieces = [found for piece in cut(text, sizes) for found in tags.feed(piece)]
    pieces += tags.close()
    return tuple("".join(text for kind, text in pieces if kind == want) for want in ("reasoning", "text"))  # type: ignore[return-value]


@pytest.mark.req("P5", "U4")
@pytest.mark.parametrize(
    ("text", "reasoning", "said"),
    [
        ("<think>\nhm\n</think>\n\nHello", "hm\n", "Hello"),
        ("  \n<think>hm</think>Hello", "hm", "Hello"),
        ("<think></think>\n\nHello", "", "Hello"),
        ("<think>cut", "cut", ""),
        ("<think>a < b </thin", "a < b </thin", ""),
        ("<thin", "", "<thin"),
        ("Hello <think>no</think>", "", "Hello <think>no</think>"),
        ("", "", ""),
        ("  ", "", "  "),
    ],
)
def test_think_tags_in_any_chunks_separate_reasoning_from_text(text: str, reasoning: str, said: str) -> None:
    for sizes in ([], [1] * len(text), [2, 3, 5]):
        assert thoughts(text, sizes) == (reasoning, said)
