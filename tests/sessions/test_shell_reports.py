"""Commands that broke the shells of other agents: what the model reads of each, in a session with real processes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

import agent_ls
from agent_ls.environments.base import CommandOptions
from agent_ls.environments.local import LocalEnvironment
from agent_ls.llm.messages import ToolResultPart
from tests.support.fake_provider import FakeProvider, text, tool_call
from tests.support.processes import LIMIT_SECONDS
from tests.support.reports import reported

pytestmark = pytest.mark.req("T5", "H5")


def shell(command: str, **arguments: Any) -> Any:
    return tool_call("shell", json.dumps({"command": command, **arguments}))


async def read_by_model(folder: Path, *calls: Any, **options: Any) -> list[str]:
    """Return what the model reads after each of these calls."""
    project = folder / "project"
    project.mkdir(exist_ok=True)
    model = FakeProvider([*calls, text("Done.")])
    with anyio.fail_after(LIMIT_SECONDS):
        async with agent_ls.open_session(
            project,
            provider="anthropic",
            state_dir=folder / "state",
            adapters={"anthropic": model},
            approve=lambda request: True,
            **options,
        ) as session:
            await session.ask("go")
    parts = [part for message in model.requests[-1].messages for part in message.parts]
    return [part.content for part in parts if isinstance(part, ToolResultPart)]


@dataclass(frozen=True)
class Run:
    """A command, and the lines that the model reads of it before the line with the duration."""

    command: str
    lines: tuple[str, ...]
    code: int = 0


RUNS = [
    reported("coder/xum#41", Run("sleep 600 & echo done", ("done",))),
    reported("Kuberwastaken/claurst#189", Run("setsid sleep 600 & echo spawned", ("spawned",))),
    reported(
        "anomalyco/opencode#22012",
        Run(
            "nohup sh -c 'while :; do echo x; sleep 1; done' > log 2>&1 & sleep 0.1; echo fg done",
            ("fg done",),
        ),
    ),
    reported("neuml/txtai#1209", Run("cat", ("(no output)",))),
    reported("anthropics/claude-agent-sdk-typescript#64", Run("grep -c none /dev/null", ("0",), 1)),
    reported("agentscope-ai/QwenPaw#7046", Run("python3 << 'EOF'\nprint(\"hello\")\nEOF", ("hello",))),
    reported("warpdotdev/warp#14324",
        Run("python3 - <<'PY'\nfrom pathlib import Path\nprint(Path('/').name == '')\nPY", ("True",))),
    reported("zed-industries/zed#49106", Run("cat <<EOF\nhello\nEOF", ("hello",))),
    reported(
        "gptme/gptme#108",
        Run(
            "cat <<EOF | tee a.hook\n[Trigger]\nExec = sh -c 'cp a b && cp c d'\nEOF",
            ("[Trigger]", "Exec = sh -c 'cp a b && cp c d'"),
        ),
    ),
    reported("zerx-lab/zap#326", Run("echo one # the rest is a comment", ("one",))),
    reported("cline/cline#13346",
        Run("printf '\\033[1m\\033[46m RUN \\033[49m\\033[22m \\033[36mv4\\033[39m\\n'", (" RUN  v4",))),
    reported("THUDM/AgentBench#54", Run("printf '21\\r\\n\\033[?2004h\\033]0;root@box: /\\007$ '", ("21", "$ "))),
    reported("pingdotgg/t3code#7755", Run("printf '\\033]0;a: ready\\007build (primary)\\n'", ("build (primary)",))),
    reported(
        "indexable-inc/index#1348",
        Run(
            "printf 'Counting: 1%%\\rCounting: 50%%\\rCounting: 100%%, done.\\n'", ("Counting: 100%, done.",)
        ),
    ),
    reported("yvgude/lean-ctx#1140", Run("printf 'first\\rsecond\\nthird\\n'", ("second", "third"))),
    reported("PrimeIntellect-ai/nano-rlm#61", Run("printf '\\360'", ("\ufffd",))),
    reported("NorthlandPositronics/Cogtrix#2298",
        Run("printf 'before\\344after\\n'; echo more", ("before\ufffdafter", "more"))),
    reported(
        "grebmann1/workbench#55",
        Run(
            "printf '\\360\\237'; sleep 0.1; printf '\\224\\215 \\342\\200\\224 caf\\303\\251\\n'",
            ("🔍 — café",),
        ),
    ),
    reported("can1357/oh-my-pi#2701",
        Run("env -u LANG -u LC_ALL -u PYTHONUTF8 python3 -c 'print(\"✓ Привет\")'", ("✓ Привет",))),
    reported("microsoft/vscode#270810", Run("python3 -c \"print('Hello!')\"", ("Hello!",))),
    reported("open-mcp-ai/termcp#28", Run("echo 'j%Th1s!@1978'", ("j%Th1s!@1978",))),
    reported("openinterpreter/openinterpreter#1729", Run("read -r word </dev/tty || echo refused", ("refused",))),
    reported("binaricat/Netcatty#1882", Run("set -e; false; echo not reached", ("(no output)",), 1)),
    reported("binaricat/Netcatty#1945", Run("trap 'echo bye' EXIT; exit 4", ("bye",), 4)),
    reported("google-gemini/gemini-cli#13590",
        Run("git init -q .; git -c core.pager=less --paginate status -s", ("(no output)",))),
    reported("NousResearch/hermes-agent#36703", Run("f() { local n=1; echo $n; }; alias ll='ls -l'; f", ("1",))),
]  # fmt: skip


@pytest.mark.parametrize("run", RUNS)
async def test_the_model_reads_the_lines_and_the_exit_code_of_a_command(tmp_path: Path, run: Run) -> None:
    (read,) = await read_by_model(tmp_path, shell(run.command))
    lines = [line for line in read.replace("\r\n", "\n").split("\n") if "/dev/tty" not in line]
    end = lines.index(f"Exit code: {run.code}")
    assert tuple(lines[:end]) == run.lines


@pytest.mark.report("gptme/gptme#3810", "gofixpoint/amika#342")
async def test_options_of_one_command_do_not_reach_the_next(tmp_path: Path) -> None:
    first, second = await read_by_model(
        tmp_path, shell("set -eu; exec 2>&-; cd /; X=1; false"), shell("false; echo ${X:-unset}")
    )
    assert "Exit code: 1" in first
    assert second.startswith("unset\nExit code: 0")


@pytest.mark.parametrize(
    "folder",
    [
        reported("get-bb/bb#1529", "gone"),
        reported("gastownhall/gastown#1062", "wt"),
    ],
)
async def test_a_deleted_folder_fails_its_own_command_and_no_other(tmp_path: Path, folder: str) -> None:
    made, lost, later = await read_by_model(
        tmp_path,
        shell(f"mkdir {folder} && cd {folder} && rmdir ../{folder} && echo made"),
        shell("echo lost", working_dir=folder),
        shell("echo later"),
    )
    assert made.startswith("made\n") and later.startswith("later\n")
    assert folder in lost and "Exit code: 0" not in lost


@pytest.mark.report("tailcallhq/forgecode#1271", "clacky-ai/openclacky#455")
async def test_of_one_very_long_line_the_beginning_and_the_end_are_left(tmp_path: Path) -> None:
    (read,) = await read_by_model(
        tmp_path, shell("printf start; head -c 400000 /dev/zero | tr '\\0' x; printf 'error: end'; exit 2")
    )
    assert read.startswith("startxx") and "xxerror: end\nExit code: 2" in read
    assert len(read) < 40_000


@pytest.mark.report("earendil-works/pi#7522")
async def test_keys_of_providers_do_not_reach_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GH_TOKEN"):
        monkeypatch.setenv(name, "of-the-user-only")
    (read,) = await read_by_model(tmp_path, shell("env"))
    assert "PATH=" in read and "of-the-user-only" not in read


@pytest.mark.report("anthropics/claude-code#79175")
async def test_a_command_in_the_background_that_waits_for_input_can_be_given_its_end(tmp_path: Path) -> None:
    environment = LocalEnvironment(str(tmp_path))
    try:
        process = await environment.start_process("cat; echo end", CommandOptions())
        await environment.write_process(process.id, "a\n", close=True)
        with anyio.fail_after(LIMIT_SECONDS):
            ended = await environment.wait_process(process.id)
        assert (ended.exit_code, (await environment.read_process(process.id))[0]) == (0, "a\nend\n")
    finally:
        await environment.cleanup()
