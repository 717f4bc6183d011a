"""Services that chat documents and their followers share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from agent_ls.background import TaskStarter
from agent_ls.server.chat.dialogs import ApprovalPrompts
from agent_ls.server.chat.progress import TurnProgress
from agent_ls.server.rpc.context import Context

if TYPE_CHECKING:
    from agent_ls.server.chat.chat_text import ChatText
    from agent_ls.server.chat.closed_chats import ClosedChats
    from agent_ls.sessions.live import LiveSession


class OpenChatDocument(Protocol):
    """The part of an open chat document that an earlier object of the same document uses."""

    async def submit_handed_over(self, live: LiveSession, chat: ChatText) -> str: ...


@dataclass(frozen=True, slots=True)
class ChatServices:
    """Services that all chat documents of a client use. `show_warning` shows a warning to the user,
    `show_information` an information message.

    `hunks_changed` updates the diagnostics of a file, `refresh_lenses` updates the code lenses. `progress` is
    None for clients that did not announce support for it. `chat_documents` are the open chat documents by
    path. `closed_chats` manages the sessions of closed chat documents.
    """

    context: Context
    start: TaskStarter
    show_warning: Callable[[str], None]
    show_information: Callable[[str], None]
    hunks_changed: Callable[[str], None]
    refresh_lenses: Callable[[], None]
    prompts: ApprovalPrompts
    progress: Callable[[], TurnProgress] | None
    chat_documents: Mapping[str, OpenChatDocument]
    closed_chats: ClosedChats
