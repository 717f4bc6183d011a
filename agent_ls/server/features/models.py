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
    known = context.manager.models
    found = await known.find_server_models() if params.look else ()
    listed = {(model.provider, model.id): model for model in (*known.models(), *found)}
    return wire.ModelsResult(
        default_provider=known.choose(None, None)[0],
        providers=tuple(
            wire.ProviderInfo(
                id=provider.id,
                name=provider.name,
                has_key=provider.has_key,
                key_variable=provider.key_variable,
                problem=provider.problem or None,
            )
            for provider in known.providers()
        ),
        models=tuple(
            wire.ModelInfo(
                provider=model.provider,
                id=model.id,
                name=model.name,
                context_tokens=model.context_tokens,
                max_output_tokens=model.max_output_tokens,
                efforts=model.efforts,
                is_default=model.is_default,
                input_price=model.input_price,
                output_price=model.output_price,
                images=model.images,
                address=model.address or None,
            )
            for model in listed.values()
        ),
    )


ROUTES = (route(wire.SetCredential, set_credential), route(wire.Models, models))
