from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.llm.catalog import default_model
from agent_ls.llm.providers.openai_chat.servers import SERVERS
from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.create import (
    COMPATIBLE,
    PROFILES,
    ModelNeededError,
    UnknownProviderError,
    create_profile,
)
from agent_ls.profiles.family import ModelFacts, ProfileOptions
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext
from tests.support.snapshots import check_snapshot

SNAPSHOTS = Path(__file__).parent / "snapshots"
PARAMETERS: dict[str, list[str]] = {
    "read_file": ["file_path", "offset", "limit"],
    "write_file": ["file_path", "content", "append"],
    "edit_file": ["file_path", "old_string", "new_string", "replace_all"],
    "apply_patch": ["patch"],
    "shell": ["command", "description", "timeout_ms", "working_dir", "env_vars", "background"],
    "grep": ["pattern", "path", "glob_filter", "case_insensitive", "literal", "context_lines", "max_results"],
    "glob": ["pattern", "path"],
    "processes": ["action", "process_id", "offset", "text", "close_input"],
    "plan": ["items", "explanation"],
    "ask_user": ["question", "choices", "multiple"],
    "spawn_agent": ["task", "working_dir", "model", "max_turns", "with_history"],
    "send_input": ["agent_id", "message"],
    "wait": ["agent_id"],
    "close_agent": ["agent_id"],
    "read_many_files": ["paths", "exclude", "limit"],
    "list_dir": ["path", "depth", "hidden", "ignored", "pattern"],
}
SUBAGENTS = ["spawn_agent", "send_input", "wait", "close_agent"]
WITH_A_USUAL_MODEL = [provider for provider in PROFILES if provider not in COMPATIBLE]
P2 = ["read_file", "apply_patch", "write_file", "shell", "grep", "glob"]
P3 = ["read_file", "write_file", "edit_file", "shell", "grep", "glob"]
P4 = ["read_file", "read_many_files", "write_file", "edit_file", "shell", "grep", "glob", "list_dir"]
P5 = [*P3, "list_dir"]


def parameters(profile: ProviderProfile) -> dict[str, Any]:
    return {tool.name: tool.parameters for tool in profile.registry.definitions()}


@pytest.mark.spec("000 9.2.1", "000 9.2.2", "000 9.2.3")
@pytest.mark.req("P2", "P3", "P4", "P5", "P7")
@pytest.mark.parametrize(
    ("provider", "names", "of_its_own"),
    [
        pytest.param("openai", P2, {}, id="openai"),
        pytest.param("anthropic", P3, {"grep": [*PARAMETERS["grep"], "output_mode"]}, id="anthropic"),
        pytest.param("gemini", P4, {}, id="gemini"),
        pytest.param("ollama", P5, {}, id="ollama"),
        pytest.param("walkthrough", P3, {"grep": [*PARAMETERS["grep"], "output_mode"]}, id="walkthrough"),
    ],
)
def test_profile_when_created_then_tools_and_parameters_are_those_of_the_family(
    provider: str, names: list[str], of_its_own: dict[str, list[str]]
) -> None:
    schemas = parameters(create_profile(provider, "m"))
    expected = {
        name: (PARAMETERS | of_its_own)[name]
        for name in [*names, "processes", "plan", "ask_user", *SUBAGENTS]
    }
    assert {name: list(schema["properties"]) for name, schema in schemas.items()} == expected


@pytest.mark.parametrize(("provider", "names"), [("openai", P2), ("anthropic", P3), ("gemini", P4)])
def test_profile_when_without_background_processes_and_plan_then_its_tools_are_exactly_the_list(
    provider: str, names: list[str]
) -> None:
    options = ProfileOptions(background_processes=False, plan=False, ask_user=False)
    profile = create_profile(provider, options=options)
    assert list(profile.registry.names()) == [*names, *SUBAGENTS]
    assert "background" not in parameters(profile)["shell"]["properties"]


@pytest.mark.spec("000 9.8.3")
@pytest.mark.req("P2", "P3", "T9")
@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
def test_profile_when_its_tools_are_defined_then_schemas_are_as_reviewed(provider: str) -> None:
    tools = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in create_profile(provider).registry.definitions()
    ]
    check_snapshot(
        SNAPSHOTS / f"{provider}_tools.json", json.dumps(tools, indent=2, ensure_ascii=False) + "\n"
    )


@pytest.mark.req("T9", "P6")
@pytest.mark.parametrize("provider", PROFILES)
def test_profile_when_its_tools_are_defined_then_every_root_is_a_closed_and_described_object(
    provider: str,
) -> None:
    for schema in parameters(create_profile(provider, "m")).values():
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        assert all(value["description"] for value in schema["properties"].values())
        assert "$defs" not in schema
        assert "anyOf" not in json.dumps(schema)
        assert '"title":' not in json.dumps(schema)


@pytest.mark.req("P3", "L2")
def test_profile_when_anthropic_then_commands_have_120_seconds_and_the_session_keeps_its_own_for_openai() -> (
    None
):
    limits = create_profile("anthropic").shell_limits
    assert limits is not None
    assert limits.default_timeout_ms == 120_000
    assert create_profile("openai").shell_limits is None
    descriptions = {p: create_profile(p).registry.lookup("shell") for p in ("anthropic", "openai")}
    assert descriptions["anthropic"] and "120 seconds" in descriptions["anthropic"].description
    assert descriptions["openai"] and "which is 10 seconds" in descriptions["openai"].description


INTERLEAVED = "interleaved-thinking-2025-05-14"


@pytest.mark.req("P3")
@pytest.mark.parametrize(
    ("model", "chosen", "expected"),
    [
        pytest.param("claude-sonnet-5-5", (), (), id="none-needed"),
        pytest.param("claude-haiku-4-5-20251001", (), (INTERLEAVED,), id="needed-by-the-model"),
        pytest.param("claude-sonnet-5-5", ("x-1",), ("x-1",), id="chosen-by-the-host"),
        pytest.param("claude-opus-4-5", (INTERLEAVED, "x-1"), (INTERLEAVED, "x-1"), id="each-once"),
    ],
)
def test_profile_when_a_model_needs_beta_headers_then_they_are_provider_options(
    model: str, chosen: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    profile = create_profile("anthropic", model, options=ProfileOptions(beta_headers=chosen))
    assert profile.provider_options == ({"anthropic": {"beta_headers": expected}} if expected else {})


@pytest.mark.req("P1")
def test_profile_when_facts_of_the_model_are_known_then_it_carries_them() -> None:
    facts = ModelFacts("Claude X", 1_000_000, "May 2026", supports_reasoning=False)
    profile = create_profile("anthropic", "claude-x", facts=facts)
    assert (profile.id, profile.model) == ("anthropic", "claude-x")
    assert (profile.display_name, profile.context_window_tokens) == ("Claude X", 1_000_000)
    assert (profile.knowledge_cutoff, profile.supports_reasoning) == ("May 2026", False)


@pytest.mark.parametrize("provider", WITH_A_USUAL_MODEL)
def test_profile_when_nothing_is_known_then_the_family_has_defaults(provider: str) -> None:
    profile = create_profile(provider)
    assert profile.id == provider
    assert profile.model
    assert profile.context_window_tokens >= 200_000
    assert profile.base_prompt.startswith("You are agent-ls")


@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini"])
def test_profile_when_no_model_is_named_then_it_is_the_catalogues_default(provider: str) -> None:
    assert create_profile(provider).model == default_model(provider)


@pytest.mark.req("P9")
def test_profile_when_the_host_gives_a_base_prompt_then_it_replaces_the_familys() -> None:
    assert create_profile("openai", options=ProfileOptions(base_prompt="Be kind.")).base_prompt == "Be kind."


def test_profile_when_the_provider_is_unknown_then_the_known_ones_are_named() -> None:
    with pytest.raises(UnknownProviderError, match=r"'gpt'.*anthropic, openai, .*ollama.*, walkthrough"):
        create_profile("gpt")


@pytest.mark.req("P6")
def test_profile_when_tools_are_added_and_removed_then_only_its_own_registry_changes() -> None:
    profile, other = create_profile("openai"), create_profile("openai")

    class NoArguments(Arguments):
        pass

    async def prepare(arguments: NoArguments, context: ToolContext) -> Prepared:
        raise NotImplementedError

    own = Tool("grep", "Mine.", "read", NoArguments, prepare, lambda _: "")
    profile.registry.register(own)
    profile.registry.unregister("glob")
    assert profile.registry.lookup("grep") is own
    assert "glob" not in profile.registry.names()
    assert other.registry.lookup("grep") is not own
    assert "glob" in other.registry.names()


@pytest.mark.req("P5")
def test_profile_when_a_compatible_server_has_no_usual_model_then_one_must_be_named() -> None:
    assert set(COMPATIBLE) == set(SERVERS)
    with pytest.raises(ModelNeededError, match="No model of lmstudio"):
        create_profile("lmstudio")
    profile = create_profile("lmstudio", "qwen", facts=ModelFacts(context_window_tokens=32_000))
    assert (profile.id, profile.model, profile.context_window_tokens) == ("lmstudio", "qwen", 32_000)
