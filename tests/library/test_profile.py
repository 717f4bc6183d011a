"""A program changes a profile: tools, base prompt, and options of the provider."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import agent_ls
from agent_ls.llm.messages import Role
from agent_ls.llm.requests import Request
from tests.support.fake_provider import FakeProvider, text


async def asked(tmp_path: Path, provider: str = "anthropic", **options: Any) -> Request:
    """Return the model's first request."""
    model, project = FakeProvider([text("Hello.")]), tmp_path / "project"
    project.mkdir(exist_ok=True)
    given: dict[str, Any] = {
        "provider": provider,
        "state_dir": tmp_path / "state",
        "adapters": {provider: model},
    } | options
    async with agent_ls.open_session(project, **given) as session:
        await session.ask("Hello?")
        assert session.tools == tuple(tool.name for tool in model.requests[0].tools)
    return model.requests[0]


@pytest.mark.req("P6")
async def test_removed_tools_are_not_offered(tmp_path: Path) -> None:
    names = {tool.name for tool in (await asked(tmp_path)).tools}
    fewer = {tool.name for tool in (await asked(tmp_path, without_tools=["shell", "processes"])).tools}
    assert names - fewer == {"shell", "processes"}


@pytest.mark.req("P6")
async def test_removed_tools_of_features_are_not_offered(tmp_path: Path) -> None:
    tools = tmp_path / "project" / ".agent-ls" / "tools.yaml"
    tools.parent.mkdir(parents=True)
    tools.write_text("tools: [{name: tell, description: Tells., category: read, cmd: echo, args: [hi]}]")
    given: dict[str, Any] = {"trusted": True, "settings": {"webFetch": True, "toolPacks": {"packs": ["git"]}}}
    names = {tool.name for tool in (await asked(tmp_path, **given)).tools}
    removed = ["tell", "web_fetch", "git_log", "processes"]
    fewer = {tool.name for tool in (await asked(tmp_path, **given, without_tools=removed)).tools}
    assert names - fewer == {*removed}


@pytest.mark.req("P9")
async def test_a_custom_base_prompt_replaces_only_the_base_prompt_of_the_profile(
    tmp_path: Path,
) -> None:
    request = await asked(tmp_path, base_prompt="You are a gardener.")
    prompt = next(message.text for message in request.messages if message.role is Role.SYSTEM)
    assert prompt.startswith("You are a gardener.") and "agent-ls" not in prompt.split("<environment>")[0]
    assert "<environment>" in prompt and "# Your tools" in prompt


HARMS = [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]


@pytest.mark.req("P3", "P4", "U13")
@pytest.mark.parametrize(
    ("provider", "model", "options", "expected"),
    [
        pytest.param("gemini", "", {"safetySettings": HARMS}, {"safetySettings": HARMS}, id="safety"),
        pytest.param("openai", "", {"service_tier": "flex"}, {"service_tier": "flex"}, id="new"),
        pytest.param("openai", "", {}, None, id="none"),
        pytest.param("anthropic", "", {"beta_headers": ["x-1"]}, {"beta_headers": ["x-1"]}, id="beta"),
        pytest.param(
            "anthropic",
            "claude-haiku-4-5",
            {"beta_headers": "x-1"},
            {"beta_headers": ["interleaved-thinking-2025-05-14", "x-1"]},
            id="beta-beside-those-needed",
        ),
    ],
)
async def test_provider_options_are_in_each_request(
    tmp_path: Path, provider: str, model: str, options: Mapping[str, Any], expected: Any
) -> None:
    settings = {"providers": {provider: {"options": options}}}
    request = await asked(tmp_path, provider, model=model, settings=settings)
    assert request.provider_options.get(provider) == expected


async def test_without_spawn_agent_nothing_is_left_to_control_subagents(tmp_path: Path) -> None:
    @agent_ls.tool
    def wait(seconds: float) -> str:
        """Wait for a machine of the program."""
        return "ready"

    usual = {tool.name for tool in (await asked(tmp_path)).tools}
    fewer = {tool.name for tool in (await asked(tmp_path, without_tools=["spawn_agent"])).tools}
    assert usual - fewer == {"spawn_agent", "send_input", "wait", "close_agent"}
    own = {tool.name for tool in (await asked(tmp_path, without_tools=["spawn_agent"], tools=[wait])).tools}
    assert own - fewer == {"wait"}
