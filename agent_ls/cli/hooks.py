"""agent-ls hooks: list the hooks of the user and of a project, and let the user confirm them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from agent_ls.cli.output import add_json_option, print_json, to_single_row


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--cd",
        type=Path,
        default=Path(),
        metavar="FOLDER",
        help="include the hooks of the project in this folder",
    )
    add_json_option(parser)
    parser.add_argument(
        "--confirm",
        action="store_true",
        help="confirm the hooks as they are now, so that they may run",
    )
    parser.add_argument(
        "--withdraw", action="store_true", help="withdraw the confirmations of the hooks of this folder"
    )


def run(options: argparse.Namespace) -> int:
    from agent_ls.features.hooks.config import load_hooks
    from agent_ls.features.hooks.confirmed import ConfirmedHooks, describe, state_of
    from agent_ls.services.clock import SystemClock
    from agent_ls.services.permissions.trust import read_trust
    from agent_ls.services.settings.layers import read_user_settings
    from agent_ls.services.settings.model import parse_settings
    from agent_ls.services.settings.state_folder import state_folder

    folder, state = str(options.cd.resolve()), state_folder()
    settings, _ = parse_settings(read_user_settings())
    is_trusted = read_trust(folder) == "trusted"
    found = load_hooks(settings.hooks, str(state), folder if is_trusted else None, folder=folder)
    store = ConfirmedHooks(state)
    if options.withdraw:
        gone = store.withdraw(folder)
        print(f"{len(gone)} confirmations were withdrawn")
        return 0
    if options.confirm:
        store.confirm(found.hooks, folder, SystemClock().now())
    confirmed = store.read()
    if options.json:
        print_json(
            {
                "origin": hook.origin,
                "state": state_of(hook, folder, confirmed),
                "description": list(describe(hook)),
            }
            for hook in found.hooks
        )
        for problem in found.problems:
            print(to_single_row(f"✗ {problem}"), file=sys.stderr)
        return 1 if found.problems else 0
    waits = False
    for hook in found.hooks:
        its = state_of(hook, folder, confirmed)
        is_waiting = its == "changed" or (its == "new" and hook.is_of_project)
        waits = waits or is_waiting
        note = (
            {"changed": ", changed since you confirmed it", "new": ", not confirmed"}[its]
            if is_waiting
            else ""
        )
        first, *rest = describe(hook)
        print(to_single_row(f"{first}  ({hook.origin}{note})"))
        for line in rest:
            print(to_single_row(f"    {line}"))
    for problem in found.problems:
        print(to_single_row(f"✗ {problem}"), file=sys.stderr)
    if waits:
        print("`agent-ls hooks --confirm` lets the unconfirmed hooks run until a compared file changes.")
    if not found.hooks and not found.problems:
        print(f"There are no hooks. Define hooks in {state / 'hooks.json'}; see `agent-ls docs hooks`.")
    if not is_trusted:
        print("This folder is not trusted, so the hooks of its project are ignored.")
    return 1 if found.problems else 0
