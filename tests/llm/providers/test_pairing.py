from __future__ import annotations

import pytest

from agent_ls.llm.messages import (
    Message,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    assistant,
    system,
    user,
)
from agent_ls.llm.providers.pairing import NO_RESULT, pair_tool_results


def calls(*ids: str) -> Message:
    return Message(Role.ASSISTANT, (TextPart("t"), *(ToolCallPart(i, "f", "{}") for i in ids)))


def results(*ids: str) -> Message:
    return Message(Role.TOOL, tuple(ToolResultPart(i, "f", f"r{i}") for i in ids))


MISSING = {i: ToolResultPart(i, "f", NO_RESULT, is_error=True) for i in "ab"}

CASES: dict[str, tuple[list[Message], list[Message]]] = {
    "good history is unchanged": ([user("u"), calls("a", "b"), results("a", "b"), assistant("x")],) * 2,
    "results in call order": ([calls("a", "b"), results("b", "a")], [calls("a", "b"), results("a", "b")]),
    "results in one message": ([calls("a", "b"), results("a"), results("b")], [calls("a", "b"), results("a", "b")]),
    "missing result": ([calls("a"), user("u")], [calls("a"), Message(Role.TOOL, (MISSING["a"],)), user("u")]),
    "missing at the end": ([calls("a")], [calls("a"), Message(Role.TOOL, (MISSING["a"],))]),
    "steer before its results": ([calls("a"), user("u"), results("a")], [calls("a"), results("a"), user("u")]),
    "result of nothing": ([user("u"), results("z"), assistant("x"), results("a")], [user("u"), assistant("x")]),
    "one of two": (
        [calls("a", "b"), results("b")],
        [calls("a", "b"), Message(Role.TOOL, (MISSING["a"], *results("b").parts))],
    ),
    "id used again in a later turn": ([calls("a"), results("a"), calls("a"), results("a")],) * 2,
    "system stays": ([system("s"), calls("a"), results("a")],) * 2,
}  # fmt: skip


@pytest.mark.req("L16")
@pytest.mark.parametrize(("history", "expected"), CASES.values(), ids=CASES)
def test_pair_tool_results_gives_each_tool_call_exactly_one_result(
    history: list[Message], expected: list[Message]
) -> None:
    assert pair_tool_results(history) == expected
