"""agent-ls keys: store, list and remove API keys. Keys themselves are never displayed."""

from __future__ import annotations

import argparse
import sys

from agent_ls.cli.output import add_json_option, print_error, print_json
from agent_ls.services.errors import AppError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    keep = actions.add_parser(
        "set", help="store a provider's key, typed at a prompt or read from standard input"
    )
    keep.add_argument("provider", metavar="PROVIDER")
    add_json_option(actions.add_parser("list", help="list the providers with a key, and where it is stored"))
    drop = actions.add_parser("remove", help="remove a provider's stored key")
    drop.add_argument("provider", metavar="PROVIDER")


def run(options: argparse.Namespace) -> int:
    try:
        return {"set": _set, "list": _list, "remove": _remove}[options.action](options)
    except AppError as error:
        return print_error("keys", error)


def _set(options: argparse.Namespace) -> int:
    from getpass import getpass

    from agent_ls.services.models.key_store import KeyStore, open_ring

    is_typed = sys.stdin.isatty()
    secret = getpass(f"Key of {options.provider}: ") if is_typed else sys.stdin.readline()
    kept = KeyStore(ring=open_ring()).set(options.provider, secret)
    print(f"The key of {kept.provider} is in {kept.location}.")
    return 0


def _list(options: argparse.Namespace) -> int:
    from agent_ls.llm.credentials import Credentials, key_variable
    from agent_ls.services.models.key_store import KeyStore

    environment = Credentials.from_environment().providers
    rows = [(name, f"the environment ({key_variable(name)})") for name in environment]
    rows += [
        (key.provider, _describe_location(key.location, key.provider in environment))
        for key in KeyStore().list_keys()
    ]
    if options.json:
        print_json({"provider": provider, "location": location} for provider, location in rows)
        return 0
    for provider, location in rows:
        print(f"{provider:12}  {location}")
    if not rows:
        print(
            "no keys: store one with `agent-ls keys set PROVIDER`, or set the provider's environment variable"
        )
    return 0


def _describe_location(location: str, is_hidden: bool) -> str:
    return f"{location}; not used: the environment variable takes precedence" if is_hidden else location


def _remove(options: argparse.Namespace) -> int:
    from agent_ls.services.models.key_store import KeyStore, open_ring

    if not KeyStore(ring=open_ring()).remove(options.provider):
        print(f"no key of {options.provider} is stored", file=sys.stderr)
        return 1
    print(f"The key of {options.provider} was removed.")
    return 0
