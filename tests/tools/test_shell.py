from __future__ import annotations

import pytest
from pydantic import ValidationError

from agent_ls.environments.base import Attribution, CommandOptions, ExecResult
from agent_ls.environments.effects import CommandEffect
from agent_ls.environments.errors import PathNotFoundError
from agent_ls.tools.base import ShellLimits
from agent_ls.tools.shell import FULL_SCREEN, shell_tool
from tests.support.tool_calls import ProcessEnvironment, ToolCalls, commands, result

SHELL = shell_tool(default_timeout_ms=10_000, background=True)
TIMEOUT = (
    "[ERROR: Command timed out after 10000ms. Partial output is shown above.\n"
    "You can retry with a longer timeout by setting the timeout_ms parameter.]"
)


@pytest.mark.spec("safety S6.4")
@pytest.mark.req("T5", "R1", "O2")
@pytest.mark.parametrize(
    ("answer", "text", "kind"),
    [
        pytest.param(result("hi\n"), "hi\nExit code: 0\nDuration: 12 ms", "", id="success"),
        pytest.param(result(""), "(no output)\nExit code: 0\nDuration: 12 ms", "", id="silent"),
        pytest.param(result("no\n", 2), "no\nExit code: 2\nDuration: 12 ms", "shell_exit", id="failure"),
        pytest.param(
            result("", -9),
            "(no output)\nExit code: -9 (ended by signal 9)\nDuration: 12 ms",
            "shell_exit",
            id="signal",
        ),
        pytest.param(result("half", -15, timed_out=True), f"half\n{TIMEOUT}", "shell_timeout", id="timeout"),
        pytest.param(
            result("Vim\x1b[?1049h~", -15, timed_out=True),
            f"Vim\x1b[?1049h~\x1b[?1049l\n{TIMEOUT}\n{FULL_SCREEN}",
            "shell_timeout",
            id="full-screen",
        ),
        pytest.param(
            result("a\x1b[?1049hb\x1b[?1049lc\x1b[?47hd"),
            "a\x1b[?1049hb\x1b[?1049lc\x1b[?47hd\x1b[?1049ld\nExit code: 0\nDuration: 12 ms",
            "",
            id="other-screen-left-open",
        ),
        pytest.param(
            result("hi", note="a.py has unsaved changes that the command did not see"),
            "hi\nExit code: 0\nDuration: 12 ms\n[a.py has unsaved changes that the command did not see]",
            "",
            id="note",
        ),
    ],
)
async def test_shell_result_contains_the_output_followed_by_exit_code_and_duration(
    answer: ExecResult, text: str, kind: str
) -> None:
    output = await ToolCalls(commands(answer)).call(SHELL, command="x")
    assert (output.text, output.error_kind) == (text, kind)
    assert output.is_error is bool(kind)
    assert output.exit_code == answer.exit_code


@pytest.mark.spec("loop 9.4.2", "loop 9.4.3")
@pytest.mark.req("T5", "L2", "P3")
@pytest.mark.parametrize(
    ("limits", "asked_ms", "expected_ms", "is_reported"),
    [
        pytest.param(ShellLimits(), None, 10_000, False, id="default"),
        pytest.param(ShellLimits(120_000), None, 120_000, False, id="profile-default"),
        pytest.param(ShellLimits(120_000, 60_000), None, 60_000, False, id="default-over-the-cap"),
        pytest.param(ShellLimits(), 30_000, 30_000, False, id="asked"),
        pytest.param(ShellLimits(), 900_000, 600_000, True, id="asked-over-the-cap"),
    ],
)
async def test_shell_when_a_timeout_is_requested_then_the_maximum_applies(
    limits: ShellLimits, asked_ms: int | None, expected_ms: int, is_reported: bool
) -> None:
    seen: list[tuple[str, CommandOptions]] = []
    calls = ToolCalls(commands(result(), seen), limits=limits)
    output = await calls.call(SHELL, command="x", timeout_ms=asked_ms)
    assert seen[0][1].timeout_ms == expected_ms
    assert ("600000" in output.text) is is_reported


async def test_shell_timeout_message_contains_the_maximum_that_shortened_the_timeout() -> None:
    calls = ToolCalls(commands(result(timed_out=True)), limits=ShellLimits(1000, 2000))
    output = await calls.call(SHELL, command="x", timeout_ms=5000)
    assert "timed out after 2000ms" in output.text


@pytest.mark.req("T5")
async def test_shell_when_the_command_prints_then_the_output_is_streamed() -> None:
    calls = ToolCalls(commands(result("hello")))
    await calls.call(SHELL, command="x")
    assert calls.streamed == [("stdout", "hello")]


@pytest.mark.req("T5")
async def test_shell_preparation_has_the_exact_command_effect_and_runs_nothing() -> None:
    seen: list[tuple[str, CommandOptions]] = []
    calls = ToolCalls(commands(result(), seen))
    calls.environment.put("sub/f", "")
    prepared = await calls.prepare(SHELL, command="make", working_dir="sub", env_vars={"B": "2", "A": "1"})
    assert prepared.effect == CommandEffect("make", "/project/sub", (("A", "1"), ("B", "2")))
    assert not seen
    await prepared.run()
    who = Attribution("s", "t", "c")
    assert seen == [
        ("make", CommandOptions(10_000, "/project/sub", {"A": "1", "B": "2"}, who, one_stream=True))
    ]


@pytest.mark.req("T5")
async def test_shell_with_background_starts_a_process_and_returns_the_process_id() -> None:
    environment = ProcessEnvironment()
    calls = ToolCalls(environment)
    prepared = await calls.prepare(SHELL, command="serve", background=True)
    assert prepared.effect == CommandEffect("serve", "/project", background=True)
    output = await prepared.run()
    assert [command for command, _ in environment.started] == ["serve"]
    assert "process p1 (pid 101)" in output.text
    assert output.exit_code is None


async def test_shell_without_a_processes_tool_has_no_background_argument() -> None:
    foreground = shell_tool(default_timeout_ms=10_000, background=False)
    assert "background" not in foreground.arguments.model_fields
    assert "background" in SHELL.arguments.model_fields


async def test_shell_when_the_folder_is_missing_then_the_environments_error_passes_through() -> None:
    with pytest.raises(PathNotFoundError):
        await ToolCalls(commands(result())).call(SHELL, command="x", working_dir="gone")


@pytest.mark.req("T1")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"command": ""}, "at least 1 character"),
        ({"command": "x", "timeout_ms": 0}, "greater than or equal to 1"),
        ({"command": "x", "env_vars": {"A=B": "1"}}, "'A=B' is not a variable name"),
        ({"command": "a\0b"}, "cannot contain a NUL"),
        ({"command": "x", "env_vars": {"A": "\0"}}, "cannot contain a NUL"),
    ],
)
def test_shell_when_arguments_cannot_be_run_then_they_are_refused(
    arguments: dict[str, object], says: str
) -> None:
    with pytest.raises(ValidationError, match=says):
        SHELL.arguments.model_validate(arguments)


def test_shell_when_summarized_then_the_command_is_one_short_line() -> None:
    arguments = SHELL.arguments.model_validate({"command": "make \\\n  test " + "x" * 200})
    summary = SHELL.summarize(arguments)
    assert summary.startswith("make \\ test xxx")
    assert len(summary) == 100
