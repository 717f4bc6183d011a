"""agent-ls policy: explain how the permission policy decides about a command, list or remove stored
rules, and list what may run without a question.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from agent_ls.cli.output import add_json_option, print_json, to_single_row

MODES = ("plan", "ask", "edits", "full")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    explain = verbs.add_parser(
        "explain", help="explain whether a command would be allowed in this folder; nothing is run"
    )
    explain.add_argument("line", metavar="COMMAND", help="the command line, in quotes")
    explain.add_argument(
        "--mode", choices=MODES, help="explain for this permission mode only (default: for each mode)"
    )
    listing = verbs.add_parser(
        "list", help="list the rules that apply in this folder, and how often each was used"
    )
    listing.add_argument("--all", action="store_true", help="list the rules of all folders")
    add_json_option(listing)
    log = verbs.add_parser("log", help="list all that may run without a question in this folder today")
    log.add_argument(
        "--json", action="store_true", help="print one JSON object per line, with what was displayed"
    )
    remove = verbs.add_parser("remove", help="remove a rule")
    remove.add_argument(
        "rule", metavar="NUMBER", help="the number of the rule in `agent-ls policy list --all`, or its id"
    )


def run(options: argparse.Namespace) -> int:
    if options.verb == "explain":
        return _explain(options.line, options.mode)
    if options.verb == "log":
        return _log(as_json=options.json)
    return (
        _remove(options.rule)
        if options.verb == "remove"
        else _list(show_all=options.all, as_json=options.json)
    )


def _explain(line: str, mode: str | None) -> int:
    from agent_ls.services.permissions.explain import explain_command
    from agent_ls.services.settings.layers import user_settings

    for said in explain_command(
        line, str(Path().resolve()), (mode,) if mode else MODES, user_settings().paths
    ):
        print(to_single_row(said))
    return 0


def _log(*, as_json: bool) -> int:
    from dataclasses import asdict

    from agent_ls.doctor.unasked import list_unasked
    from agent_ls.services.settings.layers import user_settings
    from agent_ls.services.settings.state_folder import state_folder

    found = list(list_unasked(str(Path().resolve()), state_folder(), user_settings()))
    for one in found:
        since = f", since {one.decided}" if one.decided else ""
        print(
            json.dumps({**asdict(one), "digest": one.digest})
            if as_json
            else to_single_row(f"{one.kind:6}  {one.what}{since}  ({one.undo})")
        )
    if not found and not as_json:
        print("nothing runs in this folder without a question, except read-only commands")
    return 0


def _list(*, show_all: bool, as_json: bool) -> int:
    from agent_ls.services.settings.state_folder import state_folder
    from agent_ls.store.rules import RuleStore

    store = RuleStore(state_folder())
    here = store.rules(None if show_all else str(Path().resolve()))
    numbers = {rule: number for number, rule in enumerate(store.rules(), 1)}
    if as_json:
        print_json(
            {
                "number": numbers[it],
                "id": it.id,
                "workspace": it.workspace,
                "created": it.created,
                "hits": it.hits,
            }
            for it in here
        )
        return 0
    for rule in here:
        place = rule.workspace or "all projects"
        row = f"{numbers[rule]:3}  used {rule.hits} times  {rule.id}  ({place}, since {rule.created})"
        print(to_single_row(row))
    if not here:
        print("no rules are stored" + ("" if show_all else " for this folder (--all lists all folders)"))
    return 0


def _remove(named: str) -> int:
    from agent_ls.services.settings.state_folder import state_folder
    from agent_ls.store.rules import RuleStore

    store = RuleStore(state_folder())
    rules = store.rules()
    wanted = rules[int(named) - 1] if named.isdigit() and 0 < int(named) <= len(rules) else None
    removed = store.remove(wanted.id, wanted.workspace) if wanted else store.remove(named)
    for rule in removed:
        print(to_single_row(f"removed: {rule.label}"))
    if not removed:
        print(f"there is no rule {named}; `agent-ls policy list --all` lists all rules with their numbers")
    return 0 if removed else 1
