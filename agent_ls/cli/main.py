"""The command line: finds the command, imports its face, and turns its errors into one line and an exit code."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import Protocol, cast

from agent_ls._version import __version__
from agent_ls.system import speak_plainly


class Command(Protocol):
    """A module of this package."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, options: argparse.Namespace) -> int: ...


COMMANDS = (
    "serve",
    "exec",
    "demo",
    "sessions",
    "models",
    "keys",
    "policy",
    "trust",
    "tools",
    "apply-patch",
    "protocol",
    "config",
    "doctor",
    "replay",
    "export",
)


_OWN_OUTPUT = ("serve", "exec")
"""Their output is read by programs, or is of the kind that an option says."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="agent-ls", description="A coding agent that lives in the editor's own protocol."
    )
    parser.add_argument("--version", action="version", version=f"agent-ls {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    arguments = list(sys.argv[1:] if argv is None else argv)
    wanted = next((word for word in arguments if not word.startswith("-")), "")
    for name in COMMANDS:
        sub = commands.add_parser(name, help=_HELP[name], description=_HELP[name])
        # Only the command that was asked for is imported: starting the server must not load the others.
        if name == wanted:
            _module(name).add_arguments(sub)
    if wanted not in _OWN_OUTPUT:
        speak_plainly()
    options = parser.parse_args(arguments)
    return _module(options.command).run(options)


_HELP = {
    "serve": "the language server, over stdio, TCP or WebSocket",
    "exec": "work off one input in this folder, without an editor",
    "demo": "a whole session on a sample project, with no API key",
    "sessions": "stored sessions: list, show, export, delete",
    "models": "which models can be used now, and why the others cannot",
    "keys": "keep, list and forget API keys",
    "policy": "what becomes of a command, and the rules that you stored",
    "trust": "which folders you trust: list, add, restrict, forget",
    "tools": "the tools that you defined in YAML, and what is wrong with them",
    "replay": "a recorded session again, without network; says what differs",
    "export": "a recording made fit to be shown to others",
    "apply-patch": "apply a v4a patch to the files below this folder, all or nothing",
    "doctor": "what is there and what is missing: keys, providers, programs, folders",
    "config": "the settings of an editor's section agentLs, for programs",
    "protocol": "the messages between editors and agent-ls, for programs",
}


def _module(name: str) -> Command:
    return cast("Command", importlib.import_module(f"agent_ls.cli.{name.replace('-', '_')}"))


if __name__ == "__main__":
    sys.exit(main())
