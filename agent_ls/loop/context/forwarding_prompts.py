"""Base class of prompt sources that extend the prompt of another prompt source."""

from __future__ import annotations

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.loop.seams import PromptSource
from agent_ls.profiles.base import ProviderProfile


class ForwardingPrompts:
    """Implements PromptSource by passing each call to `inner`."""

    def __init__(self, inner: PromptSource) -> None:
        self._inner = inner

    async def documents(self, profile: ProviderProfile, environment: ExecutionEnvironment) -> str:
        return await self._inner.documents(profile, environment)

    async def build(
        self,
        profile: ProviderProfile,
        environment: ExecutionEnvironment,
        user_instructions: str,
        documents: str,
    ) -> str:
        return await self._inner.build(profile, environment, user_instructions, documents)
