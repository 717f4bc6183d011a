"""A session that is to be created."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_ls.policy.situation import Mode, ReviewSetting

if TYPE_CHECKING:
    from agent_ls.app.worktrees.worktree import Start


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSpec:
    """A session to create. None: the value in the settings; for the model, the first provider that has a key.

    `worktree`: the session works in a separate git worktree, which starts with this content.
    """

    workspace_folder: str
    provider: str | None = None
    model: str | None = None
    effort: str | None = None
    mode: Mode | None = None
    review: ReviewSetting | None = None
    title: str | None = None
    worktree: Start | None = None
