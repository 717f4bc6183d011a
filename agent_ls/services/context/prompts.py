"""Implements the interface PromptSource: builds the system prompt in layers.

Properties of the environment, such as date and git state, are gathered once, at the session's start.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from os.path import join
from time import monotonic_ns

import anyio
import anyio.to_thread

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.wrappers.bounded import BoundedEnvironment
from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.environment_block import EnvironmentFacts, gather_environment_facts
from agent_ls.profiles.git_snapshot import GitSnapshot, find_git_root
from agent_ls.profiles.project_docs import ProjectDocument, build_documents_layer, build_folders_layer
from agent_ls.services.changes.stamps import Documents
from agent_ls.services.context.project_docs import ProjectDocumentCache, lookup_of
from agent_ls.services.permissions.paths import PathBounds, places_of
from agent_ls.services.turn_reads import TurnReads

EARLY_FACTS_MS = 60_000
"""Maximum age of facts that were gathered early; the first message gathers older facts again."""


async def none_beside() -> Mapping[str, ExecutionEnvironment]:
    return {}


@dataclass(frozen=True, slots=True)
class PromptWorkspace:
    """The workspace that system prompts describe.

    - `quiet`: the environment that is queried for facts, without displaying commands to the user.
    - `files`: the environment from which project documents are read, up to the project's root. The root may be
      above the working folder. A symbolic link that leaves the project is not followed.
    - `trusted`: returns whether the workspace is trusted; may ask the user at the start of a turn.
    - `others`: returns the other trusted workspace folders, by path.
    - `open_documents`: versions of open documents, as in ProjectDocumentCache.
    - `bounds`: returns the path policy of a folder; blocks.
    - `temporary`: the folder for temporary files, "" for none.
    """

    quiet: ExecutionEnvironment
    files: ExecutionEnvironment
    trusted: Callable[[], Awaitable[bool]]
    others: Callable[[], Awaitable[Mapping[str, ExecutionEnvironment]]] = none_beside
    open_documents: Documents | None = None
    bounds: Callable[[str], PathBounds] = lambda root: PathBounds(places_of(root))
    temporary: str = ""


class SessionPrompts:
    """Builds the system prompts of one session.

    - `facts`: facts about the environment from the session's log, None for a new session; `keep` stores new
      facts.
    - `reads`: the session's reads at the start of a turn.
    - `now_ms`: a monotonic clock.
    """

    def __init__(
        self,
        workspace: PromptWorkspace,
        *,
        facts: EnvironmentFacts | None = None,
        keep: Callable[[EnvironmentFacts], object] = lambda facts: None,
        reads: TurnReads | None = None,
        now_ms: Callable[[], int] = lambda: monotonic_ns() // 1_000_000,
    ) -> None:
        self._workspace = workspace
        self._quiet = workspace.quiet
        self._facts = facts
        self._keep = keep
        self._now_ms = now_ms
        self._gathering = anyio.Lock()
        self._early: tuple[int, EnvironmentFacts] | None = None
        self._projects: dict[str, ExecutionEnvironment] = {}
        self._known = ProjectDocumentCache(workspace.open_documents, reads or TurnReads())
        self.lookup = lookup_of(workspace.open_documents)
        self._documents = ""
        self.documents_bytes = 0
        """Bytes of the project documents at the last input."""

    async def gather_early(self) -> None:
        """Gather the environment facts of a trusted workspace early, so that the first message need not wait
        for them.
        """
        async with self._gathering:
            if self._facts is None and self._early is None:
                facts = await self._gather(trusted=True)
                self._early = self._now_ms(), facts

    async def _gather(self, trusted: bool) -> EnvironmentFacts:
        today = datetime.now(UTC).date().isoformat()
        facts = await gather_environment_facts(self._quiet, today=today, trusted=trusted, lookup=self.lookup)
        return replace(facts, temporary=self._workspace.temporary)

    async def prepare(self, profile: ProviderProfile, environment: ExecutionEnvironment) -> None:
        """Read the workspace folders and instruction files, and ask the user about trust if they have not decided.

        `environment` is unused: it cannot read the instruction files in parents of the working folder.
        """
        trusted = await self._workspace.trusted()
        beside = await self._workspace.others()
        family = profile.project_documents
        found = await self._known.find(await self._project(self._quiet, self._workspace.files), family)
        for folder, files in beside.items():
            found += await self._named_by_folder(folder, await self._project(files, files), family)
        self.documents_bytes = sum(len(document.text.encode("utf-8")) for document in found)
        layers = (
            build_folders_layer(self._quiet.working_directory(), tuple(beside)),
            build_documents_layer(found, trusted=trusted),
        )
        self._documents = "\n\n".join(filter(None, layers))

    def documents(self) -> str:
        return self._documents

    async def project(self) -> ExecutionEnvironment:
        """Return an environment that reads the project's files, and no files outside of the project's root."""
        return await self._project(self._quiet, self._workspace.files)

    async def _named_by_folder(
        self, folder: str, project: ExecutionEnvironment, family: Sequence[str]
    ) -> tuple[ProjectDocument, ...]:
        """Return the instruction files of another workspace folder, with absolute paths."""
        root = await find_git_root(project, self.lookup) or folder
        found = await self._known.find(project, family)
        return tuple(replace(document, path=join(root, document.path)) for document in found)

    async def _project(
        self, quiet: ExecutionEnvironment, files: ExecutionEnvironment
    ) -> ExecutionEnvironment:
        folder = quiet.working_directory()
        if folder not in self._projects:
            root = await find_git_root(quiet, self.lookup) or folder
            bounds = await anyio.to_thread.run_sync(self._workspace.bounds, root)
            self._projects[folder] = BoundedEnvironment(files, bounds)
        return self._projects[folder]

    async def build(
        self,
        profile: ProviderProfile,
        environment: ExecutionEnvironment,
        user_instructions: str,
        documents: str,
    ) -> str:
        if self._facts is None:
            trusted = await self._workspace.trusted()
            async with self._gathering:
                early = self._early
                is_fresh = trusted and early and self._now_ms() - early[0] < EARLY_FACTS_MS
                self._facts = early[1] if early and is_fresh else await self._gather(trusted)
            self._keep(self._facts)
        return profile.build_system_prompt(
            self._facts, documents=documents, user_instructions=user_instructions
        )


def facts_from_json(raw: object) -> EnvironmentFacts | None:
    """Parse stored environment facts; return None if one is missing, so that the caller gathers all of them
    again.
    """
    if not isinstance(raw, Mapping):
        return None
    try:
        git = {**raw["git"], "commits": tuple(raw["git"]["commits"])}
        return EnvironmentFacts(**{**raw, "git": GitSnapshot(**git)})
    except (KeyError, TypeError):
        return None
