"""The prefix of the requests of an input: the one before, unless something that it was made of is new (O6)."""

from __future__ import annotations

from dataclasses import replace

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.loop.prefix import Prefix, digest_of, tools_chars
from agent_ls.loop.seams import PromptSource
from agent_ls.profiles.base import ProviderProfile


async def prefix_now(
    source: PromptSource,
    profile: ProviderProfile,
    environment: ExecutionEnvironment,
    instructions: str,
    before: Prefix,
) -> Prefix:
    """Asked at the start of each input; `before` itself, byte for byte, where it still holds."""
    documents = await source.documents(profile, environment)
    tools = profile.registry.definitions()
    now = Prefix(
        tools=tools,
        provider=profile.id,
        model=profile.model,
        instructions=instructions,
        documents=digest_of(documents),
        documents_chars=len(documents),
        tools_chars=before.tools_chars if tools == before.tools else tools_chars(tools),
    )
    if before.text and before.lost_by(now) is None:
        return before
    return replace(now, text=await source.build(profile, environment, instructions, documents))
