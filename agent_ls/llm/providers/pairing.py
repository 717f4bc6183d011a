"""Make a history valid for every provider: one result for each call follows each answer with tool calls."""

from __future__ import annotations

from collections.abc import Sequence

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
            out.append(assistant)
            given = {part.tool_call_id: part for part in _results(following)}
            answers = [given.get(call.id) or _make_missing_result(call) for call in assistant.tool_calls]
            if answers:
                out.append(tool_results(answers))
        out += [message for message in following if message.role is not Role.TOOL]
    return out


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
