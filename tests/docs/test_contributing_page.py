"""CONTRIBUTING.md: each path in it exists, and its checklists name each file that a change of that kind must update."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest
from pydantic.alias_generators import to_camel

from agent_ls.features.slash_commands import NAMES
from agent_ls.server.features.routes import ROUTES
from agent_ls.services.settings.model import Settings
from tests.docs.pages import ROOT, code_words, read, section, table
from tests.tools.protocol_docs import EVENTS

PAGE = read("CONTRIBUTING.md")
MAP = table(PAGE, "question")
CHECKLISTS = (
    "A provider", "A tool", "An event", "A request", "A setting", "A slash command", "A policy rule",
    "An environment",
)  # fmt: skip
_PATH = re.compile(r"(?:[\w.-]+/)+[\w.-]*")


def are_paths(text: str) -> bool:
    """Return whether the text names paths, and each exists."""
    paths = [word for word in code_words(text) if _PATH.fullmatch(word)]
    return bool(paths) and all((ROOT / path).exists() for path in paths)


def test_each_answer_in_the_question_table_names_existing_paths() -> None:
    assert len({row[0] for row in MAP}) >= 25
    assert [row for row in MAP if not are_paths(row[1])] == []


@pytest.mark.parametrize("name", CHECKLISTS)
def test_checklist_names_existing_paths(name: str) -> None:
    assert are_paths(section(PAGE, f"### {name}"))


def assert_each_is_in(names: Iterable[str], file: str, checklist: str) -> None:
    assert file in section(PAGE, f"### {checklist}"), f"the checklist '{checklist}' has to name {file}"
    text = read(file)
    missing = [name for name in names if name not in text]
    assert missing == [], f"{file} lacks {missing}: follow the checklist '{checklist}' of CONTRIBUTING.md"


@pytest.mark.parametrize(
    "file",
    [
        "tests/golden/protocol/session.json",
        "docs/protocol/events.md",
        "editors/nvim/lua/agent_ls/wire/events.lua",
        "editors/nvim/lua/agent_ls/reducers.lua",
    ],
)
def test_every_event_kind_is_in_the_files_of_its_checklist(file: str) -> None:
    assert_each_is_in(EVENTS, file, "An event")


@pytest.mark.parametrize(
    "file",
    [
        "tests/golden/protocol/requests.json",
        "docs/protocol/requests.md",
        "editors/nvim/lua/agent_ls/wire/requests.lua",
    ],
)
def test_every_request_is_in_the_files_of_its_checklist(file: str) -> None:
    assert_each_is_in((route.params.method for route in ROUTES.values()), file, "A request")


@pytest.mark.parametrize("file", ["docs/configuration.md", "vscode-extension/package.json"])
def test_every_setting_is_in_the_files_of_its_checklist(file: str) -> None:
    for_tests_only = {"walkthrough_pause_ms"} if file.endswith("package.json") else set()
    assert_each_is_in(
        (to_camel(name) for name in set(Settings.model_fields) - for_tests_only), file, "A setting"
    )


def test_every_slash_command_has_a_prompt_file() -> None:
    folder = ROOT / "agent_ls/features/slash_commands"

    assert {path.stem for path in folder.glob("*.md")} == set(NAMES)
