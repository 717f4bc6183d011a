"""What a chat's room and what follows its session use of the face."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from agent_ls.server.context import Context
from agent_ls.server.stock.progress import TurnProgress
from agent_ls.server.stock.prompts import ApprovalPrompts

if TYPE_CHECKING:
    from agent_ls.server.stock.left import LeftSessions
    from agent_ls.server.stock.room import ChatRoom

Start: TypeAlias = Callable[[Callable[[], Awaitable[None]]], None]


@dataclass(frozen=True, slots=True)
class Means:
    """`say` shows a problem, `tell` what is no problem; `hunks_changed` is told of files;

    `changed` of the rest. `prompts` and `progress` are None for clients that did not announce them. `ask` shows a
    question with answers, the safe one first, and gives the title that was chosen; "" for none. `rooms` are those of
    the chat documents that are open now, by path; `left` has those of which the document was closed.
    """

    context: Context
    start: Start
    say: Callable[[str], None]
    tell: Callable[[str], None]
    hunks_changed: Callable[[str], None]
    changed: Callable[[], None]
    prompts: ApprovalPrompts | None
    progress: Callable[[], TurnProgress] | None
    ask: Callable[[str, Sequence[str]], Awaitable[str]]
    rooms: Mapping[str, ChatRoom]
    left: LeftSessions
