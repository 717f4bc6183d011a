"""ADAPTER PromptSource: the layers of the system prompt, with the facts of the session's start kept (O6)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from os.path import join
from typing import Any

import anyio.to_thread

from agent_ls.app.bounds import PathBounds, places_of
from agent_ls.app.known_documents import KnownDocuments
from agent_ls.app.stamps import Documents
from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.wrappers.bounded import BoundedEnvironment
from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.environment_block import EnvironmentFacts, environment_facts
from agent_ls.profiles.git_snapshot import GitSnapshot, git_root
from agent_ls.profiles.project_docs import ProjectDocument, documents_layer, folders_layer
from agent_ls.profiles.system_prompt import system_prompt


async def none_beside() -> Mapping[str, ExecutionEnvironment]:
    return {}


class SessionPrompts:
    """`quiet` is the environment that is asked for facts: not one whose commands the user sees.

    Project documents are read from `files`, up to the project's root, which may lie above the folder to work in; a
    link that leads out of the project is not followed: nobody was asked. `trusted` may ask the user whether he trusts
    the workspace, at the start of an input; `others` then gives the trusted folders beside it, by their paths. `facts`
    are those that the session's log holds, `keep` puts new ones there: a resumed session tells what held when it began
    (O4). `open_documents` as in KnownDocuments.
    """

    def __init__(
        self,
        quiet: ExecutionEnvironment,
        files: ExecutionEnvironment,
        *,
        trusted: Callable[[], Awaitable[bool]],
        others: Callable[[], Awaitable[Mapping[str, ExecutionEnvironment]]] = none_beside,
        facts: EnvironmentFacts | None = None,
        keep: Callable[[EnvironmentFacts], object] = lambda facts: None,
        open_documents: Documents | None = None,
    ) -> None:
        self._quiet = quiet
        self._files = files
        self._trusted = trusted
        self._others = others
        self._facts = facts
        self._keep = keep
        self._projects: dict[str, ExecutionEnvironment] = {}
        self._known = KnownDocuments(open_documents)

    async def documents(self, profile: ProviderProfile, environment: ExecutionEnvironment) -> str:
        """`environment` is the tools' and ends at the folder to work in, so it is not asked here."""
        trusted = await self._trusted()
        beside = await self._others()
        family = profile.project_documents
        found = await self._known.of(await self._project(self._quiet, self._files), family)
        for folder, files in beside.items():
            found += await self._named_by_folder(folder, await self._project(files, files), family)
        layers = (
            folders_layer(self._quiet.working_directory(), tuple(beside)),
            documents_layer(found, trusted=trusted),
        )
        return "\n\n".join(filter(None, layers))

    async def _named_by_folder(
        self, folder: str, project: ExecutionEnvironment, family: Sequence[str]
    ) -> tuple[ProjectDocument, ...]:
        """The instructions of a folder beside the session's own, by absolute paths."""
        root = await git_root(project) or folder
        found = await self._known.of(project, family)
        return tuple(replace(document, path=join(root, document.path)) for document in found)

    async def _project(
        self, quiet: ExecutionEnvironment, files: ExecutionEnvironment
    ) -> ExecutionEnvironment:
        folder = quiet.working_directory()
        if folder not in self._projects:
            root = await git_root(quiet) or folder
            bounds = PathBounds(await anyio.to_thread.run_sync(places_of, root))
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
            today = datetime.now(UTC).date().isoformat()
            trusted = await self._trusted()
            self._facts = await environment_facts(self._quiet, today=today, trusted=trusted)
            self._keep(self._facts)
        return system_prompt(profile, self._facts, documents=documents, user_instructions=user_instructions)


def facts_to_json(facts: EnvironmentFacts) -> dict[str, Any]:
    return asdict(facts)


def facts_from_json(raw: object) -> EnvironmentFacts | None:
    """None for what is no whole record of them: then they are gathered anew."""
    if not isinstance(raw, Mapping):
        return None
    try:
        git = {**raw["git"], "commits": tuple(raw["git"]["commits"])}
        return EnvironmentFacts(**{**raw, "git": GitSnapshot(**git)})
    except (KeyError, TypeError):
        return None
