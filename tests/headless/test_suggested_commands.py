"""Every command line that a message of agent-ls suggests exists: its command, its action and its options."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

import pytest

from agent_ls.cli.first_page import unknown_command
from agent_ls.cli.main import COMMANDS, build_parser
from agent_ls.cli.other_words import OTHER_COMMANDS
from tests.docs.pages import nodes
from tests.test_messages import sources, text_of

pytestmark = pytest.mark.req("R5")
_SUGGESTED = re.compile(r"`agent-ls ([^`]+)`")
PARSER = build_parser(lambda name: True)


def suggestions() -> Iterator[tuple[str, str]]:
    """Yield the place and the words after `agent-ls` of each command line in a literal text."""
    for name, _ in sources():
        for node in nodes(f"agent_ls/{name}"):
            for words in _SUGGESTED.findall(text_of(node) or "" if hasattr(node, "lineno") else ""):  # type: ignore[arg-type]
                yield f"{name}:{getattr(node, 'lineno', 0)}: {words}", words


def find_problem(words: str) -> str:
    """Return what does not exist in the words after `agent-ls`, "" if all of them may."""
    parser: argparse.ArgumentParser = PARSER
    options = set(parser._option_string_actions)
    for word in words.split():
        if word == "--":
            return ""
        if word.startswith("-"):
            if word.partition("=")[0] not in options:
                return f"no option {word}"
        elif inner := next(
            (it for it in parser._actions if isinstance(it, argparse._SubParsersAction)), None
        ):
            if word in ("x", "…") or word.isupper():
                return ""
            if word not in inner.choices:
                return f"no command or action {word}"
            parser = inner.choices[word]
            options |= set(parser._option_string_actions)
    return ""


def test_each_suggested_command_line_exists() -> None:
    found = dict(suggestions())
    assert len(found) > 50
    assert not {place: problem for place, words in found.items() if (problem := find_problem(words))}


def test_a_wrong_suggestion_is_found() -> None:
    assert find_problem("sessions exprt") and find_problem("exec --reprot") and find_problem("exprt")


@pytest.mark.parametrize("name", OTHER_COMMANDS)
def test_other_names_of_what_commands_do_lead_to_the_command(name: str) -> None:
    assert name not in COMMANDS
    said = unknown_command(name, COMMANDS)
    assert OTHER_COMMANDS[name] in said and not find_problem(OTHER_COMMANDS[name])
