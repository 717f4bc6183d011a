"""Which models can be used now, and why the others cannot: each provider that is set up is asked for its list.

Servers on this machine are looked for at their usual ports only here, when the user asks: one GET, without a key,
300 ms. They are shown with their address and used only after a choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import anyio

from agent_ls.llm.client import looking_adapter, provider_adapter, spoken_providers
from agent_ls.llm.credentials import KEYLESS, Credentials, key_variable
from agent_ls.llm.endpoint import ProviderSettings
from agent_ls.llm.errors import LlmError
from agent_ls.llm.http_adapter import HttpAdapter
from agent_ls.llm.providers.base import ListedModel

LOCAL = tuple(name for name in KEYLESS if name != "compatible")
ASK_S = 10.0


@dataclass(frozen=True, slots=True)
class Reached:
    """One provider. `problem` "": it answered, and `models` are its own list. `address` "" for one not asked."""

    provider: str
    address: str = ""
    models: Sequence[ListedModel] = ()
    problem: str = ""
    hint: str = ""


async def reach_all(
    credentials: Credentials, settings: Mapping[str, ProviderSettings] | None = None
) -> tuple[Reached, ...]:
    """Every provider, in their usual order; all are asked at the same time. Never raises for one that fails."""
    told = settings or {}
    found: dict[str, Reached] = {}

    async def one(name: str) -> None:
        found[name] = await _reach(name, credentials, told)

    async with anyio.create_task_group() as group:
        for name in spoken_providers():
            group.start_soon(one, name)
    return tuple(found[name] for name in spoken_providers())


async def look_around(
    credentials: Credentials, settings: Mapping[str, ProviderSettings] | None = None
) -> tuple[Reached, ...]:
    """The servers that need no key and answer: at the address that was set, else at their usual ports."""
    told = settings or {}
    found: dict[str, Reached] = {}

    async def one(name: str) -> None:
        reached = await _reach(name, credentials, told)
        if not reached.problem:
            found[name] = reached

    async with anyio.create_task_group() as group:
        for name in KEYLESS:
            group.start_soon(one, name)
    return tuple(found[name] for name in KEYLESS if name in found)


async def _reach(name: str, credentials: Credentials, settings: Mapping[str, ProviderSettings]) -> Reached:
    is_set_up = name in settings or bool(credentials.base_url(name) or credentials.secret(name))
    if credentials.secret(name) or (name in KEYLESS and is_set_up):
        return await _ask(provider_adapter(name, credentials, settings))
    if name in LOCAL:
        return await _ask(looking_adapter(name))
    if name in KEYLESS:
        return Reached(name, problem="no address", hint="set COMPATIBLE_BASE_URL")
    return Reached(name, problem="no key", hint=f"`agent-ls keys set {name}`, or set {key_variable(name)}")


async def _ask(adapter: HttpAdapter) -> Reached:
    try:
        with anyio.fail_after(ASK_S):
            models = await adapter.list_models()
    except LlmError as error:
        return Reached(adapter.name, adapter.base_url, problem=str(error), hint=error.hint)
    except TimeoutError:
        return Reached(adapter.name, adapter.base_url, problem=f"no answer within {ASK_S:g} s")
    finally:
        await adapter.close()
    if not models:
        return Reached(adapter.name, adapter.base_url, problem="it answered, with no list of models")
    return Reached(adapter.name, adapter.base_url, models)
