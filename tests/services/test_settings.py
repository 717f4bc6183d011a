from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_ls.services.settings.model import Settings, parse_settings
from tests.support.editor import Editor, new_key
from tests.support.framed_client import server_process

HOLDS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"maxTurns": 3, "mode": "edits"}, {"max_turns": 3, "mode": "edits"}),
    ({"max_turns": 3}, {"max_turns": 3}),
    ({"effort": None}, {"effort": None}),
    (
        {"providers": {"anthropic": {"baseUrl": "http://localhost:1", "headers": {"X-Team": "a"}}}},
        {"providers": {"anthropic": {"base_url": "http://localhost:1", "headers": {"X-Team": "a"}}}},
    ),
]


@pytest.mark.req("H2")
@pytest.mark.parametrize(("raw", "expected"), HOLDS)
def test_valid_settings_apply_with_camel_case_or_snake_case_names(
    raw: dict[str, Any], expected: dict[str, Any]
) -> None:
    settings, problems = parse_settings(raw)
    assert settings == Settings(**expected) and problems == []


# GOOD is added to each case, because an invalid setting must not affect the valid ones.
GOOD = {"model": "m", "maxTurns": 7}
URL = "http://localhost:1"

WRONG: list[tuple[str, dict[str, Any], list[list[str]], dict[str, Any]]] = [
    (
        "unknown",
        {"maxTurn": 1},
        [["agentLs.maxTurn:", "there is no such setting", "did you mean maxTurns?"]],
        {},
    ),
    (
        "unknown in a section, whose names are listed",
        {"retry": {"attempts": 1}},
        [["agentLs.retry.attempts:", "maxRetries"]],
        {},
    ),
    ("wrong type", {"effort": 3}, [["agentLs.effort", "string"]], {}),
    ("null where there is none", {"userInstructions": None}, [["agentLs.userInstructions"]], {}),
    ("out of range", {"maxToolRoundsPerInput": -1}, [["agentLs.maxToolRoundsPerInput", "greater"]], {}),
    ("no such mode", {"mode": "yolo"}, [["agentLs.mode", "plan"]], {}),
    ("two at once", {"mode": 1, "effort": []}, [["agentLs.mode"], ["agentLs.effort"]], {}),
    ("by its other name", {"max_tool_rounds_per_input": "x"}, [["integer"]], {}),
    ("a list for a table", {"providers": ["anthropic"]}, [["agentLs.providers"]], {}),
    (
        "nested, the rest of the provider holds",
        {"providers": {"anthropic": {"baseUrl": URL, "headers": {"X": 1}}}},
        [["agentLs.providers.anthropic.headers.X"]],
        {"base_url": URL},
    ),
    (
        "nested twice",
        {"providers": {"anthropic": {"baseUrl": URL, "caFile": 1, "extra": 2}}},
        [
            ["agentLs.providers.anthropic.caFile"],
            ["agentLs.providers.anthropic.extra", "there is no such setting"],
        ],
        {"base_url": URL},
    ),
    (
        "one provider of two",
        {"providers": {"openai": 3, "anthropic": {"baseUrl": URL}}},
        [["agentLs.providers.openai"]],
        {"base_url": URL},
    ),
]


@pytest.mark.req("H2", "R5")
@pytest.mark.parametrize(
    ("wrong", "words", "provider"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG]
)
def test_invalid_settings_are_reported_and_the_others_apply(
    wrong: dict[str, Any], words: list[list[str]], provider: dict[str, Any]
) -> None:
    settings, problems = parse_settings({**GOOD, **wrong})
    assert (settings.model, settings.max_turns) == ("m", 7)
    assert len(problems) == len(words)
    for problem, expected in zip(sorted(problems), sorted(words), strict=True):
        assert all(word in problem for word in expected), problem
        assert problem.endswith("it is ignored")
    for name, value in provider.items():
        assert getattr(settings.providers["anthropic"], name) == value


@pytest.mark.req("H2", "R5")
async def test_editor_settings_apply_to_new_sessions_and_invalid_settings_are_displayed(
    tmp_path: Path,
) -> None:
    async with server_process() as server:
        editor = Editor(server.client)
        await editor.start(tmp_path, mode="plan", effort="high", maxTurn=1, providers={"openai": {"x": 1}})
        created = await server.client.request(
            "agent/newSession", {"clientKey": new_key(), "provider": "walkthrough"}
        )
        assert (created["session"]["mode"], created["session"]["effort"]) == ("plan", "high")
        shown = [
            message["params"]["message"]
            for message in server.client.received
            if message.get("method") == "window/showMessage"
        ]
    assert [problem.split(":")[0] for problem in shown] == ["agentLs.providers.openai.x", "agentLs.maxTurn"]


def test_parsing_settings_does_not_change_its_input() -> None:
    raw = {"providers": {"anthropic": {"caFile": 1}}, "nope": 1}
    parse_settings(raw)
    assert raw == {"providers": {"anthropic": {"caFile": 1}}, "nope": 1}
