"""agent-ls hooks: list the hooks of the user and of a project, and let the user confirm the project's hooks."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from agent_ls.cli.output import to_single_row


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--cd",
        type=Path,
        default=Path(),
        metavar="FOLDER",
        help="include the hooks of the project in this folder",
    )
    parser.add_argument(
        "--confirm",
        action="store_true",
        help="confirm the hooks of the project as they are now, so that they may run",
    )


def run(options: argparse.Namespace) -> int:
    from agent_ls.app.clock import SystemClock
    from agent_ls.app.hooks.config import load_hooks
    from agent_ls.app.hooks.confirmed import confirm, is_confirmed, read_confirmed
    from agent_ls.app.permissions.trust import WorkspaceTrust
    from agent_ls.app.settings.layers import read_user_settings
    from agent_ls.app.settings.model import parse_settings
    from agent_ls.app.settings.state_folder import state_folder
    from agent_ls.store.trust import TrustStore

    folder, state = str(options.cd.resolve()), state_folder()
    settings, _ = parse_settings(read_user_settings())
    is_trusted = WorkspaceTrust(TrustStore(state), SystemClock(), "kept").get_trust(folder) == "trusted"
    found = load_hooks(settings.hooks, str(state), folder if is_trusted else None)
    if options.confirm:
        confirm(state, [hook for hook in found.hooks if hook.origin == "project"], folder)
    confirmed = read_confirmed(state)
    waits = False
    for hook in found.hooks:
        may_run = is_confirmed(hook, folder, confirmed)
        waits = waits or not may_run
        matcher = f" on {hook.matcher.pattern}" if hook.matcher else ""
        print(to_single_row(f"{hook.event}{matcher}  ({hook.origin}{'' if may_run else ', not confirmed'})"))
        print(to_single_row(f"    {hook.command}"))
        print(to_single_row(f"    {hook.path}"))
    for problem in found.problems:
        print(to_single_row(f"✗ {problem}"), file=sys.stderr)
    if waits:
        print("`agent-ls hooks --confirm` lets the unconfirmed hooks run until they or their scripts change.")
    if not found.hooks and not found.problems:
        print(f"There are no hooks. Define hooks in {state / 'hooks.json'}; see `agent-ls docs hooks`.")
    if not is_trusted:
        print("This folder is not trusted, so the hooks of its project are ignored.")
    return 1 if found.problems else 0
