"""The command line: import the module of a command, run it, and turn errors into one line and an exit code."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Protocol, cast

from agent_ls._version import __version__
from agent_ls.cli.parser import Parser
from agent_ls.lean_imports import make_lean
from agent_ls.system import (
    INTERRUPTED,
    configure_output_encoding,
    exit_on_termination,
    quick_exit,
    raise_files_limit,
)


class CommandModule(Protocol):
    """Interface of the modules in this package that define one command each."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, options: argparse.Namespace) -> int: ...


COMMANDS = {
    "serve": "the language server, over stdio, TCP or WebSocket",
    "acp": "the agent for clients of the Agent Client Protocol (Zed, JetBrains, …), over stdio",
    "panel": "the chat page in a browser on this machine, for the sessions of your running editors",
    "exec": "run one prompt in this folder, without an editor",
    "batch": "run many tasks of a file, several at a time, and continue where a run was stopped",
    "demo": "a complete session on a sample project; needs no API key",
    "sessions": "stored sessions: list, show, export, delete",
    "blame": "who wrote each line of a file: you or the agent, and for which message",
    "models": "list usable models, and why other models cannot be used",
    "keys": "store, list and remove API keys",
    "policy": "explain whether a command would be allowed; list and remove your stored rules",
    "trust": "which folders you trust: list, add, restrict, forget",
    "tools": "the tools that you defined in YAML, and what is wrong with them",
    "skills": "list the skills and commands in files, and what is wrong with them",
    "hooks": "list your hooks and those of this project, and confirm the latter",
    "mcp": "servers of the Model Context Protocol: list, add, remove, import, login, test",
    "nvim-path": "print the folder of the Neovim plugin, for 'runtimepath' or a plugin manager",
    "apply-patch": "apply a v4a patch to the files below this folder, all or nothing",
    "protocol": "the messages between editors and agent-ls, for programs",
    "config": "where your settings are, and the schema of all settings",
    "doctor": "check keys, providers, programs and folders",
    "docs": "print a page of the documentation",
    "replay": "replay a recorded session without network, and report differences",
    "export": "redact a recording so that it can be shared",
    "completions": "print completions of these commands for bash, zsh or fish",
}
"""The commands, in the order of the help, each with its help text."""


_SERVERS = ("serve", "acp")
"""Server commands. They start before the other modules of the command line are imported."""

_OWN_OUTPUT = ("serve", "acp", "exec")
"""Commands that write output for programs, or that have options for the output format."""

_PRINTING = frozenset({"--login", "--help", "-h"})
"""Options that make a server command print text for the user and end, instead of serving."""

_OWN_STYLE = ("exec", "batch", "demo")
"""Commands that colour their output and remove control characters from it themselves."""

_JSON = ("protocol", "config", "export")
"""Commands that always print JSON."""


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    wanted = next((word for word in arguments if not word.startswith("-")), "")
    if (not wanted and not arguments) or (not wanted and {"--help", "-h"} & set(arguments)):
        from agent_ls.cli.first_page import first_page
        from agent_ls.cli.output import run_checked

        configure_output_encoding()
        page = first_page(COMMANDS, is_short=not arguments)
        return run_checked(lambda: print(page) or 0, str)
    parser = build_parser(lambda name: name == wanted)
    if wanted not in COMMANDS:
        from agent_ls.cli.first_page import PROMPT_HINT, unknown_command

        parser.hint = PROMPT_HINT
        if wanted and not arguments[0].startswith("-"):
            print(unknown_command(wanted, COMMANDS), file=sys.stderr)
            return 2
        if wanted:
            parser.refuse(arguments[:1])
    if wanted not in _OWN_OUTPUT:
        configure_output_encoding()
    if wanted in _SERVERS and not _PRINTING.intersection(arguments):
        if sys.stdout is None or sys.stdin is None:
            name = "input" if sys.stdin is None else "output"
            print(f"agent-ls {wanted}: standard {name} is closed; start it from an editor", file=sys.stderr)
            return 1
        return _run(parser, arguments)
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # as long as the process
    end = quick_exit() if argv is None else int
    if argv is None:
        make_lean(speaks_lsp=False)
    from agent_ls.cli.output import run_checked

    exit_on_termination()
    try:
        return end(
            run_checked(lambda: _run(parser, arguments), _output_cleaner(wanted, arguments), _path_note)
        )
    except KeyboardInterrupt:
        return end(INTERRUPTED)
    except OSError as error:
        from agent_ls.cli.output import report_disk

        code = report_disk(error)
        if not code:
            raise
        return end(code)


def build_parser(is_complete: Callable[[str], bool]) -> Parser:
    """Return the parser of the command line. Only commands for which `is_complete` is true have their options.

    A server starts faster if the modules of the other commands are not imported.
    """
    parser = Parser(
        prog="agent-ls",
        description="A coding agent inside a language server (LSP), for your editor and for the command line.",
    )
    parser.add_argument("--version", action="version", version=f"agent-ls {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, words in COMMANDS.items():
        sub = commands.add_parser(name, help=words, description=words)
        if is_complete(name):
            _import_command(name).add_arguments(sub)
    return parser


def _path_note() -> str:
    from agent_ls.cli.own_command import path_note

    return path_note()


def _run(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> int:
    options = parser.parse_args(arguments)
    if options.command in ("serve", "exec", "batch"):
        raise_files_limit()
    return _import_command(options.command).run(options)


def _output_cleaner(wanted: str, arguments: Sequence[str]) -> Callable[[str], str]:
    """Return the function that makes the output of the command `wanted` safe to display.

    Control characters are removed in text and escaped in JSON. The output of commands in _OWN_STYLE is not changed
    here.
    """
    if wanted in _OWN_STYLE:
        return str
    if wanted in _JSON or "--json" in arguments or any(word in arguments for word in ("jsonl", "calls")):
        from agent_ls.cli.output import escaped_json

        return escaped_json
    from agent_ls.text import strip_controls

    return strip_controls


def _import_command(name: str) -> CommandModule:
    return cast("CommandModule", importlib.import_module(f"agent_ls.cli.{name.replace('-', '_')}"))


if __name__ == "__main__":
    sys.exit(main())
