"""agent-ls trust: list, add and remove trusted folders."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from agent_ls.cli.output import add_json_option, print_error, print_json, to_single_row

VERBS = {
    "add": ("trusted", "trust a folder whose files come from you or from somebody you know"),
    "restrict": ("restricted", "do not trust a folder, and do not ask about it any more"),
    "forget": (None, "remove the decision about a folder, so that you are asked again"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    add_json_option(verbs.add_parser("list", help="list the folders that you have decided about"))
    for verb, (_, words) in VERBS.items():
        one = verbs.add_parser(verb, help=words)
        one.add_argument(
            "folder", nargs="?", type=Path, default=Path(), help="the folder (default: this folder)"
        )


def run(options: argparse.Namespace) -> int:
    from agent_ls.environments.remote.place import is_place_name
    from agent_ls.services.clock import SystemClock
    from agent_ls.services.permissions.trust import trusted_by_variable
    from agent_ls.services.settings.state_folder import not_stored, state_folder
    from agent_ls.store.trust import TrustStore

    store = TrustStore(state_folder())
    if options.verb == "list" and options.json:
        print_json({"path": it.path, "trust": it.trust, "decided": it.decided} for it in store.folders())
        print_json({"path": place, "trust": "trusted", "decided": ""} for place in trusted_by_variable())
        return 0
    if options.verb == "list":
        for known in store.folders():
            print(to_single_row(f"{known.trust:10}  {known.path}  (since {known.decided})"))
        for place in trusted_by_variable():
            print(to_single_row(f"{'trusted':10}  {place} and below  (AGENT_LS_TRUSTED_FOLDERS)"))
        if not store.folders() and not trusted_by_variable():
            print("you have not decided about any folder: `agent-ls trust add` trusts this one")
        return 0
    named, (trust, _) = str(options.folder), VERBS[options.verb]
    folder = named if is_place_name(named) else str(options.folder.absolute())
    try:
        if trust is None:
            was_known = store.delete_decision(folder)
            print(
                f"{folder}: "
                + (
                    "the decision was removed, so you are asked again"
                    if was_known
                    else "you have not decided whether to trust this folder"
                )
            )
            return 0 if was_known else 1
        store.store_decision(folder, "trusted" if trust == "trusted" else "restricted", SystemClock().now())
    except OSError as error:
        if error.filename != folder:
            return print_error("trust", not_stored("the decision", error))
        print(f"agent-ls trust: {folder}: {error.strerror or error}", file=sys.stderr)
        return 2
    print(f"{trust}: {folder}")
    return 0
