"""Running sessions in a chat document: the command `/running`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_ls.display.words import local_minute
from agent_ls.server.chat.words import one_line

if TYPE_CHECKING:
    from agent_ls.sessions.live import SessionSummary

COMMAND = "/running"
DETAIL = "List the sessions that run in any editor"
MOST = 50

_ACTIVITIES = {"working": "working", "waiting": "waits for you", "idle": "idle", "closed": "closed"}
_EMPTY = "No session is open in any editor or process."


def is_running_command(message: str) -> bool:
    return message.strip() == COMMAND


def list_running(sessions: Sequence[SessionSummary], own_id: str) -> str:
    """Return the sessions as a Markdown list. `own_id` is the session id of this chat, "" if the chat has no
    session.
    """
    rows = [f"- {_row(summary, own_id)}" for summary in sessions]
    return "\n".join(["Running sessions:", *rows]) if rows else _EMPTY


def _row(summary: SessionSummary, own_id: str) -> str:
    place = "this chat" if summary.id == own_id else str(summary.owner) if summary.owner else "this editor"
    words = [
        f"{_ACTIVITIES[summary.activity]}: {one_line(summary.title) or '(no title)'}",
        summary.workspace_folder + (" (worktree)" if summary.worktree else ""),
        place,
        f"since {local_minute(summary.updated)}",
        f"${summary.cost_usd:.2f}" if summary.cost_usd is not None else "",
        summary.id,
    ]
    return one_line(" · ".join(word for word in words if word), 400)
