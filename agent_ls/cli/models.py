"""agent-ls models: what can be used now and why the rest cannot, and a choice that is remembered."""

from __future__ import annotations

import argparse
import sys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("provider", nargs="?", default="", metavar="PROVIDER", help="all models of this one")
    parser.add_argument("--use", metavar="PROVIDER/MODEL", help="remember it as the one for new sessions")
    parser.add_argument("--forget", action="store_true", help="forget what was remembered")


def run(options: argparse.Namespace) -> int:
    import anyio

    from agent_ls.app.errors import AppError

    try:
        if options.forget:
            return _forget()
        return anyio.run(_use, options.use) if options.use else anyio.run(_show, options.provider)
    except AppError as error:
        print(f"agent-ls: {error}; {error.hint}" if error.hint else f"agent-ls: {error}", file=sys.stderr)
        return 1


SHOWN = 5  # models of each provider; naming it shows all


async def _show(provider: str) -> int:
    from agent_ls.app.choice import remembered
    from agent_ls.app.keys import load_credentials
    from agent_ls.app.models import provider_title
    from agent_ls.app.reachable import reach_all

    reached = [r for r in await reach_all(load_credentials()) if provider in ("", r.provider)]
    if not reached:
        print(f"agent-ls: no provider is named {provider!r}", file=sys.stderr)
        return 1
    for one in reached:
        title = f"{one.provider} · {provider_title(one.provider)}"
        if one.problem:
            print(f"✗ {title} · {one.problem}" + (f". {one.hint}" if one.hint else ""))
            continue
        print(f"✓ {title} · {one.address}")
        shown = one.models if provider else one.models[:SHOWN]
        for model in shown:
            size = f"  {model.context_window_tokens:,} tokens" if model.context_window_tokens else ""
            print(f"    {one.provider}/{model.id}{size}")
        if len(one.models) > len(shown):
            print(f"    … {len(one.models) - len(shown)} more: agent-ls models {one.provider}")
    choice = remembered()
    if choice.provider:
        print(
            f"New sessions use {choice.provider}/{choice.model} where nothing else is set (--forget undoes it)."
        )
    else:
        print("`agent-ls models --use PROVIDER/MODEL` remembers one for new sessions.")
    return 0


async def _use(name: str) -> int:
    from agent_ls.app.choice import Choice, remember
    from agent_ls.app.errors import BadChoiceError
    from agent_ls.app.keys import load_credentials
    from agent_ls.app.models import make_profile
    from agent_ls.app.reachable import reach_all

    provider, _, model = name.partition("/")
    if not model:
        raise BadChoiceError("name both, as ollama/qwen3", "`agent-ls models` lists what is there")
    make_profile(provider, model)
    reached = {one.provider: one for one in await reach_all(load_credentials())}
    listed = reached[provider].models if provider in reached else ()
    known = next((m for m in listed if m.id == model), None)
    remember(Choice(provider, model, (known and known.context_window_tokens) or 0))
    print(f"New sessions use {provider}/{model} where nothing else is set.")
    if provider in reached and known is None:
        why = reached[provider].problem or "it is not in the provider's list"
        print(f"Note: {why}.", file=sys.stderr)
    return 0


def _forget() -> int:
    from agent_ls.app.choice import forget

    forget()
    print("Forgotten: new sessions use the settings, or the first provider with a key.")
    return 0
