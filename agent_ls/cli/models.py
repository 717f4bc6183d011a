"""agent-ls models: list usable models, explain why other models are unusable, and set the default model."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from agent_ls.cli.output import add_json_option, print_error, print_json, to_single_row
from agent_ls.cli.waiting import waiting_line
from agent_ls.services.errors import AppError, BadChoiceError
from agent_ls.text import join_sentences

if TYPE_CHECKING:
    from agent_ls.services.models.probe import ReachedProvider


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "provider", nargs="?", default="", metavar="PROVIDER", help="list all models of this provider"
    )
    parser.add_argument("--use", metavar="PROVIDER/MODEL", help="use this model for new sessions")
    add_json_option(parser)
    parser.add_argument("--forget", action="store_true", help="remove the default set by --use")


def run(options: argparse.Namespace) -> int:
    import anyio

    try:
        if options.forget:
            return _forget()
        return (
            anyio.run(_use, options.use) if options.use else anyio.run(_show, options.provider, options.json)
        )
    except AppError as error:
        return print_error("models", error)


SHOWN = 5  # models listed for each provider; with a PROVIDER argument all are listed


async def _show(provider: str, as_json: bool) -> int:
    from agent_ls.services.models.default_model import read_default_model
    from agent_ls.services.models.key_store import load_credentials, unknown_provider
    from agent_ls.services.models.probe import reach_all
    from agent_ls.services.models.service import provider_title, server_title
    from agent_ls.services.settings.layers import user_endpoints

    with waiting_line("Asking providers for their models"):
        found = await reach_all(load_credentials(), user_endpoints())
    reached = [one for one in found if provider in ("", one.provider)]
    if not reached:
        return print_error("models", unknown_provider(provider))
    if as_json:
        print_json(map(_as_json, reached))
        return 0
    for one in reached:
        title = f"{one.provider} · {provider_title(one.provider)}"
        if one.problem:
            print(to_single_row(f"✗ {title} · {join_sentences(one.problem, one.hint)}"))
            continue
        print(to_single_row(f"✓ {one.provider} · {server_title(one)} · {one.address}"))
        shown = one.models if provider else one.models[:SHOWN]
        for model in shown:
            size = f"  {model.context_window_tokens:,} tokens" if model.context_window_tokens else ""
            size += "  no native tools: text protocol" if model.calls_tools is False else ""
            print(to_single_row(f"    {one.provider}/{model.id}{size}"))
        if len(one.models) > len(shown):
            print(f"    … {len(one.models) - len(shown)} more: agent-ls models {one.provider}")
    choice = read_default_model()
    if choice.provider:
        print(
            f"New sessions use {choice.provider}/{choice.model} unless the settings name another model (`--forget` "
            f"removes this default)."
        )
    else:
        print("`agent-ls models --use PROVIDER/MODEL` sets the default for new sessions.")
    return 0


def _as_json(one: ReachedProvider) -> dict[str, object]:
    models = [
        {"id": it.id, "contextWindowTokens": it.context_window_tokens, "callsTools": it.calls_tools}
        for it in one.models
    ]
    return {
        "provider": one.provider,
        "address": one.address,
        "problem": one.problem,
        "hint": one.hint,
        "models": models,
    }


async def _use(name: str) -> int:
    from agent_ls.services.models.default_model import DefaultModel, store_default_model
    from agent_ls.services.models.key_store import load_credentials
    from agent_ls.services.models.probe import reach_all
    from agent_ls.services.models.service import make_profile
    from agent_ls.services.settings.layers import user_endpoints

    provider, _, model = name.partition("/")
    if not model:
        raise BadChoiceError(
            "give provider and model, for example ollama/qwen3",
            "`agent-ls models` lists the available models",
        )
    make_profile(provider, model)
    reached = {one.provider: one for one in await reach_all(load_credentials(), user_endpoints())}
    listed = reached[provider].models if provider in reached else ()
    known = next((m for m in listed if m.id == model), None)
    store_default_model(DefaultModel(provider, model, (known and known.context_window_tokens) or 0))
    print(f"New sessions use {provider}/{model} unless the settings name another model.")
    if provider in reached and known is None:
        why = reached[provider].problem or "the model is not in the provider's list"
        print(f"Note: {why}.", file=sys.stderr)
    return 0


def _forget() -> int:
    from agent_ls.services.models.default_model import delete_default_model

    delete_default_model()
    print(
        "The default is removed: new sessions use the model of the settings, or the first provider with a key."
    )
    return 0
