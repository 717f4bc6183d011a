"""docs/headless.md names the options of the command line, and every command on every page can be parsed."""

from __future__ import annotations

import argparse
import importlib
import re
import shlex
from typing import Any

import pytest

from agent_ls.cli import exec as exec_command
from agent_ls.cli.main import COMMANDS
from agent_ls.headless.outcome import DONE, FAILED, LIMIT, REFUSED, USAGE
from agent_ls.policy.modes import MODES
from agent_ls.system import INTERRUPTED
from tests.docs.pages import blocks, code_words, read, repository_files, table

PAGE = read("docs/headless.md")
PAGES = [
    name for name in repository_files() if re.fullmatch(r"(README|docs/[\w-]+|editors/[\w-]+)\.md", name)
]
_COMMAND = re.compile(r"(?:^|[|;]\s*|\s)(?:\S*/)?agent-ls\s+([a-z].*)$")


class Refused(Exception):
    pass


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]  # raises where the original exits
        raise Refused(message)


def command_module(name: str) -> Any:
    return importlib.import_module(f"agent_ls.cli.{name.replace('-', '_')}")


def parser() -> Parser:
    made = Parser()
    commands = made.add_subparsers(required=True, parser_class=Parser)
    for name in COMMANDS:
        command_module(name).add_arguments(commands.add_parser(name))
    return made


def options_of(command: argparse.ArgumentParser) -> set[str]:
    return {
        option
        for action in command._actions  # argparse has no other way to ask
        for option in action.option_strings
        if option.startswith("--") and option != "--help"
    }


def command_lines() -> list[tuple[str, str]]:
    """Return (page, arguments of agent-ls) for each command line on a page."""
    lines = [
        (name, line.partition("  #")[0].rstrip())
        for name in PAGES
        for block in blocks(read(name), "sh")
        for line in block.text.splitlines()
    ]
    lines += [
        (name, word) for name in PAGES for word in code_words(read(name)) if word.startswith("agent-ls ")
    ]
    found = [(name, match[1].partition(" | ")[0]) for name, line in lines if (match := _COMMAND.search(line))]
    # A command's name without arguments is left out, because it may be a mention in a sentence.
    return sorted({(name, words) for name, words in found if " " in words or words not in COMMANDS})


@pytest.mark.req("H13")
def test_the_exec_options_on_the_page_match_the_parser() -> None:
    command = argparse.ArgumentParser()
    exec_command.add_arguments(command)
    rows = table(PAGE, "option")
    documented = {row[0].strip("`").split()[0] for row in rows}

    assert documented == options_of(command) - {"--approve"}
    values = {words[1] for row in rows if (words := row[0].strip("`").split())[0] == "--mode"}
    assert values == set(MODES)


def test_the_exit_codes_on_the_page_match_exec() -> None:
    assert [int(row[0]) for row in table(PAGE, "exit code")] == [
        DONE,
        FAILED,
        USAGE,
        REFUSED,
        LIMIT,
        INTERRUPTED,
    ]


def test_every_option_of_sessions_demo_and_apply_patch_is_on_the_page() -> None:
    for name in ("sessions", "demo", "apply-patch"):
        command = argparse.ArgumentParser()
        command_module(name).add_arguments(command)
        missing = [option for option in options_of(command) if option not in PAGE]
        assert not missing, f"agent-ls {name}: {missing}"


def test_every_agent_ls_command_line_in_the_docs_is_accepted_by_the_parser() -> None:
    made, lines = parser(), command_lines()
    assert lines
    for page, words in lines:
        try:
            made.parse_args(shlex.split(words))
        except Refused as error:
            pytest.fail(f"{page}: agent-ls {words}: {error}")
