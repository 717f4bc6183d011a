"""A session that is being built: the parts from which its features are created."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.services.changes.watched_files import TouchedFiles
from agent_ls.services.settings.model import Settings
from agent_ls.sessions.build.link import SessionLink
from agent_ls.sessions.build.parts import RecordedParts, SessionLocation, SessionPermissions
from agent_ls.sessions.new_session import SessionChoice
from agent_ls.sessions.notices import Notices
from agent_ls.sessions.services import SharedServices
from agent_ls.sessions.session_log import SessionFiles

if TYPE_CHECKING:
    from agent_ls.sessions.workspaces.worktree import SessionWorktree


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDraft:
    """The parts of a session from which its features are created.

    `link` gives access to the session, which is created later. `bounded` accesses the files by the path policy.
    """

    services: SharedServices
    settings: Settings
    choice: SessionChoice
    stored: SessionFiles
    link: SessionLink
    location: SessionLocation
    notices: Notices
    permissions: SessionPermissions
    parts: RecordedParts
    touched: TouchedFiles
    bounded: ExecutionEnvironment
    worktree: SessionWorktree | None

    @property
    def config(self) -> Mapping[str, object]:
        """The configuration in the session's log; empty for a new session."""
        earlier = self.stored.opened.stored
        return earlier.state.config if earlier else {}
