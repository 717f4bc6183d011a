"""Build the request prefix for a turn, or reuse the previous prefix if its sources have not changed."""

from __future__ import annotations

from dataclasses import replace

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.loop.context.prefix import Prefix, digest_of, tools_chars
from agent_ls.loop.seams import PromptSource
from agent_ls.profiles.base import ProviderProfile


async def prefix_now(
    source: PromptSource,
    profile: ProviderProfile,
    environment: ExecutionEnvironment,
    instructions: str,
    before: Prefix,
) -> Prefix:
    """Return the prefix for a turn. If no source of the prefix has changed since `before` was built, `before`
    itself is returned, so that the provider can use its cache.
    """
    await source.prepare(profile, environment)
    documents = source.documents()
    tools = profile.tools()
    now = Prefix(
        tools=tools,
        provider=profile.id,
        model=profile.model,
        instructions=instructions,
        documents=digest_of(documents),
        documents_chars=len(documents),
        tools_chars=before.tools_chars if tools == before.tools else tools_chars(tools),
    )
    if before.text and before.find_difference(now) is None:
        return before
    return replace(now, text=await source.build(profile, environment, instructions, documents))
