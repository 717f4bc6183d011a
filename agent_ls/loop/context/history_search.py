"""The tool search_history, which finds removed parts of the conversation by words or by turn number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import anyio.to_thread
from pydantic import Field

from agent_ls.environments.effects import NoEffect
from agent_ls.loop.context.compaction import text_of
from agent_ls.loop.context.history import ConversationHistory
from agent_ls.loop.turns import AssistantTurn, CompactionTurn, ToolResultsTurn, Turn
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolError, ToolOutput
from agent_ls.tools.look import Look

SEARCH_HISTORY: Final = "search_history"
AROUND_CHARS = 160  # characters of an excerpt on each side of the match
PAGE_CHARS = 20_000

_DESCRIPTION = """\
Searches the whole conversation, also the part that a summary has replaced: what the \
user said, what you said, calls and their results.

With `query`, lists the messages that contain these words (case does not matter), newest first, each with \
its number and an excerpt. With `turn`, returns the whole message of that number; use `offset` to continue in a long \
message."""


class SearchHistoryArguments(Arguments):
    query: str = Field(default="", description="Words to search for, as one exact phrase.")
    turn: int = Field(default=0, ge=0, description="The number of a message to read in full.")
    offset: int = Field(default=0, ge=0, description="Characters of that message to skip.")
    max_results: int = Field(default=20, ge=1, le=100, description="How many messages to list.")


def search_history_tool(history: Callable[[], ConversationHistory]) -> Tool[Any]:
    async def prepare(arguments: SearchHistoryArguments, context: ToolContext) -> Prepared:
        if not arguments.query.strip() and not arguments.turn:
            raise ToolError("Give `query` to search, or `turn` to read one message.", kind="validation")
        return Prepared(NoEffect(), partial(_run, arguments, history()))

    return Tool(
        name=SEARCH_HISTORY,
        description=_DESCRIPTION,
        category="read",
        arguments=SearchHistoryArguments,
        prepare=prepare,
        look=Look("search", "Searching the conversation for", "Searched the conversation for"),
        summarize=lambda arguments: arguments.query or f"message {arguments.turn}",
    )


async def _run(arguments: SearchHistoryArguments, history: ConversationHistory) -> ToolOutput:
    turns = tuple(history.turns)
    if arguments.turn:
        return _page(turns, arguments.turn, arguments.offset)
    found = await anyio.to_thread.run_sync(
        lambda: list(find_matches(turns, arguments.query.strip(), arguments.max_results + 1))
    )
    rows = found[: arguments.max_results]
    if not rows:
        return ToolOutput("No part of the conversation contains these words.", summary="nothing found")
    more = "\n\nThere are more matches; use a more specific search." if len(found) > len(rows) else ""
    return ToolOutput("\n\n".join(rows) + more, summary=f"{len(rows)} messages")


def find_matches(turns: Sequence[Turn], query: str, limit: int) -> Iterator[str]:
    """Yield number, time and excerpt of each turn that contains `query`, newest first."""
    wanted = query.casefold()
    for number in range(len(turns), 0, -1):
        turn = turns[number - 1]
        if isinstance(turn, CompactionTurn) or _is_search(turn):
            continue
        text = text_of(turn)
        at = text.casefold().find(wanted)
        if at < 0:
            continue
        yield f"[{number}] {turn.timestamp} {_excerpt(text, at, len(query))}"
        limit -= 1
        if not limit:
            return


def _is_search(turn: Turn) -> bool:
    """Return whether a turn only searches the history.

    Such a turn contains the searched words and would match every search for them.
    """
    match turn:
        case AssistantTurn() if turn.tool_calls and not turn.content:
            return all(call.name == SEARCH_HISTORY for call in turn.tool_calls)
        case ToolResultsTurn(results=results):
            return all(result.name == SEARCH_HISTORY for result in results)
        case _:
            return False


def _excerpt(text: str, at: int, length: int) -> str:
    head, _, _ = text.partition("\n")
    start, end = max(at - AROUND_CHARS, 0), min(at + length + AROUND_CHARS, len(text))
    shown = text[start:end]
    return f"{shown}…" if start == 0 else f"{head.lstrip('# ')}: …{shown}…"


def _page(turns: Sequence[Turn], number: int, offset: int) -> ToolOutput:
    if number > len(turns) or isinstance(turns[number - 1], CompactionTurn):
        raise ToolError(
            f"There is no message {number}; use `query` to find the number of a message.", kind="validation"
        )
    text = text_of(turns[number - 1])
    end = offset + PAGE_CHARS
    rest = f"\n\n[{len(text) - end} characters more: offset {end}]" if end < len(text) else ""
    return ToolOutput(text[offset:end] + rest, summary=f"message {number}")
