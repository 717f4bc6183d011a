"""Services of this process, which all sessions share, and the environments of folders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent_ls.background import TaskStarter
from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.editor import EditorEnvironment
from agent_ls.environments.instruction_files import LOCAL_FILES, InstructionFiles
from agent_ls.environments.local import LocalEnvironment, LocalLimits
from agent_ls.environments.local.commit import allow_any_process
from agent_ls.environments.local.terminals.own_terminals import ChosenTerminals
from agent_ls.environments.notebooks import NotebookEnvironment
from agent_ls.features.recording.session_recordings import SessionRecordings
from agent_ls.features.skills.service import ONLY_SKILLS, OfferedTools, ProjectFolder, SessionSkills
from agent_ls.loop.calls.redaction import Known
from agent_ls.services.clock import SystemClock
from agent_ls.services.models.service import ModelService
from agent_ls.services.permissions.ignore_file import IgnoreFile
from agent_ls.services.permissions.temporary import keep_temporary, with_temporary
from agent_ls.services.permissions.trust import WorkspaceTrust
from agent_ls.services.review.service import ReviewService
from agent_ls.services.review.state import ReviewedSession
from agent_ls.services.settings.model import Settings
from agent_ls.sessions.host import ClientState, EditorServices, ProgramParts
from agent_ls.sessions.workspaces.remote_sites import RemoteSites
from agent_ls.store.rules import RuleStore

if TYPE_CHECKING:
    from agent_ls.services.permissions.read_only_sandbox import ReadOnlySandbox

MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedServices:
    """Services of this process that the parts of sessions use.

    - `state`: the state folder.
    - `start`: runs a short background task.
    - `find_session`: returns the session with this id if it can still receive notices, else None.
    - `now`: returns the current settings.
    - `read_only`: finds the sandbox program that confines read-only commands.
    - `hide`: adds values to redact.
    """

    models: ModelService
    secrets: Known
    clock: SystemClock
    rules: RuleStore
    trust: WorkspaceTrust
    state: Path
    editor: EditorServices
    program: ProgramParts
    sites: RemoteSites
    review: ReviewService
    recordings: SessionRecordings
    start: TaskStarter
    find_session: Callable[[str], ReviewedSession | None]
    client: ClientState
    now: Callable[[], Settings]
    read_only: ReadOnlySandbox
    hide: Callable[[Sequence[str]], None]

    @property
    def account(self) -> Path | None:
        """The folder with the user's own files, such as tool definitions; None if sessions must not use them."""
        return self.state if self.program.personal else None

    def document_versions(self) -> dict[str, int]:
        """Return the versions of the open documents, by path."""
        documents = self.editor.host.open_documents() if self.editor.host else ()
        return {document.path: document.version for document in documents}

    def skills(
        self,
        folder: str,
        *,
        notify: Callable[[str], None] = lambda text: None,
        allow_reading: Callable[[str], None] = lambda folder: None,
        offers: OfferedTools = ONLY_SKILLS,
        is_usable: Callable[[str, str], bool] = lambda provider, model: False,
    ) -> SessionSkills:
        """Return the skills and commands for a session in this folder, or for a message that will start one."""
        site = self.sites.site(folder)
        near: InstructionFiles | None = None if self.program.environment else LOCAL_FILES
        return SessionSkills(
            ProjectFolder(
                site.root if site else folder,
                is_trusted=lambda: self.trust.get_trust(folder) == "trusted",
                files=site.instructions if site else near,
                is_ignored=site.disk.is_ignored if site else IgnoreFile((folder,)),
            ),
            str(self.account or ""),
            settings=lambda: self.now().skills,
            notify=notify,
            allow_reading=allow_reading,
            offers=offers,
            is_usable=is_usable,
        )

    def local(self, folder: str, check_right: Callable[[], None] = allow_any_process) -> ExecutionEnvironment:
        """Return the environment that accesses `folder`, which may be on another machine.

        `check_right` raises an error if writing is no longer allowed.
        """
        if self.program.environment:
            return self.program.environment
        if site := self.sites.site(folder):
            return self.sites.environment(site, check_right)
        return LocalEnvironment(
            folder,
            environ=with_temporary(self.models.child_environ, self.now().paths),
            env_policy=lambda: keep_temporary(self.now().command_environment.rules()),
            terminals=ChosenTerminals(lambda: self.now().terminal, self.editor.terminals),
            check_right=check_right,
            limits=LocalLimits(
                max_background=lambda: self.now().max_background_processes,
                read_limit_bytes=lambda: self.now().max_read_mebibytes * MEBIBYTE,
            ),
        )

    def files(self, local: ExecutionEnvironment, session_id: str) -> ExecutionEnvironment:
        """Wrap `local` to read the unsaved text of files that are open in the editor or the client."""
        files = local
        if self.editor.client_files:
            files = self.editor.client_files(session_id, local)
        elif self.editor.host:
            files = EditorEnvironment(local, self.editor.host)
            if self.editor.host.notebooks:
                files = NotebookEnvironment(files, self.editor.host.notebooks)
        return self.sites.with_near_names(files, local.working_directory())
