"""Services that chat documents and their followers share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_ls.background import TaskStarter
from agent_ls.server.chat.progress import TurnProgress
from agent_ls.server.chat.prompts import ApprovalPrompts
from agent_ls.server.rpc.context import Context

if TYPE_CHECKING:
    from agent_ls.server.chat.closed import LeftSessions
    from agent_ls.server.chat.document import ChatRoom


@dataclass(frozen=True, slots=True)
class Means:
    """Services that all chat documents of a client use. `say` shows a warning to the user, `tell` an
    information message.

    `hunks_changed` updates the diagnostics of a file, `changed` updates the code lenses. `prompts` and
    `progress` are None for clients that did not announce support for them. `ask` shows a question with the
    given answers, the safe answer first, and returns the chosen answer, "" for none. `rooms` are the open
    chat documents by path. `left` has the sessions of closed chat documents.
    """

    context: Context
    start: TaskStarter
    say: Callable[[str], None]
    tell: Callable[[str], None]
    hunks_changed: Callable[[str], None]
    changed: Callable[[], None]
    prompts: ApprovalPrompts | None
    progress: Callable[[], TurnProgress] | None
    ask: Callable[[str, Sequence[str]], Awaitable[str]]
    rooms: Mapping[str, ChatRoom]
    left: LeftSessions
