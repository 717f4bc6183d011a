"""Results of the steps that create a session: its location, its permissions, its external interfaces."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment
from agent_ls.environments.wrappers.own import OwnEnvironment
from agent_ls.loop.seams import NoEditorContext
from agent_ls.policy.places import fold_path
from agent_ls.services.context.editor import SessionEditorContext

if TYPE_CHECKING:
    from agent_ls.environments.base import ExecutionEnvironment
    from agent_ls.environments.language_host import LanguageHost
    from agent_ls.features.recording.recorders import RecordingWriter
    from agent_ls.features.worktrees.worktree import Worktree
    from agent_ls.loop.calls.approval import PendingApprovals
    from agent_ls.loop.seams import EditorContext, ModelClient
    from agent_ls.services.context.editor import EditorStatus
    from agent_ls.services.permissions.approver import PolicyApprover
    from agent_ls.services.permissions.paths import PathBounds
    from agent_ls.services.permissions.session_rules import SessionRules
    from agent_ls.services.permissions.session_sandbox import SessionSandbox
    from agent_ls.services.permissions.trust import TrustGate
    from agent_ls.services.permissions.workspace_roots import SessionRoots
    from agent_ls.sessions.workspaces.remote_sites import RemoteSite
    from agent_ls.tools.web_fetch import WebFetcher


@dataclass(frozen=True, slots=True)
class SessionLocation:
    """Where a session works. `local` runs its commands; `files` accesses its files, including the user's
    unsaved text.

    `key` names the folder in stored trust, rules and sessions; `folder` is the path that the session uses.
    `site` None: not a remote session. `is_here`: it works on this machine, not in an embedding program's
    environment. `worktree` None: the session works in the user's folder itself.
    """

    session_id: str
    key: str
    folder: str
    site: RemoteSite | None
    is_here: bool
    local: ExecutionEnvironment
    files: ExecutionEnvironment
    bounds: PathBounds
    roots: SessionRoots
    worktree: Worktree | None = None
    guarded: set[str] = field(default_factory=set)
    """Files whose changes need approval, because a hook runs them."""

    def guard(self, paths: Collection[str]) -> None:
        """Make changes of these files need approval, and of no other files."""
        self.guarded.clear()
        self.guarded.update(fold_path(name) for path in paths for name in (path, os.path.realpath(path)))

    @property
    def worktree_root(self) -> str:
        """The root folder of the session's git worktree, "" if it has none."""
        return self.worktree.root if self.worktree else ""

    @property
    def listed(self) -> LocalEnvironment | None:
        """The session's environment if its files are on the disk of this machine, else None.

        Only these files can be searched for changes.
        """
        local = self.local.inner if isinstance(self.local, OwnEnvironment) else self.local
        return local if isinstance(local, LocalEnvironment) else None

    @property
    def runs_here(self) -> LocalEnvironment | None:
        """The environment that runs the session's commands on this machine, also inside the wrappers of a program."""
        place = self.local
        while isinstance(self.local, OwnEnvironment) and isinstance(place, ForwardingEnvironment):
            place = place.inner
        return place if isinstance(place, LocalEnvironment) else None

    @property
    def on_disk(self) -> LocalEnvironment | None:
        """Like `listed`, but also inside the wrappers of a program. Read the files through `files`, not here."""
        place = self.runs_here
        # with another folder, the wrappers rewrite paths
        return place if place and place.working_directory() == self.local.working_directory() else None


@dataclass(frozen=True, slots=True)
class SessionPermissions:
    """The parts that permit or refuse the actions of a session. `sandbox` is None if commands do not run on
    this machine.
    """

    approvals: PendingApprovals
    rules: SessionRules
    gate: TrustGate
    approver: PolicyApprover
    sandbox: SessionSandbox | None


@dataclass(frozen=True, slots=True)
class RecordedParts:
    """The external interfaces of a session. `local` runs its commands, `files` has its files.

    `recording` None: nothing is recorded.
    """

    local: ExecutionEnvironment
    files: ExecutionEnvironment
    client: ModelClient
    editor_status: EditorStatus | None
    language: LanguageHost | None
    recording: RecordingWriter | None = None

    def record_commands(self, environment: ExecutionEnvironment) -> ExecutionEnvironment:
        """Return `environment` wrapped so that its commands are recorded in `recording`; unwrapped if
        `recording` is None.
        """
        if not self.recording:
            return environment
        from agent_ls.features.recording.recorders import RecordingCommands

        return RecordingCommands(environment, self.recording)

    def record_pages(self, pages: WebFetcher) -> WebFetcher:
        """Return `pages` wrapped so that fetched pages are recorded in `recording`; unwrapped if `recording` is
        None.
        """
        if not self.recording:
            return pages
        from agent_ls.features.recording.recorders import RecordingPages

        return RecordingPages(pages, self.recording)


def record_parts(parts: RecordedParts, recording: RecordingWriter) -> RecordedParts:
    """Return interfaces that also write each call and its result to `recording`."""
    from agent_ls.features.recording.recorders import (
        RecordingClient,
        RecordingCommands,
        RecordingEditorStatus,
        RecordingFiles,
        recording_language,
    )

    return RecordedParts(
        local=RecordingCommands(RecordingFiles(parts.local, recording), recording),
        files=RecordingFiles(parts.files, recording),
        client=RecordingClient(parts.client, recording),
        editor_status=RecordingEditorStatus(parts.editor_status, recording) if parts.editor_status else None,
        language=recording_language(parts.language, recording) if parts.language else None,
        recording=recording,
    )


def editor_context(parts: RecordedParts, location: SessionLocation) -> EditorContext:
    """Return the editor's status for the model.

    Paths are relative to the user's folder even if the session works in a worktree, because the editor's open
    files are in the user's folder.
    """
    folder = location.key if location.worktree else location.folder
    return SessionEditorContext(parts.editor_status, folder) if parts.editor_status else NoEditorContext()
