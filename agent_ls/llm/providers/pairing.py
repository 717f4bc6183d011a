"""Make a history valid for every provider: one result for each call follows each answer with tool calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from agent_ls.llm.messages import Message, Role, ToolCallPart, ToolResultPart, tool_results

NO_RESULT = (
    "No result was recorded for this call: it was interrupted, and may or may not have had its effect."
)


def pair_tool_results(messages: Sequence[Message]) -> list[Message]:
    """Return `messages` with the results of each answer's calls directly after the answer, in call order.

    Missing results are added. Results without a call are dropped. The agent loop's own history is already valid;
    this function is needed for histories from other sources. A result is matched only with the nearest answer
    before it.
    """
    out: list[Message] = []
    for assistant, following in _segments(messages):
        if assistant is not None:
            given: dict[str, list[ToolResultPart]] = {}
            for part in _results(following):
                given.setdefault(part.tool_call_id, []).append(part)
            named = with_unique_ids(assistant, Counter())
            out.append(named)
            answers = []
            for call, own in zip(assistant.tool_calls, named.tool_calls, strict=True):
                results = given.get(call.id) or [_make_missing_result(call)]
                is_shared = len(results) > 1 and named is not assistant
                answers.append(replace(results.pop(0) if is_shared else results[-1], tool_call_id=own.id))
            if answers:
                out.append(tool_results(answers))
        out += [message for message in following if message.role is not Role.TOOL]
    return out


def with_unique_ids(assistant: Message, seen: Counter[str]) -> Message:
    """Return the answer with a new id for each call whose id an earlier call has: some servers repeat them.

    `seen` counts the ids of earlier answers, and the ids of this one are added.
    """
    ids = [call.id for call in assistant.tool_calls]
    if len(set(ids)) == len(ids) and not any(seen[one] for one in ids):
        seen.update(ids)
        return assistant
    parts = []
    for part in assistant.parts:
        if isinstance(part, ToolCallPart):
            seen[part.id] += 1
            if seen[part.id] > 1:
                part = replace(
                    part, id=f"{part.id}_{seen[part.id]}", origin=None
                )  # the origin has the id, too
        parts.append(part)
    return replace(assistant, parts=tuple(parts))


def _segments(messages: Sequence[Message]) -> list[tuple[Message | None, list[Message]]]:
    """Return each assistant message, with the messages that follow it up to the next assistant message."""
    segments: list[tuple[Message | None, list[Message]]] = [(None, [])]
    for message in messages:
        if message.role is Role.ASSISTANT:
            segments.append((message, []))
        else:
            segments[-1][1].append(message)
    return segments


def _results(messages: Sequence[Message]) -> list[ToolResultPart]:
    return [part for message in messages for part in message.parts if isinstance(part, ToolResultPart)]


def _make_missing_result(call: ToolCallPart) -> ToolResultPart:
    return ToolResultPart(call.id, call.name, NO_RESULT, is_error=True)
