from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_ls.llm.catalog import Price, default_model
from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.providers.openai_chat.servers import SERVERS
from agent_ls.llm.requests import Usage
from agent_ls.loop.calls.arguments import parse_arguments
from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.create import (
    COMPATIBLE,
    PROFILES,
    ModelNeededError,
    UnknownProviderError,
    create_profile,
    with_model,
)
from agent_ls.profiles.environment_block import EnvironmentFacts
from agent_ls.profiles.git_snapshot import GitSnapshot
from agent_ls.profiles.options import ModelFacts, ProfileOptions
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext
from agent_ls.tools.read_file import READ_FILE
from agent_ls.tools.registry import ToolRegistry
from tests.support.snapshots import check_snapshot

SNAPSHOTS = Path(__file__).parent / "snapshots"
OF_ALL: dict[str, list[str]] = {
    "write_file": ["file_path", "content"],
    "processes": ["action", "process_id", "offset", "text", "close_input"],
    "spawn_agent": ["task", "working_dir", "model", "max_turns", "with_history"],
    "send_input": ["agent_id", "message"],
    "wait": ["agent_id"],
    "close_agent": ["agent_id"],
}
CLAUDE_CODE: dict[str, list[str]] = {
    "read_file": ["file_path", "offset", "limit"],
    "edit_file": ["file_path", "old_string", "new_string", "replace_all"],
    "shell": ["command", "timeout", "description", "run_in_background", "working_dir"],
    "grep": [
        "pattern", "path", "glob", "type", "output_mode", "-B", "-A", "-C", "-n", "-i", "multiline", "head_limit",
        "offset",
    ],
    "glob": ["pattern", "path"],
    "plan": ["todos"],
    "ask_user": ["questions"],
}  # fmt: skip
CODEX: dict[str, list[str]] = {
    "read_file": ["file_path", "offset", "limit"],
    "apply_patch": ["patch"],
    "shell": ["command", "workdir", "timeout_ms", "justification", "background"],
    "grep": ["pattern", "include", "path", "limit", "output_mode", "case_insensitive", "context_lines"],
    "glob": ["pattern", "path"],
    "plan": ["explanation", "plan"],
    "ask_user": ["questions"],
}
GEMINI_CLI: dict[str, list[str]] = {
    "read_file": ["file_path", "start_line", "end_line"],
    "read_many_files": ["include", "exclude", "limit"],
    "edit_file": [
        "file_path", "instruction", "old_string", "new_string", "allow_multiple", "expected_replacements",
    ],
    "shell": ["command", "description", "dir_path", "is_background", "timeout_ms"],
    "grep": [
        "pattern", "dir_path", "include", "exclude_pattern", "names_only", "case_sensitive", "fixed_strings", "context",
        "before", "after", "total_max_matches",
    ],
    "glob": ["pattern", "dir_path"],
    "list_dir": ["dir_path", "ignore", "depth", "hidden", "ignored"],
    "plan": ["todos"],
    "ask_user": ["questions"],
}  # fmt: skip
PLAIN: dict[str, list[str]] = {
    "read_file": ["file_path", "offset", "limit"],
    "edit_file": ["file_path", "old_string", "new_string", "occurrence"],
    "shell": ["command", "description", "timeout_ms", "working_dir", "background"],
    "grep": ["pattern", "path", "glob_filter", "case_insensitive", "max_results"],
    "glob": ["pattern", "path"],
    "list_dir": ["path", "depth", "hidden"],
    "plan": ["items"],
    "ask_user": ["question", "choices", "multiple"],
}
SUBAGENTS = ["spawn_agent", "send_input", "wait", "close_agent"]
WITH_A_USUAL_MODEL = [provider for provider in PROFILES if provider not in COMPATIBLE]
P2 = ["read_file", "apply_patch", "write_file", "shell", "grep", "glob"]
P3 = ["read_file", "write_file", "edit_file", "shell", "grep", "glob"]
P4 = ["read_file", "read_many_files", "write_file", "edit_file", "shell", "grep", "glob", "list_dir"]
P5 = [*P3, "list_dir"]


def parameters(profile: ProviderProfile) -> dict[str, Any]:
    return {tool.name: tool.parameters for tool in profile.registry.definitions()}


@pytest.mark.spec("loop 9.2.1", "loop 9.2.2", "loop 9.2.3")
@pytest.mark.req("P2", "P3", "P4", "P5", "P7", "T3")
@pytest.mark.parametrize(
    ("provider", "names", "of_the_family"),
    [
        pytest.param("openai", P2, CODEX, id="openai"),
        pytest.param("anthropic", P3, CLAUDE_CODE, id="anthropic"),
        pytest.param("gemini", P4, GEMINI_CLI, id="gemini"),
        pytest.param("ollama", P5, PLAIN, id="ollama"),
        pytest.param("walkthrough", P3, CLAUDE_CODE, id="walkthrough"),
    ],
)
def test_tools_have_agent_ls_names_and_the_parameters_of_the_model_makers_agent(
    provider: str, names: list[str], of_the_family: dict[str, list[str]]
) -> None:
    schemas = parameters(create_profile(provider, "m"))
    every = [*names, "processes", "plan", "ask_user", *SUBAGENTS]
    expected = {name: (OF_ALL | of_the_family)[name] for name in every}
    assert {name: list(schema["properties"]) for name, schema in schemas.items()} == expected


@pytest.mark.req("P7")
@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "ollama"])
def test_descriptions_name_no_parameter_that_the_model_is_not_sent(provider: str, native: bool) -> None:
    ours = {name for given in OURS.values() for name in given if "_" in name} | {"append"}
    profile = create_profile(provider, "m", options=ProfileOptions(native_names=native))
    for tool in profile.tools():
        schema: Any = tool.parameters
        sent = schema["properties"]
        descriptions = " ".join([tool.description, *(it.get("description", "") for it in sent.values())])
        named = set(re.findall(r"\w+", descriptions)) & ours
        assert named <= set(sent), tool.name


# Arguments by the names of agent-ls. Models use them that know no other agent, or that continue an older session.
OURS: dict[str, dict[str, Any]] = {
    "read_file": {"file_path": "a.py", "offset": 2, "limit": 3},
    "read_many_files": {"paths": ["a.py"]},
    "write_file": {"file_path": "a.py", "content": "x", "append": True},
    "edit_file": {"file_path": "a.py", "old_string": "x", "new_string": "y", "replace_all": True},
    "apply_patch": {"patch": "p"},
    "shell": {"command": "ls", "timeout_ms": 5, "working_dir": "src", "env_vars": {"A": "1"}, "background": True},
    "grep": {
        "pattern": "x", "path": "src", "glob_filter": "*.py", "case_insensitive": True, "literal": True,
        "context_lines": 2, "max_results": 7, "output_mode": "count",
    },
    "glob": {"pattern": "*.py", "path": "src"},
    "list_dir": {"path": "src", "depth": 2, "hidden": True, "ignored": True, "pattern": "*.py"},
    "plan": {"items": [{"text": "one", "status": "active"}], "explanation": "so"},
    "spawn_agent": {"task": "t", "working_dir": "src", "model": "m", "max_turns": 2, "with_history": True},
    "send_input": {"agent_id": "agent_1", "message": "m"},
    "close_agent": {"agent_id": "agent_1"},
    "processes": {"action": "read", "process_id": "p1", "offset": 4},
}  # fmt: skip


@pytest.mark.req("P7")
@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "ollama"])
def test_tools_of_every_model_family_accept_agent_ls_argument_names(provider: str, native: bool) -> None:
    registry = create_profile(provider, "m", options=ProfileOptions(native_names=native)).registry
    several = native and provider in (
        "openai",
        "anthropic",
    )  # with native names these families have two tools in place of `processes`, with their own arguments
    for kind, given in OURS.items():
        if (tool := registry.lookup(kind)) is None or (several and kind == "processes"):
            continue
        taken = parse_arguments(json.dumps(given), tool.arguments).model_dump()
        read = json.loads(json.dumps(taken))
        assert {name: read[name] for name in given if name != "items"} == {
            name: value for name, value in given.items() if name != "items"
        }
        assert [(one["text"], one["status"]) for one in read.get("items", [])] == [
            (one["text"], one["status"]) for one in given.get("items", [])
        ]


@pytest.mark.parametrize(("provider", "names"), [("openai", P2), ("anthropic", P3), ("gemini", P4)])
def test_profile_without_background_processes_and_plan_has_only_the_basic_tools(
    provider: str, names: list[str]
) -> None:
    options = ProfileOptions(background_processes=False, plan=False, ask_user=False)
    profile = create_profile(provider, options=options)
    assert list(profile.registry.names()) == [*names, *SUBAGENTS]
    offered = set(parameters(profile)["shell"]["properties"])
    assert not offered & {"background", "run_in_background", "is_background"}


@pytest.mark.spec("loop 9.8.3")
@pytest.mark.req("P2", "P3", "T9")
@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
def test_tool_definitions_of_a_profile_equal_the_reviewed_snapshot(provider: str, native: bool) -> None:
    options = ProfileOptions(native_names=native)
    tools = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in create_profile(provider, options=options).registry.definitions()
    ]
    place = SNAPSHOTS / f"{provider}{'_native' if native else ''}_tools.json"
    check_snapshot(place, json.dumps(tools, indent=2, ensure_ascii=False) + "\n")


@pytest.mark.req("T9", "P6")
@pytest.mark.parametrize("provider", PROFILES)
def test_each_tool_schema_is_an_object_without_additional_properties_and_with_descriptions(
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
def test_anthropic_profile_has_a_command_timeout_of_120_seconds_and_openai_the_session_default() -> None:
    limits = create_profile("anthropic").shell_limits
    assert limits is not None
    assert limits.default_timeout_ms == 120_000
    assert create_profile("openai").shell_limits is None
    descriptions = {p: create_profile(p).registry.lookup("shell") for p in ("anthropic", "openai")}
    assert descriptions["anthropic"] and "120 seconds" in descriptions["anthropic"].description
    assert descriptions["openai"] and "by default after 10 seconds" in descriptions["openai"].description


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


@pytest.mark.parametrize("provider", WITH_A_USUAL_MODEL)
def test_profile_without_a_model_has_the_defaults_of_its_provider(provider: str) -> None:
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
    with pytest.raises(
        UnknownProviderError, match=r"'gpt'.*anthropic, openai, .*ollama.*, walkthrough"
    ) as raised:
        create_profile("gpt")
    assert raised.value.hint and ModelNeededError("compatible").hint


@pytest.mark.req("P1")
def test_the_price_of_a_host_replaces_that_of_the_catalogue() -> None:
    usage = Usage(1_000_000, 1_000_000)
    mine = create_profile("compatible", "m", price=Price.of([2, 3]))
    known = create_profile("anthropic", price=Price.of([2, 3]))
    assert mine.cost_usd(usage) == known.cost_usd(usage) == 5
    assert mine.cost_usd(replace(usage, reported_cost_usd=1.5)) == 1.5
    assert with_model(known, "claude-3").cost_usd(usage) == 5
    assert create_profile("compatible", "m").cost_usd(usage) is None


@pytest.mark.parametrize("rates", [[-1, 2], [1, float("nan")]])
def test_a_price_that_is_no_amount_is_refused(rates: list[float]) -> None:
    with pytest.raises(ConfigurationError):
        Price.of(rates)


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


def spoken_by_a_host(
    profile: ProviderProfile, facts: EnvironmentFacts, *, documents: str, user_instructions: str
) -> str:
    names = ", ".join(tool.name for tool in profile.tools())
    return f"{profile.base_prompt} {names}. {facts.platform}. {documents} {user_instructions}"


@pytest.mark.req("P1", "P6")
def test_profile_of_a_host_uses_the_prompt_builder_of_the_host() -> None:
    registry = ToolRegistry((READ_FILE,))
    profile = ProviderProfile("mine", "m-1", "I am Mine.", registry, 1_000, prompt_builder=spoken_by_a_host)
    where = EnvironmentFacts("/w", "linux", "6.1", "2026-11-21", GitSnapshot())
    prompt = profile.build_system_prompt(where, documents="Docs.", user_instructions="Be kind.")
    assert prompt == "I am Mine. read_file. linux. Docs. Be kind."
    with pytest.raises(UnknownProviderError):
        create_profile("mine")


@pytest.mark.req("P5")
def test_compatible_server_without_a_default_model_requires_a_model_name() -> None:
    assert set(COMPATIBLE) == set(SERVERS)
    with pytest.raises(ModelNeededError, match="Choose a model of lmstudio"):
        create_profile("lmstudio")
    profile = create_profile("lmstudio", "qwen", facts=ModelFacts(context_window_tokens=32_000))
    assert (profile.id, profile.model, profile.context_window_tokens) == ("lmstudio", "qwen", 32_000)


@pytest.mark.req("P1", "U10")
@pytest.mark.parametrize(
    ("provider", "model", "window", "name", "cutoff", "price"),
    [
        ("anthropic", "claude-opus-4-6", 1_000_000, "Claude Opus 4.6", "2025-05", 5.0),
        ("anthropic", "claude-haiku-4-5", 200_000, "Claude Haiku 4.5", "2025-02", 1.0),
        ("openai", "gpt-6-sol", 1_050_000, "GPT-6 Sol", "", 4.0),
        ("openai", "gpt-5", 400_000, "GPT-5", "2024-09", 1.25),
        ("gemini", "gemini-2.5-flash", 1_048_576, "Gemini 2.5 Flash", "2025-01", 0.3),
        ("openrouter", "some/model", 128_000, "some/model", "", None),
    ],
)
def test_profile_has_the_facts_of_its_model_from_the_catalogue(
    provider: str, model: str, window: int, name: str, cutoff: str, price: float | None
) -> None:
    profile = create_profile(provider, model)
    assert (profile.context_window_tokens, profile.display_name) == (window, name)
    assert (profile.knowledge_cutoff, profile.cost_usd(Usage(1_000_000, 0))) == (cutoff, price)


@pytest.mark.req("P1")
def test_profile_for_another_model_has_that_models_facts_except_those_of_the_host() -> None:
    own = replace(create_profile("anthropic", "claude-opus-4-6"), base_prompt="Mine.", display_name="Mine")
    other = with_model(own, "claude-haiku-4-5")
    assert (other.model, other.base_prompt, other.display_name) == ("claude-haiku-4-5", "Mine.", "Mine")
    assert (other.context_window_tokens, other.knowledge_cutoff) == (200_000, "2025-02")
    assert other.cost_usd(Usage(1_000_000, 0)) == 1.0
    assert "anthropic" in other.provider_options
