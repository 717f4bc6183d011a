"""Prepare the client, tool definitions and event codecs early, so that the first turn of a process starts faster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib import import_module

from anyio import to_thread

from agent_ls.llm.client import Client
from agent_ls.loop.events import codec as event_codec
from agent_ls.services.errors import BadChoiceError
from agent_ls.services.models.service import make_profile

FOR_EDITS = (
    "tomllib",
    "agent_ls.patch.replace",
    "agent_ls.tools.apply_patch",
    "agent_ls.services.review.advance",
)
"""Modules that the first request to a model does not need, and the first command or edit does."""


async def warm_up(
    client: Client, provider: str, model: str, until_quiet: Callable[[], Awaitable[None]]
) -> None:
    """Preload the code that a first session with this model needs. Never raises; may be cancelled at any time.

    `until_quiet` waits while a turn runs; it is called before each step.
    """
    await until_quiet()
    await client.prepare(provider)
    await until_quiet()
    await to_thread.run_sync(_tools, provider, model, abandon_on_cancel=True)
    # Each codec is built in a separate thread call: one long call would slow down a turn that
    # begins at the same time.
    for build in event_codec.builders():
        await until_quiet()
        await to_thread.run_sync(build, abandon_on_cancel=True)
    for name in FOR_EDITS:
        await until_quiet()
        await to_thread.run_sync(import_module, name, abandon_on_cancel=True)


def _tools(provider: str, model: str) -> None:
    with suppress(BadChoiceError):  # the first session reports the error
        make_profile(provider, model).registry.definitions()
