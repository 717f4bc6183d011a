"""Kinds of subagents defined in files: they are listed, start with fewer tools, and grant no permission."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_ls.features.skills.agents import AgentKinds, load_agent_kinds
from agent_ls.llm.messages import Role
from agent_ls.loop.events.types import ApprovalRequested, SubagentChanged, ToolCallEnd
from agent_ls.services.permissions.trust import TRUST_VARIABLE
from agent_ls.services.settings.model import Settings, SkillSettings
from tests.support.agents import Cast, send, spawn, wait_for
from tests.support.fake_provider import text, tool_call
from tests.support.session_rig import running, wait

pytestmark = pytest.mark.req("T16")

REVIEWER = """---
name: reviewer
description: Reviews changes. Use it before a commit.
tools: Read, Grep
---
Look for mistakes. Name the line of each.
"""


def kind(path: Path, content: str = REVIEWER) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, "utf-8")
    return path


def load(tmp_path: Path, project: Path | None = None, **settings: bool) -> AgentKinds:
    return load_agent_kinds(
        SkillSettings.model_validate(settings), str(tmp_path / "state"), str(project) if project else None
    )


def tools_of(cast: Cast, word: str) -> set[str]:
    return {tool.name for tool in cast.agents[word].requests[0].tools}


def first_message(cast: Cast, word: str) -> str:
    messages = cast.agents[word].requests[0].messages
    return next(message.text for message in messages if message.role is Role.USER)


async def test_a_subagent_kind_is_listed_and_started_with_its_prompt_and_only_its_declared_tools(
    tmp_path: Path, home: Path
) -> None:
    kind(home / ".claude/agents/reviewer.md")
    cast = Cast([spawn("look", kind="reviewer"), wait_for("agent_1"), text("ok")], {"look": [text("fine")]})
    async with running(tmp_path, model=cast) as sessions:
        talk = await sessions.talk(say="go")
        system = sessions.model.requests[0].messages[0].text
        started = talk.of(SubagentChanged)[0]

    assert "- reviewer: Reviews changes." in system
    assert "Name the line" not in system and "Name the line" in first_message(cast, "look")
    assert tools_of(cast, "look") == {"read_file", "grep"}
    assert started.agent_kind == "reviewer"


async def test_the_task_tool_of_claude_code_accepts_a_subagent_kind_as_subagent_type(
    tmp_path: Path, home: Path
) -> None:
    kind(home / ".claude/agents/reviewer.md")
    arguments = {"prompt": "look", "description": "look", "subagent_type": "reviewer"}
    cast = Cast([tool_call("Task", json.dumps(arguments)), text("ok")], {"look": [text("fine")]})
    settings = Settings.model_validate({"nativeToolNames": True, "walkthroughPauseMs": 0})
    async with running(tmp_path, model=cast, settings=settings) as sessions:
        talk = await sessions.talk(say="go")
        assert talk.of(SubagentChanged)[0].agent_kind == "reviewer"
    assert tools_of(cast, "look") == {"Read", "Grep"}


async def test_a_session_without_subagent_kinds_does_not_mention_kinds_to_the_model(
    tmp_path: Path, home: Path
) -> None:
    async with running(tmp_path, [text("done")]) as sessions:
        await (await sessions.talk()).say("go")
        [request] = sessions.model.requests
    spawning = next(tool for tool in request.tools if tool.name == "spawn_agent")
    assert "kind" not in spawning.parameters["properties"]
    assert "# Kinds of agents" not in request.messages[0].text


async def test_subagent_kinds_of_an_untrusted_project_are_not_available(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(TRUST_VARIABLE)
    kind(tmp_path / "project/.agents/agents/theirs.md", REVIEWER.replace("reviewer", "theirs"))
    cast = Cast([spawn("look", kind="theirs"), text("ok")], {"look": [text("fine")]})
    async with running(tmp_path, model=cast, trusting="restricted") as sessions:
        talk = await sessions.talk(say="go")
        [end] = talk.of(ToolCallEnd)
        assert "Reviews changes" not in str(sessions.model.requests)
    assert end.is_error and "'theirs'" in end.output


@pytest.mark.parametrize("mode", ["bypassPermissions", "acceptEdits", "dontAsk"])
async def test_a_kind_of_subagent_cannot_grant_permissions(tmp_path: Path, home: Path, mode: str) -> None:
    rows = f"permissionMode: {mode}\nallowed-tools: Bash\ntools: Bash\n"
    kind(home / ".agents/agents/bold.md", f"---\ndescription: Acts.\n{rows}---\nRun what you like.\n")
    run = tool_call("shell", '{"command": "touch made"}', id="c")
    cast = Cast([spawn("act", kind="bold"), wait_for("agent_1")], {"act": [run, text("done")]})
    async with running(tmp_path, model=cast) as sessions:
        talk = await sessions.talk("ask", wait)
        talk.live.session.submit("go")
        await talk.until("approval_requested")
        [asked] = talk.of(ApprovalRequested)
        assert (asked.agent_id, asked.effect["command"]) == ("agent_1", "touch made")
    [problem] = load(tmp_path).problems
    assert f"permissionMode {mode} is ignored" in problem


async def test_a_subagent_kind_in_plan_mode_and_its_nested_subagents_get_only_read_tools(
    tmp_path: Path, home: Path
) -> None:
    kind(home / ".agents/agents/planner.md", "---\ndescription: Plans.\npermissionMode: plan\n---\nPlan.\n")
    cast = Cast(
        [spawn("outer", kind="planner"), wait_for("agent_1"), text("ok")],
        {"outer": [spawn("inner"), wait_for("agent_2"), text("said")], "inner": [text("seen")]},
    )
    settings = Settings.model_validate({"subagents": {"maxDepth": 3}, "walkthroughPauseMs": 0})
    async with running(tmp_path, model=cast, settings=settings) as sessions:
        await (await sessions.talk("full")).say("go")
    for word in ("outer", "inner"):
        assert not tools_of(cast, word) & {"shell", "write_file", "edit_file", "processes"}
        assert "read_file" in tools_of(cast, word)


async def test_a_subagent_kind_with_an_unknown_model_uses_the_sessions_model_with_a_notice(
    tmp_path: Path, home: Path
) -> None:
    kind(
        home / ".agents/agents/big.md", "---\ndescription: Thinks.\nmodel: nothing-1, inherit\n---\nThink.\n"
    )
    cast = Cast([spawn("think", kind="big"), wait_for("agent_1"), text("ok")], {"think": [text("yes")]})
    async with running(tmp_path, model=cast) as sessions:
        talk = await sessions.talk(say="go")
        ends = talk.of(ToolCallEnd)
        models = {request.model for request in (*sessions.model.requests, *cast.agents["think"].requests)}
    assert "model nothing-1" in ends[0].output and len(models) == 1


async def test_a_subagent_with_a_kind_cannot_be_continued_after_the_session_is_reopened(
    tmp_path: Path, home: Path
) -> None:
    kind(home / ".agents/agents/reviewer.md")
    cast = Cast([spawn("look", kind="reviewer"), wait_for("agent_1"), text("ok")], {"look": [text("fine")]})
    async with running(tmp_path, model=cast) as sessions:
        talk = await sessions.talk(say="go")
    later = Cast([send("agent_1", "more"), text("ok")], {})
    async with running(tmp_path, model=later) as sessions:
        again = await sessions.reopen(talk.session_id)
        await again.say("go")
        end = again.of(ToolCallEnd)[-1]
    assert end.is_error and "has ended. Start another agent." in end.output


def test_subagent_files_of_other_products_are_loaded_and_the_project_overrides_the_user(
    tmp_path: Path, home: Path
) -> None:
    project = tmp_path / "project"
    kind(home / ".claude/agents/a.md", "---\nname: one\ndescription: of the user\n---\nx")
    kind(project / ".claude/agents/one.md", "---\ndescription: of the project\n---\nx")
    kind(project / ".github/agents/two.agent.md", "---\ndescription: d\ntools: ['read', 'db/*']\n---\nx")
    kind(project / ".github/agents/readme.md", "---\ndescription: no kind\n---\nx")
    kind(
        tmp_path / "state/agents/three.md",
        "---\ndescription: d\nmaxTurns: 5\ndisallowedTools: Bash(rm:*)\n---\nx",
    )
    found = load(tmp_path, project)
    assert {name: it.origin for name, it in found.found.items()} == {
        "one": "project", "two": "project", "three": "user",
    }  # fmt: skip
    assert found.found["two"].tools == ("read", "db__*", "db/*")
    assert (found.found["three"].max_turns, found.found["three"].denied) == (5, ("Bash",))
    assert any("the same name" in problem for problem in found.problems)
    assert set(load(tmp_path, project, foreign=False).found) == {"three"}
    assert not load(tmp_path, project, enabled=False).found


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("no rows at all", "no description"),
        ("---\nname: ../x\ndescription: d\n---\n", "cannot be a name"),
        ("---\ndescription: d\ntools: [\n---\n", "not valid YAML"),
        ("---\ndescription: d\nhooks: {}\nmcpServers: {}\n---\n", "its mcpServers are ignored"),
    ],
)
def test_an_invalid_subagent_file_is_reported_with_its_path_and_problem(
    tmp_path: Path, home: Path, content: str, problem: str
) -> None:
    path = kind(tmp_path / "state/agents/x.md", content)
    problems = load(tmp_path).problems
    assert any(it.startswith(str(path)) and problem in it for it in problems), problems


def test_a_subagent_file_that_is_a_symlink_out_of_the_project_is_not_read(tmp_path: Path, home: Path) -> None:
    kind(tmp_path / "elsewhere.md")
    folder = tmp_path / "project/.agents/agents"
    folder.mkdir(parents=True)
    (folder / "x.md").symlink_to(tmp_path / "elsewhere.md")
    assert not load(tmp_path, tmp_path / "project").found
