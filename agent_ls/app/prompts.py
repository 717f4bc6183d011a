"""ADAPTER PromptSource: the layers of the system prompt, with the facts of the session's start kept (O6)."""

from __future__ import annotations

from datetime import UTC, datetime

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.environment_block import EnvironmentFacts, environment_facts
from agent_ls.profiles.system_prompt import rebuild_system_prompt


class SessionPrompts:
    """`quiet` is the environment that is asked for facts: not one whose commands the user sees."""

    def __init__(self, quiet: ExecutionEnvironment, *, trusted: bool) -> None:
        self._quiet = quiet
        self._trusted = trusted
        self._facts: EnvironmentFacts | None = None

    async def build(
        self, profile: ProviderProfile, environment: ExecutionEnvironment, user_instructions: str
    ) -> str:
        if self._facts is None:
            today = datetime.now(UTC).date().isoformat()
            self._facts = await environment_facts(self._quiet, today=today, trusted=self._trusted)
        return await rebuild_system_prompt(
            profile, environment, self._facts, user_instructions=user_instructions
        )
