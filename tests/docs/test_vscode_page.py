"""Compare docs/vscode.md with package.json, and the settings in package.json with those of the server."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from agent_ls._version import __version__
from agent_ls.services.settings.model import Settings
from agent_ls.services.settings.schema import settings_schema
from tests.docs.pages import read, table

MANIFEST: dict[str, Any] = json.loads(read("vscode-extension/package.json"))
CONTRIBUTES = MANIFEST["contributes"]
DECLARED: dict[str, dict[str, Any]] = CONTRIBUTES["configuration"]["properties"]
ANY_SCOPE = {"agentLs.notify", "agentLs.codeLens"}
"""Settings that a workspace may set: they cost no money, grant no rights and start no program."""
NOT_OFFERED = {"walkthroughPauseMs", "place"}
"""Settings of the server that are for its tests and its demo, or count in the user's own settings file only."""


def test_the_settings_and_defaults_on_the_page_match_the_extension() -> None:
    rows = table(read("docs/vscode.md"), "setting")
    listed = {row[0].strip("`"): json.loads(row[1].strip("`")) for row in rows}

    assert listed == {name: setting["default"] for name, setting in DECLARED.items()}


@pytest.mark.req("H17")
def test_a_workspace_cannot_change_settings_that_spend_money_permit_actions_or_run_programs() -> None:
    restricted = MANIFEST["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
    guarded = {name for name, setting in DECLARED.items() if setting["scope"] in ("machine", "application")}

    assert guarded == set(restricted) == set(DECLARED) - ANY_SCOPE
    assert list(DECLARED)[-len(ANY_SCOPE) :] == sorted(ANY_SCOPE, reverse=True), "the page says: the last two"


def test_the_extension_declares_each_server_setting_with_the_default_of_the_server() -> None:
    known = Settings().model_dump(by_alias=True)
    declared = {name.removeprefix("agentLs."): setting["default"] for name, setting in DECLARED.items()}

    assert set(known) - NOT_OFFERED <= set(declared)
    for name in set(known) - NOT_OFFERED:
        assert declared[name] == ("" if known[name] is None else known[name]), name


def test_the_extension_sends_each_declared_server_setting_to_the_server() -> None:
    (listed,) = re.findall(
        r"SERVER_SETTINGS = \[(.*?)\]", read("vscode-extension/src/settings/settings.ts"), re.DOTALL
    )
    known = set(Settings().model_dump(by_alias=True))

    assert set(re.findall(r'"(\w+)"', listed)) == known - NOT_OFFERED - {"notify"}  # which it follows itself


@pytest.mark.req("H2")
def test_types_and_limits_of_the_extension_settings_match_the_settings_schema() -> None:
    schema = settings_schema()
    for name in set(schema["properties"]) - NOT_OFFERED:
        assert _facts(DECLARED[f"agentLs.{name}"]) == _facts(_whole(schema["properties"][name], schema)), name


def _whole(one: Any, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a setting with its reference resolved, and without the alternative `null`."""
    found: dict[str, Any] = next((item for item in one.get("anyOf", ()) if item["type"] != "null"), one)
    reference = found.get("$ref", "").rpartition("/")[2]
    return {**found, **(schema["$defs"][reference] if reference else {})}


def _facts(one: dict[str, Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {
        name: one[name] for name in ("type", "enum", "minimum", "maximum") if name in one
    }
    if one["type"] == "object" and "properties" in one:
        assert one["additionalProperties"] is False
        facts["properties"] = {name: _facts(inner) for name, inner in one["properties"].items()}
    if one["type"] == "array":
        facts["items"] = one["items"]["type"]
    return facts


@pytest.mark.req("H17")
def test_the_extension_runs_on_the_workspace_host_and_excludes_virtual_workspaces() -> None:
    assert MANIFEST["extensionKind"] == ["workspace"]
    assert MANIFEST["capabilities"]["untrustedWorkspaces"]["supported"] == "limited"
    assert MANIFEST["capabilities"]["virtualWorkspaces"]["supported"] is False


def test_the_extension_and_its_server_have_one_version() -> None:
    assert MANIFEST["version"] == __version__


def test_the_getting_started_steps_refer_to_existing_commands_and_pages() -> None:
    commands = {command["command"] for command in CONTRIBUTES["commands"]}
    steps = [step for guide in CONTRIBUTES["walkthroughs"] for step in guide["steps"]]

    for step in steps:
        assert read(f"vscode-extension/{step['media']['markdown']}")
        named = [word for word in step["completionEvents"] if word.startswith("onCommand:")]
        assert {word.removeprefix("onCommand:") for word in named} <= commands, step["id"]
        link = step["description"].rpartition("(command:")[2].partition("?")[0].rstrip(")")
        assert link in commands or link.startswith("workbench."), step["id"]


def test_the_lock_files_of_the_extension_contain_no_registry_urls() -> None:
    for lock in ("vscode-extension/package-lock.json", ".ci/vsce/package-lock.json"):
        assert '"resolved": "http' not in read(lock), (
            f"{lock}: npm config set omit-lockfile-registry-resolved true"
        )
