"""ADAPTER PromptSource: the layers of the system prompt, with the facts of the session's start kept (O6)."""

from __future__ import annotations

from datetime import UTC, datetime

import anyio.to_thread

from agent_ls.app.bounds import PathBounds, places_of
from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.wrappers.bounded import BoundedEnvironment
from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.environment_block import EnvironmentFacts, environment_facts
from agent_ls.profiles.system_prompt import rebuild_system_prompt


class SessionPrompts:
    """`quiet` is the environment that is asked for facts: not one whose commands the user sees.

    Project documents are read from `files`, up to the project's root, which may lie above the folder to work in; a
    link that leads out of the project is not followed: nobody was asked.
    """

    def __init__(self, quiet: ExecutionEnvironment, files: ExecutionEnvironment, *, trusted: bool) -> None:
        self._quiet = quiet
        self._files = files
        self._trusted = trusted
        self._facts: EnvironmentFacts | None = None

    async def build(
        self, profile: ProviderProfile, environment: ExecutionEnvironment, user_instructions: str
    ) -> str:
        """`environment` is the tools' and ends at the folder to work in, so it is not asked here."""
        if self._facts is None:
            today = datetime.now(UTC).date().isoformat()
            self._facts = await environment_facts(self._quiet, today=today, trusted=self._trusted)
        root = self._facts.git.root or self._facts.working_directory
        bounds = PathBounds(await anyio.to_thread.run_sync(places_of, root))
        project = BoundedEnvironment(self._files, bounds)
        return await rebuild_system_prompt(profile, project, self._facts, user_instructions=user_instructions)
