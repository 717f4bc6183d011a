"""The scenarios S6.5 to S6.14 of the tool safety specification, each with real sessions on this machine."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_ls.headless.allowed import allow_listed, answerer
from agent_ls.llm.credentials import Credentials
from agent_ls.loop.events.types import ApprovalRequested, ToolCallEnd
from agent_ls.policy.situation import Mode
from agent_ls.services.settings.model import parse_settings
from tests.support.fake_provider import CallTool, tool_call
from tests.support.session_rig import DEADLINE_S, SessionRig, Talk, allow, deny, running, wait

SECRETS = {
    "ANTHROPIC_API_KEY": "sk-test-0123456789-abcdefghij",
    "GITHUB_TOKEN": "a-token-that-nobody-sees",
    "DB_PASSWORD": "a-password-that-nobody-sees",
    "SESSION_COOKIE": "by-no-pattern-a-secret",
}

# Prints its arguments and its environment variables.
SHOW = "import json, os, sys; print(json.dumps([sys.argv[1:], dict(os.environ)]))"


def call(name: str, **arguments: Any) -> CallTool:
    return tool_call(name, json.dumps(arguments), id=f"c-{name}")


def define(tmp_path: Path, *tools: dict[str, Any]) -> None:
    """Write the user's file of tool definitions. JSON is valid YAML."""
    (tmp_path / "state").mkdir(exist_ok=True)
    (tmp_path / "state" / "tools.yaml").write_text(json.dumps({"tools": tools}, indent=1))


def shower(name: str = "show", category: str = "write", **more: Any) -> dict[str, Any]:
    return {
        "name": name, "description": "Shows what it is given.", "category": category, "cmd": sys.executable,
        "args": ["-c", SHOW, "{{what}}"], "parameters": {"what": {"type": "string"}}, **more,
    }  # fmt: skip


async def ends(rig: SessionRig, talk: Talk) -> list[ToolCallEnd]:
    await talk.say("go")
    return talk.of(ToolCallEnd)


def shown(end: ToolCallEnd) -> tuple[list[str], dict[str, str]]:
    assert not end.is_error, end.output
    words, variables = json.loads(end.output)
    return words, variables


@pytest.mark.spec("safety S6.5")
@pytest.mark.req("X7")
@pytest.mark.parametrize(
    "command", ["rm -rf /", "rm -rf --no-preserve-root /", "sudo rm -rf /*", "mkfs.ext4 /dev/sda"]
)
async def test_a_dangerous_command_is_refused_in_mode_full_and_the_model_is_informed(
    command: str, tmp_path: Path
) -> None:
    async with running(tmp_path, [[call("shell", command=command)]]) as rig:
        talk = await rig.talk("full", allow)
        (end,) = await ends(rig, talk)
        assert (end.is_error, end.error_kind) == (True, "permission_denied")
        assert "never runs" in rig.results()[0].content
        assert talk.of(ApprovalRequested) == [], "it is refused, not asked about"


@pytest.mark.spec("safety S6.6")
@pytest.mark.req("X5", "T10")
@pytest.mark.parametrize("by", ["shell", "a tool of the user's"])
async def test_the_minimal_environment_has_nine_variables_and_no_secret(
    by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    define(tmp_path, shower())
    settings, _ = parse_settings({"commandEnvironment": {"inherit": "minimal"} if by == "shell" else {}})
    command = f"{shlex.quote(sys.executable)} -c '{SHOW}'"
    asked = call("shell", command=command) if by == "shell" else call("show", what="x")
    async with running(tmp_path, [[asked]], settings=settings) as rig:
        talk = await rig.talk("full", allow)
        (end,) = await ends(rig, talk)
    line = next(line for line in end.output.splitlines() if line.startswith("[["))
    names = set(json.loads(line)[1])
    allowed = set("PATH HOME USER LANG LC_ALL TERM SHELL TMPDIR TZ".split())
    of_the_shell = {"PWD", "SHLVL", "_", "LC_CTYPE"}  # bash and Python set these themselves
    assert {name for name in names if not name.startswith("AGENT_LS")} <= allowed | of_the_shell
    assert not any(value in end.output for value in SECRETS.values())


@pytest.mark.spec("safety S6.7")
@pytest.mark.req("T10")
async def test_a_yaml_tool_is_offered_and_can_be_called(
    tmp_path: Path,
) -> None:
    define(tmp_path, shower())
    async with running(tmp_path, [[call("show", what="hello")]]) as rig:
        talk = await rig.talk("full")
        (end,) = await ends(rig, talk)
        (offered,) = [tool for tool in rig.model.requests[0].tools if tool.name == "show"]
    assert shown(end)[0] == ["hello"]
    assert offered.description == "Shows what it is given."
    assert offered.parameters["required"] == ["what"]


HOSTILE_WORDS = [
    "pods; touch owned", "$(touch owned)", "`touch owned`", "a && touch owned", "| touch owned",
    "x\n touch owned", "'; touch owned; '", '"; touch owned; "', "*", "~", "$HOME", "a  b", "> owned", "",
]  # fmt: skip


@pytest.mark.spec("safety S6.8")
@pytest.mark.req("T10")
async def test_an_argument_with_shell_syntax_arrives_unchanged_as_one_word(tmp_path: Path) -> None:
    define(tmp_path, shower())
    async with running(tmp_path, [[call("show", what=text)] for text in HOSTILE_WORDS]) as rig:
        found = await ends(rig, await rig.talk("full", allow))
    assert [shown(end)[0] for end in found] == [[text] for text in HOSTILE_WORDS]
    assert not (tmp_path / "project" / "owned").exists()


@pytest.mark.spec("safety S6.9")
@pytest.mark.req("T10")
@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ({"enum": ["pods", "nodes"]}, "pods; rm -rf ~"),
        ({"pattern": "^[a-z-]+$"}, "pods; rm -rf ~"),
        ({"pattern": "[a-z]+"}, "pods; rm -rf ~"),
        ({"pattern": "[a-z]+"}, "pods\n"),
        ({"pattern": "a|b"}, "ab"),
        ({"maxLength": 4}, "pods; rm -rf ~"),
        ({}, "--kubeconfig=/etc/x"),
        ({}, "a\0b"),
    ],
)
async def test_a_tool_call_with_an_invalid_argument_does_not_run_and_the_model_is_informed(
    rule: dict[str, Any], text: str, tmp_path: Path
) -> None:
    touching = ["-c", "open('ran', 'w')", "{{what}}"]
    define(tmp_path, shower(args=touching, parameters={"what": {"type": "string", **rule}}))
    async with running(tmp_path, [[call("show", what=text)]]) as rig:
        talk = await rig.talk("full", allow)
        (end,) = await ends(rig, talk)
    assert (end.is_error, end.error_kind, "what" in end.output) == (True, "validation", True)
    assert not (tmp_path / "project" / "ran").exists()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    path = tmp_path / "outside.txt"
    path.write_text("the outside secret\n")
    return path


@pytest.mark.spec("safety S6.10")
@pytest.mark.req("X6")
@pytest.mark.parametrize("mode", ["plan", "ask", "full"])
async def test_read_file_outside_the_workspace_is_a_permission_error(
    mode: Any, outside: Path, tmp_path: Path
) -> None:
    async with running(tmp_path, [[call("read_file", file_path=str(outside))]]) as rig:
        (end,) = await ends(rig, await rig.talk(mode, deny))
        assert (end.is_error, end.error_kind) == (True, "permission_denied")
        assert "outside secret" not in str(rig.results())


@pytest.mark.spec("safety S6.11")
@pytest.mark.req("X6")
async def test_write_file_in_a_denied_folder_is_a_permission_error(
    tmp_path: Path,
) -> None:
    home = Path.home()  # the home folder of the test
    asked = call("write_file", file_path=str(home / ".ssh" / "config"), content="Host *\n")
    async with running(tmp_path, [[asked]]) as rig:
        talk = await rig.talk("full", allow, workspace_folder=str(home))
        (end,) = await ends(rig, talk)
    assert end.is_error and end.error_kind in ("permission_denied", "access_denied")
    assert "credentials" in end.output and not (home / ".ssh").exists()


@pytest.mark.spec("safety S6.12")
@pytest.mark.req("X6")
@pytest.mark.parametrize("name", ["read_file", "write_file"])
async def test_a_symlink_out_of_the_workspace_is_a_permission_error(
    name: str, outside: Path, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "link").symlink_to(outside)
    more = {"content": "mine\n"} if name == "write_file" else {}
    async with running(tmp_path, [[call(name, file_path="link", **more)]]) as rig:
        (end,) = await ends(rig, await rig.talk("full", deny))
        assert (end.is_error, end.error_kind) == (True, "permission_denied")
    assert (tmp_path / "outside.txt").read_text() == "the outside secret\n"


@pytest.mark.spec("safety S6.13")
@pytest.mark.req("T10", "X5")
async def test_environment_variables_of_a_yaml_tool_are_passed_and_displayed_by_name_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "a-token-of-the-host")
    define(
        tmp_path,
        shower(args=["-c", "import os; print(len(os.environ['TOKEN']), os.environ['PLACE'])"],
               parameters={}, env={"TOKEN": "x-${DEPLOY_TOKEN}", "PLACE": "here"}),
    )  # fmt: skip
    async with running(tmp_path, [[call("show")]]) as rig:
        talk = await rig.talk("ask", allow)
        (end,) = await ends(rig, talk)
        (request,) = talk.of(ApprovalRequested)
        logged = b"".join(talk.live.events_since(0))
    assert end.output == f"{len('x-a-token-of-the-host')} here"
    assert ["TOKEN", "x-${DEPLOY_TOKEN}"] in [list(pair) for pair in request.effect["envVars"]]
    assert b"a-token-of-the-host" not in logged


@pytest.mark.spec("safety S6.13")
@pytest.mark.parametrize("name", ["NOT_SET_ANYWHERE", "ANTHROPIC_API_KEY"])
async def test_a_yaml_tool_with_a_missing_or_an_api_key_variable_does_not_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRETS["ANTHROPIC_API_KEY"])
    define(tmp_path, shower(env={"X": f"${{{name}}}"}))
    credentials = Credentials.from_environment()
    async with running(tmp_path, [[call("show", what="x")]], credentials=credentials) as rig:
        (end,) = await ends(rig, await rig.talk("full", allow))
    assert end.is_error and name in end.output and SECRETS["ANTHROPIC_API_KEY"] not in end.output


@pytest.mark.spec("safety S6.14")
@pytest.mark.req("X8")
@pytest.mark.parametrize(
    ("category", "mode", "listed", "runs"),
    [
        ("admin", "ask", [], False),
        ("admin", "edits", [], False),
        ("admin", "full", [], False),
        ("admin", "ask", ["show"], True),
        ("admin", "ask", ["make"], False),
        ("write", "ask", [], False),
        ("write", "ask", ["show"], True),
        ("write", "full", [], True),
    ],
)
async def test_an_unlisted_tool_of_a_headless_run_is_blocked(
    category: str, mode: Mode, listed: list[str], runs: bool, tmp_path: Path
) -> None:
    define(tmp_path, shower(category=category, cmd="touch", args=["{{what}}"]))
    answer = answerer(mode, None)
    async with running(tmp_path, [[call("show", what="x")]]) as rig:
        talk = await rig.talk(mode, wait)
        await allow_listed(talk.live, listed, os.environ)
        live = talk.live
        with anyio.fail_after(DEADLINE_S), live.session.subscribe() as events:
            live.session.submit("go")
            async for item in events:
                if isinstance(event := item.envelope.event, ApprovalRequested):
                    live.approver.answer(event.request_id, await answer(event))
                if item.envelope.kind == "processing_end":
                    break
        (end,) = talk.of(ToolCallEnd)
    assert end.is_error is not runs
    assert (tmp_path / "project" / "x").exists() is runs
    assert runs or end.error_kind == "permission_denied"
