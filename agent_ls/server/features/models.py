"""Handlers for models and API keys. A key is only passed to the session manager; handlers neither store a key
nor send it back.
"""

from __future__ import annotations

from agent_ls.server import protocol as wire
from agent_ls.server.rpc.context import Context
from agent_ls.server.rpc.router import route


async def set_credential(context: Context, params: wire.SetCredential) -> wire.CredentialResult:
    context.manager.set_credential(params.provider, params.secret)
    return wire.CredentialResult()


async def models(context: Context, params: wire.Models) -> wire.ModelsResult:
    await context.wait_for_settings()
    known = context.manager.models
    found = await known.find_server_models() if params.look else ()
    listed = {(model.provider, model.id): model for model in (*known.models(), *found)}
    return wire.ModelsResult(
        default_provider=known.choose(None, None)[0],
        default_mode=context.manager.settings.mode,
        providers=tuple(
            wire.ProviderInfo.of(provider, problem=provider.problem or None) for provider in known.providers()
        ),
        models=tuple(wire.ModelInfo.of(model, address=model.address or None) for model in listed.values()),
    )


ROUTES = (route(wire.SetCredential, set_credential), route(wire.Models, models))
