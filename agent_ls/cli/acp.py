"""agent-ls acp: define the arguments, and start the ACP agent or the login."""

from __future__ import annotations

import argparse
import sys

from agent_ls.cli.waiting import name_client


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--login", action="store_true", help="choose a provider, enter its API key, and end")
    parser.add_argument(
        "--preview-v2",
        action="store_true",
        help="answer version 2 of the protocol, which is a draft, to clients that ask for it",
    )


def run(options: argparse.Namespace) -> int:
    if options.login:
        return _login()
    name_client("acp", "a client of the Agent Client Protocol", "acp")
    from agent_ls.acp.start import main

    return main(has_preview=options.preview_v2)


def _login() -> int:
    """Ask the user for a provider and its API key, and store the key like `agent-ls keys set`. ACP clients open
    a terminal for the login.
    """
    from agent_ls.cli.keys import run as keys
    from agent_ls.llm.credentials import KEYLESS, VARIABLES

    names = [name for name in VARIABLES if name not in KEYLESS]
    print(f"Providers: {', '.join(names)}")
    print("Provider: ", end="", flush=True)
    provider = sys.stdin.readline().strip()
    if not provider:
        print("agent-ls: no provider was named; nothing is changed", file=sys.stderr)
        return 1
    return keys(argparse.Namespace(action="set", provider=provider))
