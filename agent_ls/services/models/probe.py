"""Find the models that can be used now, by requesting the list of models from each configured provider.

At the user's request, local servers are searched on their usual ports: one GET without a key, with a timeout of
300 ms. Local servers are listed with their address, and used only if the user chooses them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import anyio

from agent_ls.llm.client import probe_adapter, provider_adapter, supported_providers
from agent_ls.llm.credentials import KEYLESS, VARIABLES, Credentials, key_variable
from agent_ls.llm.endpoint import ConnectionSettings
from agent_ls.llm.errors import LlmError
from agent_ls.llm.http_adapter import HttpAdapter
from agent_ls.llm.providers.base import ListedModel

LOCAL = tuple(name for name in KEYLESS if name != "compatible")
ASK_S = 10.0
SIZE_S = 1.0
"""Seconds that a new session waits for a server to report its context size."""
DESCRIBE_S = 0.6
"""Seconds of them for what the list of models does not state."""

_BY_OWNER = {
    "llamacpp": "llama.cpp",
    "vllm": "vLLM",
    "library": "Ollama",
    "organization_owner": "LM Studio",
    "sglang": "SGLang",
}
"""Display names of servers, by the value of `owned_by` in their lists of models."""


@dataclass(frozen=True, slots=True)
class ReachedProvider:
    """Result of contacting one provider. `problem` "": the provider replied, and `models` is its list.

    `address` "": the provider was not contacted. `is_guessed`: the server is not configured, but was found at its
    usual port.
    """

    provider: str
    address: str = ""
    models: Sequence[ListedModel] = ()
    problem: str = ""
    hint: str = ""
    is_guessed: bool = False

    @property
    def reported_name(self) -> str:
        """Return the server's own name from its list of models; "" if the list has no name."""
        return next((_BY_OWNER[model.owner] for model in self.models if model.owner in _BY_OWNER), "")


async def reach_all(
    credentials: Credentials, settings: Mapping[str, ConnectionSettings] | None = None
) -> tuple[ReachedProvider, ...]:
    """Contact all providers concurrently; return them in their usual order. A failing provider does not raise."""
    known_settings = settings or {}
    found: dict[str, ReachedProvider] = {}

    async def one(name: str) -> None:
        found[name] = await _reach(name, credentials, known_settings)

    async with anyio.create_task_group() as group:
        for name in supported_providers():
            group.start_soon(one, name)
    return tuple(found[name] for name in supported_providers())


async def find_servers(
    credentials: Credentials, settings: Mapping[str, ConnectionSettings] | None = None
) -> tuple[ReachedProvider, ...]:
    """Return the reachable servers that need no key, at the configured address or else at their usual ports."""
    known_settings = settings or {}
    found: dict[str, ReachedProvider] = {}

    async def one(name: str) -> None:
        reached = await _reach(name, credentials, known_settings)
        if not reached.problem:
            found[name] = reached

    async with anyio.create_task_group() as group:
        for name in KEYLESS:
            group.start_soon(one, name)
    return tuple(found[name] for name in KEYLESS if name in found)


async def ask_server(
    name: str, model: str, credentials: Credentials, settings: Mapping[str, ConnectionSettings]
) -> Sequence[ListedModel]:
    """Return the models that a server without a key lists; empty if it does not reply in time.

    `model` has the window that it runs with, which many servers state only outside of their list.
    """
    found = ReachedProvider(name)
    with anyio.move_on_after(SIZE_S):
        found = await _reach(name, credentials, settings, wanted=model)
    return found.models


async def _reach(
    name: str,
    credentials: Credentials,
    settings: Mapping[str, ConnectionSettings],
    *,
    wanted: str | None = None,
) -> ReachedProvider:
    """Contact a provider. `wanted`: describe only this model, which the server need not list; None: all models."""
    is_set_up = name in settings or bool(credentials.base_url(name) or credentials.secret(name))
    if credentials.secret(name) or (name in KEYLESS and is_set_up):
        return await _ask(provider_adapter(name, credentials, settings), wanted)
    if name in LOCAL:
        found = await _ask(probe_adapter(name), wanted)
        hint = f"start the server, or set {VARIABLES[name].base_url}" if found.problem else ""
        return replace(found, hint=hint, is_guessed=True)
    if name in KEYLESS:
        return ReachedProvider(name, problem="no address", hint="set COMPATIBLE_BASE_URL")
    return ReachedProvider(
        name, problem="no key", hint=f"`agent-ls keys set {name}`, or set {key_variable(name)}"
    )


async def _ask(adapter: HttpAdapter, wanted: str | None) -> ReachedProvider:
    try:
        with anyio.fail_after(ASK_S):
            models = await adapter.list_models()
            models = await (
                adapter.describe(models) if wanted is None else _describe_one(adapter, models, wanted)
            )
    except LlmError as error:
        return ReachedProvider(adapter.name, adapter.base_url, problem=str(error), hint=error.hint)
    except TimeoutError:
        return ReachedProvider(adapter.name, adapter.base_url, problem=f"no answer within {ASK_S:g} s")
    finally:
        await adapter.close()
    if not models:
        return ReachedProvider(
            adapter.name, adapter.base_url, problem="the server answered without a list of models"
        )
    return ReachedProvider(adapter.name, adapter.base_url, models)


async def _describe_one(
    adapter: HttpAdapter, models: Sequence[ListedModel], wanted: str
) -> Sequence[ListedModel]:
    """Describe one model, also under another name than in the list: Ollama adds `:latest`, llama.cpp ignores names."""
    listed = next((model for model in models if model.id == wanted), ListedModel(wanted, wanted))
    described: Sequence[ListedModel] = [listed]
    with anyio.move_on_after(DESCRIBE_S):
        described = await adapter.describe(described)
    return [*described, *(model for model in models if model.id != wanted)] if models and wanted else models
