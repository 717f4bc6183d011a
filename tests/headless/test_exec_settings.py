"""Settings, limits and allowed tools of `agent-ls exec`. An unknown value is an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_ls.cli.main import main
from tests.headless.test_exec import play
from tests.loopback.anthropic import signature
from tests.support.commands import environment, provider_variables, run
from tests.support.loopback import (
    Answer,
    AnthropicServer,
    ErrorReply,
    OpenAIResponsesServer,
    Reasoning,
    Script,
    ToolCall,
)

pytestmark = pytest.mark.req("H13")


def tools_of(body: object) -> set[str]:
    assert isinstance(body, dict)
    return {tool["name"] for tool in body["tools"]}


@pytest.mark.req("T13", "X5", "L2")
def test_set_options_override_the_settings_option_file_and_the_users_settings_file(project: Path) -> None:
    home = project.parent / "home"
    own = home / ".config" / "agent-ls" / "settings.json"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(
        json.dumps(
            {
                "userInstructions": "First.",
                "webFetch": True,
                "limits": {"tokensPerInput": 7, "costUsdPerInput": 3},
            }
        )
    )
    of_run = project.parent / "run.json"
    of_run.write_text(json.dumps({"agentLs": {"userInstructions": "Second.", "think_tool": True}}))
    words = [
        "--set",
        "toolOutputLimits.shell=10",
        "--set",
        "userInstructions=Third.",
        "--max-tokens",
        "900000",
    ]
    with AnthropicServer(["Done."]) as server:
        environ = environment(home, **provider_variables(server)) | {"XDG_CONFIG_HOME": str(home / ".config")}
        done = run("exec", "--settings", str(of_run), *words, "go", cwd=project, environ=environ)
    assert done.code == 0, done
    (request,) = server.requests
    assert {"think", "web_fetch"} <= tools_of(request.body)
    said = json.dumps(request.body["system"])
    assert "Third." in said and "First." not in said and "Second." not in said


@pytest.mark.req("O1")
def test_output_limit_of_an_unknown_tool_in_the_users_settings_file_is_a_warning(project: Path) -> None:
    """The tool may belong to another project, so the run continues."""
    own = project.parent / "own.json"
    own.write_text(json.dumps({"toolOutputLimits": {"deploy": 1, "rename_symbol": 1, "tracker__find": 1}}))
    with AnthropicServer(["Done."]) as server:
        environ = environment(project.parent / "home", **provider_variables(server))
        done = run("exec", "go", cwd=project, environ=environ | {"AGENT_LS_SETTINGS": str(own)})
    assert done.code == 0, done
    assert "toolOutputLimits.deploy: unknown tool. Tools: abort, append_file, " in done.out
    assert "rename_symbol is no" not in done.out and "tracker" not in done.out


def test_settings_environment_variable_selects_another_settings_file_or_none(project: Path) -> None:
    other = project.parent / "other.json"
    other.write_text('{"userInstructions": "Other."}')
    with AnthropicServer(["One.", "Two."]) as server:
        base = environment(project.parent / "home", **provider_variables(server))
        for value in (str(other), ""):
            assert run("exec", "go", cwd=project, environ=base | {"AGENT_LS_SETTINGS": value}).code == 0
    assert ["Other." in json.dumps(request.body) for request in server.requests] == [True, False]


WRONG = [
    (["--set", "maxTurn=1"], "maxTurn: there is no such setting (did you mean maxTurns?)"),
    (["--set", "tokensPerInput=1"], "did you mean limits.tokensPerInput?"),
    (["--set", "limits.tokenPerInput=1"], "did you mean tokensPerInput?"),
    (["--set", "providers.openai.baseURL=x"], "did you mean baseUrl?"),
    (["--set", "maxTurns=many"], "maxTurns"),
    (["--set", "maxTurns"], "NAME=VALUE"),
    (["--set", "commandEnvironment.inherit=some"], "'filtered', 'all', 'none', 'core' or 'minimal'"),
    (["--set", "mode=fulll"], "full"),
    (["--max-tokens", "few"], "limits.tokensPerInput"),
    (["--max-cost", "-1"], "limits.costUsdPerInput"),
    (["--settings", "none.json"], "none.json cannot be read"),
    (["--settings", "a.py"], "a.py is not JSON"),
    (["--settings", "list.json"], "does not contain a JSON object"),
    (["--settings", "bad.json"], "did you mean userInstructions?"),
    (
        ["--set", "toolOutputLimits.shel=1"],
        "toolOutputLimits.shel (did you mean shell?): unknown tool",
    ),
    (["--set", 'toolLineLimits={"Bash":1,"x":2}'], "toolLineLimits.Bash (did you mean shell?)"),
    (
        ["--set", 'toolLineLimits={"Bash":1,"x":2}'],
        "Tools: abort, append_file, apply_code_action, apply_patch",
    ),
    (["--settings", "limits.json"], "did you mean grep?"),
]


@pytest.mark.req("R5")
@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=[" ".join(words) for words, _ in WRONG])
def test_an_invalid_setting_ends_exec_with_2(
    arguments: list[str],
    words: str,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (project / "list.json").write_text("[1]")
    (project / "bad.json").write_text('{"userInstruction": "x"}')
    (project / "limits.json").write_text('{"toolLineLimits": {"grip": 1}}')
    monkeypatch.chdir(project)
    assert main(["exec", *arguments, "--provider", "walkthrough", "go"]) == 2  # before anything starts
    said = capsys.readouterr()
    assert words in said.err and said.out == ""


REFUSED_WORDS = [
    ("write_fil", "did you mean write_file?"),
    ("no-such-program run", "is neither the name of a tool nor of a program on PATH"),
    ("rm; ls", "neither the name of a tool"),
    ("", "neither the name of a tool"),
    ("shell", "first words"),
    ("web_fetch", "--set webFetch=true"),
    ("think", "--set thinkTool=true"),
    ("Bash", "does not have"),
    ("https://docs.python.org", "--set webFetch=true"),
    ("https://", "https://HOST"),
    ("write:", "write:src/**"),
]


@pytest.mark.req("X8", "T13")
@pytest.mark.parametrize(("word", "hint"), REFUSED_WORDS)
def test_an_invalid_allow_option_is_refused_with_a_hint(word: str, hint: str, project: Path) -> None:
    environ = environment(project.parent / "home")
    done = run("exec", "--allow", word, "--provider", "walkthrough", "go", cwd=project, environ=environ)
    assert done.code == 2 and hint in done.err, done


WRITE: Script = [[ToolCall("write_file", {"file_path": "new.txt", "content": "x\n"})], "Done."]


@pytest.mark.req("X8")
@pytest.mark.parametrize("word", ["write_file", "edit_file", "apply_patch"])
def test_an_allowed_editing_tool_needs_no_approval(word: str, project: Path) -> None:
    done, _ = play(AnthropicServer, WRITE, project, "--allow", word, "go")
    assert done.code == 0, done
    assert (project / "new.txt").read_text() == "x\n"


@pytest.mark.req("X8")
def test_an_allowed_command_runs_without_approval_and_other_commands_are_refused(project: Path) -> None:
    script: Script = [
        [ToolCall("shell", {"command": "touch made"})],
        [ToolCall("shell", {"command": "mkdir other"})],
        "Done.",
    ]
    done, _ = play(AnthropicServer, script, project, "--allow", "touch", "go")
    assert done.code == 3, done
    assert (project / "made").exists() and not (project / "other").exists()


@pytest.mark.req("X8")
@pytest.mark.parametrize("rule", ["write:src/[id]/page.tsx", "write:src/[id]/**"])
@pytest.mark.report("sambernhardt/uifork#3")
def test_an_allowed_path_with_brackets_is_the_file_of_that_name_and_no_other(
    rule: str, project: Path
) -> None:
    for name in ("[id]", "i"):
        (project / "src" / name).mkdir(parents=True)
        (project / "src" / name / "page.tsx").write_text("old\n")
    script: Script = [
        [ToolCall("read_file", {"file_path": f"src/{name}/page.tsx"}) for name in ("[id]", "i")],
        *(
            [ToolCall("write_file", {"file_path": f"src/{name}/page.tsx", "content": "new\n"})]
            for name in ("[id]", "i")
        ),
        "Done.",
    ]
    done, _ = play(AnthropicServer, script, project, "--allow", rule, "--mode", "ask", "go")
    assert (project / "src/[id]/page.tsx").read_text() == "new\n", done
    assert (project / "src/i/page.tsx").read_text() == "old\n"


@pytest.mark.req("U10")
def test_a_short_model_name_is_sent_as_the_full_model_name(project: Path) -> None:
    done, server = play(AnthropicServer, ["Hi."], project, "--model", "opus", "go")
    assert done.code == 0 and server.requests[0].body["model"] == "claude-opus-5-5", done


@pytest.mark.req("H18")
@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--max-tokens", "1", "is reached: 1 token."),
        ("--max-seconds", "0.000001", "seconds"),
        ("--max-rounds", "1", "round"),
        ("--set", "maxTurns=1", "1 model call"),
    ],
)
def test_exec_that_reaches_a_limit_names_the_limit_and_exits_with_code_4(
    option: str, value: str, words: str, project: Path
) -> None:
    script: Script = [[ToolCall("read_file", {"file_path": "a.py"})]] * 3
    done, server = play(AnthropicServer, script, project, option, value, "go")
    assert done.code == 4, done
    shown = f"{option} maxTurns=NUMBER" if option == "--set" else f"{option} NUMBER"
    assert words in done.err and done.err.count("--resume") == 1 and shown in done.err
    assert len(server.requests) < 3


@pytest.mark.req("X5")
def test_set_option_filters_the_environment_variables_of_commands(project: Path) -> None:
    script: Script = [[ToolCall("shell", {"command": 'echo "mine=$MINE."'})], "Seen."]
    for policy, seen in (
        ("inherit=filtered", "mine=1."),
        ("inherit=none", "mine=."),
        ("deny=OTHER,MINE", "mine=."),
    ):
        with AnthropicServer(script) as server:
            environ = environment(project.parent / "home", **provider_variables(server)) | {"MINE": "1"}
            words = ("--set", f"commandEnvironment.{policy}", "--mode", "full", "go")
            done = run("exec", *words, cwd=project, environ=environ)
        assert done.code == 0 and seen in json.dumps(server.requests[1].body), done


@pytest.mark.req("H25", "U8")
def test_a_fallback_model_answers_for_an_overloaded_provider_and_models_without_a_key_are_skipped(
    project: Path,
) -> None:
    looks: Answer = [Reasoning("A secret thought."), ToolCall("glob", {"pattern": "*"})]
    failures: list[Answer] = [ErrorReply(529, headers={"retry-after": "0"})] * 3
    words = ["--set", 'models.fallbacks=["gemini/gemini-4-argon", "openai/gpt-6.1-terra"]']
    with (
        AnthropicServer([looks, *failures]) as server,
        OpenAIResponsesServer(["Done by the other."]) as other,
    ):
        variables = provider_variables(server) | provider_variables(other)
        environ = environment(project.parent / "home", **variables)
        done = run("exec", "--provider", "anthropic", *words, "go", cwd=project, environ=environ)
    assert done.code == 0, done
    assert "by the other" in done.out
    assert "gemini/gemini-4-argon is skipped" in done.out and "GEMINI_API_KEY" in done.out
    assert "openai/gpt-6.1-terra answers" in done.out
    assert len(server.requests) == 4 and other.requests[0].body["model"] == "gpt-6.1-terra"
    sent = json.dumps(other.requests[0].body)
    assert "a.py" in sent and signature("A secret thought.") not in sent
