"""docs/configuration.md and the pages below it list the settings, policy decisions and places of the code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_ls.environments.effects import CommandEffect, Effect, PlannedWrite, ReadEffect, WriteEffect
from agent_ls.llm.client import _CODECS
from agent_ls.llm.credentials import VARIABLES
from agent_ls.policy.decide import judge
from agent_ls.policy.named_places import ACCOUNT_FILES, DENIED_FILES, DENIED_HOME_PLACES
from agent_ls.policy.places import Places
from agent_ls.policy.situation import Allow, Ask, Judgement, Refuse, Situation
from agent_ls.services.permissions.trust import TRUST_VARIABLE
from agent_ls.services.settings.layers import SETTINGS_VARIABLE
from agent_ls.services.settings.model import ContextSettings, ProviderSettings, Settings, parse_settings
from agent_ls.services.store_errors import STATE_VARIABLE
from agent_ls.store.layout import workspace_key
from agent_ls.store.log import FILE_MODE, FOLDER_MODE
from tests.docs.pages import code_words, read, section, table
from tests.support.commands import environment, run

PAGE = "".join(
    read(f"docs/{name}.md") for name in ("configuration", "permissions", "limits", "editor-settings")
)
MODES_PAGE = read("docs/modes.md")
HTTP_VARIABLES = {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE"}


# --- settings -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first_cell", "model"),
    [("setting", Settings), ("in a provider", ProviderSettings), ("in `context`", ContextSettings)],
    ids=str,
)
def test_the_settings_and_defaults_on_the_page_match_the_code(
    first_cell: str, model: type[Settings | ProviderSettings | ContextSettings]
) -> None:
    documented = {row[0].strip("`"): row[1].strip("`") for row in table(PAGE, first_cell)}
    defaults = model().model_dump(by_alias=True)

    assert {
        name: None if words == "none" else json.loads(words) for name, words in documented.items()
    } == defaults


def test_the_page_says_for_each_setting_when_a_change_applies() -> None:
    documented = [word for row in table(PAGE, "a change of") for word in code_words(row[0])]

    assert sorted(documented) == sorted(Settings().model_dump(by_alias=True))


def test_the_environment_variables_on_the_page_match_the_code() -> None:
    documented = {word for row in table(PAGE, "variable") for word in code_words(row[0])}
    rows = [VARIABLES[name] for name in _CODECS]

    wanted = {name for row in rows for name in (*row.keys, row.base_url, *row.headers.values())}
    assert documented == wanted | HTTP_VARIABLES | {STATE_VARIABLE, TRUST_VARIABLE, SETTINGS_VARIABLE}


@pytest.mark.req("R5")
@pytest.mark.parametrize(
    ("raw", "kept", "problem"),
    [
        ({"maxTurns": -1, "model": "m"}, {"model": "m"}, "agentLs.maxTurns"),
        ({"colour": "red", "model": "m"}, {"model": "m"}, "agentLs.colour: there is no such setting"),
        (
            {"providers": {"openai": {"baseUrl": "http://localhost:1", "header": {}}}},
            {"providers": {"openai": {"baseUrl": "http://localhost:1"}}},
            "agentLs.providers.openai.header: there is no such setting",
        ),
        (
            {"providers": {"openai": {"headers": {"a": 1, "b": "2"}}, "anthropic": {"caFile": "x.pem"}}},
            {"providers": {"openai": {"headers": {"b": "2"}}, "anthropic": {"caFile": "x.pem"}}},
            "agentLs.providers.openai.headers.a",
        ),
    ],
)
def test_an_invalid_setting_is_reported_and_the_others_apply(
    raw: dict[str, object], kept: dict[str, object], problem: str
) -> None:
    before = json.dumps(raw)

    settings, problems = parse_settings(raw)

    assert settings == Settings.model_validate(kept)
    (said,) = problems
    assert said.startswith(problem) and said.endswith("; it is ignored")
    assert json.dumps(raw) == before


# --- what is asked --------------------------------------------------------------------------------------------

ROOT, HOME = "/home/ada/shop", "/home/ada"
EFFECTS: dict[str, Effect] = {
    "reads": ReadEffect((f"{ROOT}/a.py",)),
    "edits": WriteEffect((PlannedWrite(f"{ROOT}/a.py", "modify", "", "k"),)),
    "commands": CommandEffect("python -m unittest", ROOT),
}


def kind_of(judgement: Judgement) -> str:
    return {Allow: "go ahead", Refuse: "are refused", Ask: "approval"}[type(judgement)]


def test_the_mode_table_on_the_page_matches_the_policy() -> None:
    rows = table(MODES_PAGE, "mode")

    assert [row[0].strip("`") for row in rows] == ["plan", "ask", "edits", "full"]
    for mode, *cells in rows:
        situation = Situation(mode.strip("`"), Places((ROOT,), HOME))  # type: ignore[arg-type]  # one of the four, see above
        for effect, cell in zip(EFFECTS.values(), cells, strict=True):
            assert kind_of(judge(effect, situation)) in cell, f"{mode}: {effect} {cell}"


ASKED_ABOUT = [
    ReadEffect(("/elsewhere/a.py",)),
    WriteEffect((PlannedWrite("/elsewhere/a.py", "modify", "", "k"),)),
    WriteEffect((PlannedWrite(f"{ROOT}/a.py", "delete", "", "k"),)),
    *(
        WriteEffect((PlannedWrite(f"{ROOT}/{name}", "modify", "", "k"),))
        for name in (
            ".git/config",
            ".vscode/settings.json",
            ".github/workflows/ci.yml",
            "AGENTS.md",
            ".bashrc",
        )
    ),
    CommandEffect("make", "/elsewhere"),
]


@pytest.mark.req("X8")
@pytest.mark.parametrize("effect", ASKED_ABOUT, ids=str)
def test_actions_that_the_page_lists_need_approval_in_mode_full(
    effect: ReadEffect | WriteEffect | CommandEffect,
) -> None:
    assert isinstance(judge(effect, Situation("full", Places((ROOT,), HOME))), Ask)


def test_commands_in_the_table_of_what_mode_full_asks_about_need_approval_in_every_mode() -> None:
    rows = {action: (examples, answer) for action, examples, answer in table(MODES_PAGE, "action")}
    words = [
        word.replace("…", "x").replace("\\|", "|")
        for action, (examples, answer) in rows.items()
        if answer.startswith("yes") and not action.startswith(("secrets", "places", "web", "lines"))
        for word in code_words(examples)
    ]
    assert len(words) > 20
    for word in words:
        asked = judge(CommandEffect(word, ROOT), Situation("full", Places((ROOT,), HOME)))
        assert isinstance(asked, Ask) and asked.needs_approval_in_every_mode, word


@pytest.mark.req("X6", "X8")
def test_writes_to_sensitive_files_on_the_page_need_approval_in_the_documented_modes() -> None:
    for _, examples, modes in table(section(PAGE, "## Sensitive files"), "group"):
        for name in code_words(examples):
            effect = WriteEffect((PlannedWrite(f"{ROOT}/{name}", "modify", "", "k"),))
            by_mode = {
                mode: judge(effect, Situation(mode, Places((ROOT,), HOME))) for mode in ("edits", "full")
            }
            assert isinstance(by_mode["edits"], Ask), name
            assert isinstance(by_mode["full"], Allow if "but" in modes else Ask), name


@pytest.mark.req("X6")
def test_reading_the_credential_paths_on_the_page_is_refused() -> None:
    places = [word for word in code_words(section(PAGE, "## Credentials")) if word[0] in "~/"]

    named = (*(f"~/{name}" for name in DENIED_HOME_PLACES), *DENIED_FILES, *ACCOUNT_FILES)
    assert sorted(places) == sorted(named)
    for place in places:
        refused = judge(ReadEffect((place.replace("~", HOME),)), Situation("full", Places(("/", HOME), HOME)))
        assert isinstance(refused, Refuse), place


# --- where things are -----------------------------------------------------------------------------------------


@pytest.mark.req("R7")
def test_a_session_writes_only_state_files_that_the_page_lists(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    documented = {
        row[0].strip("`").rstrip("/") for row in table(section(PAGE, "## Where things are"), "path")
    }

    done = run(
        "exec",
        "--provider",
        "walkthrough",
        "--mode",
        "full",
        "fix it",
        cwd=project,
        environ=environment(home),
    )

    assert done.code == 0, done
    state, session = home / "state", done.err.split()[-1]
    for path in sorted(state.rglob("*")):
        assert path.stat().st_mode & 0o777 == (FOLDER_MODE if path.is_dir() else FILE_MODE), path
        place = (
            str(path.relative_to(state)).replace(workspace_key(str(project)), "KEY").replace(session, "ID")
        )
        known = [name.removeprefix("STATE/") for name in documented]
        assert any(
            place == name or name.startswith(f"{place}/") or place.startswith(f"{name}/") for name in known
        ), place
    assert {"STATE/workspaces/KEY/workspace.json", "STATE/workspaces/KEY/sessions/ID/log.jsonl"} <= documented
