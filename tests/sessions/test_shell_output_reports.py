"""More commands that broke the shells of other agents: here-documents, order of output, bytes, and ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.sessions.test_shell_reports import Run, read_by_model, shell
from tests.support.processes import eventually, is_running
from tests.support.reports import reported

pytestmark = pytest.mark.req("T5", "H5")

RUNS: list[Any] = [
    reported(
        "cloudflare/sandbox-sdk#602",
        Run(
            "cat > m.txt <<'EOF2'\nline one\nline two\nEOF2\nls m.txt; cat m.txt",
            (
                "m.txt",
                "line one",
                "line two",
            ),
        ),
    ),
    reported("cloudflare/sandbox-sdk#446", Run("cat << 'EOF'\nhello\nEOF", ("hello",))),
    reported("cloudflare/sandbox-sdk#139", Run("cat << 'EOF' | tr a-z A-Z\nhello\nEOF", ("HELLO",))),
    reported("daytonaio/daytona#4230", Run("cat << 'EOF' > t.txt\nhello\nEOF\ncat t.txt", ("hello",))),
    reported(
        "xuzhougeng/wispterm#615",
        Run(
            "bash -c $'cat <<EOF\nhello\n  EOF' 2>/dev/null",
            (
                "hello",
                "  EOF",
            ),
        ),
    ),
    reported("holzschu/a-shell#920", Run("cat << EOF | wc -c\n$(printf '%0600d' 0)\nEOF", ("601",))),
    reported("mvanhorn/last30days-skill#809", Run("x=$(python3 - <<'PY'\nprint(1)\nPY\n); echo $x", ("1",))),
    reported(
        "elizaOS/eliza#22493",
        Run(
            "python3 -c \"print('你' * 50000)\" | python3 -c \"print(input().count('你'))\"; echo 你你你",
            (
                "50000",
                "你你你",
            ),
        ),
    ),
    reported(
        "poe-platform/poe-code#369",
        Run(
            'python3 -c \'import os, time; os.write(1, b"\\xf0"); time.sleep(0.1); os.write(1, b"\\x9f\\x99\\x82")\'',
            ("🙂",),
        ),
    ),
    reported(
        "semaphoreci/agent#88",
        Run("sleep 300 & exit 3", ("(no output)",), 3),
    ),
    reported(
        "yologdev/yoyo-evolve#579",
        Run("yes | head -1", ("y",)),
    ),
    reported(
        "FerroxLabs/wayland#1076",
        Run("printf 'a\\200b'", ("a\ufffdb",)),
    ),
    reported("voidfreud/ita#17", Run("exit 42 || true", ("(no output)",), 42)),
    reported(
        "Gitlawb/openclaude#1249",
        Run(
            "f() { echo out; echo err >&2; return 1; }; f",
            (
                "out",
                "err",
            ),
            1,
        ),
    ),
    reported(
        "anthropics/claude-code#2734",
        Run(
            "for i in 1 2; do echo out $i; echo err $i >&2; done",
            (
                "out 1",
                "err 1",
                "out 2",
                "err 2",
            ),
        ),
    ),
    reported("anomalyco/opencode#300", Run("echo only >&2", ("only",))),
    reported("max-sixty/tend#427", Run("echo \"assert! x\" 'a!b'", ("assert! x a!b",))),
    Run("git init -q; cat .git/config | grep -c bare", ("1",)),
    Run("printf 'a\\0b\\n'", ("a\0b",)),
]


@pytest.mark.parametrize("run", RUNS)
async def test_the_model_reads_the_output_in_its_order(tmp_path: Path, run: Run) -> None:
    (read,) = await read_by_model(tmp_path, shell(run.command))
    lines = read.split("\n")
    assert tuple(lines[: lines.index(f"Exit code: {run.code}")]) == run.lines


@pytest.mark.report("openJiuwen-ai/jiuwenswarm#3568", "Nano-Collective/nanocoder#777")
async def test_the_error_at_the_end_of_a_long_output_is_read(tmp_path: Path) -> None:
    (read,) = await read_by_model(tmp_path, shell("seq 1 20000; echo LAST >&2; exit 3"))
    assert "\n20000\nLAST\nExit code: 3\n" in read and read.startswith("1\n2\n")


@pytest.mark.report("gptme/gptme#3810")
async def test_set_e_of_one_command_does_not_end_the_next(tmp_path: Path) -> None:
    first, second = await read_by_model(tmp_path, shell("set -e; echo a"), shell("false; echo still here"))
    assert first.startswith("a\nExit code: 0") and second.startswith("still here\nExit code: 0")


@pytest.mark.report("NousResearch/hermes-agent#77988")
async def test_a_command_with_a_nul_is_refused_and_the_next_one_runs(tmp_path: Path) -> None:
    refused, second = await read_by_model(tmp_path, shell("ls a\0b"), shell("/bin/echo ok"))
    assert "a NUL character" in refused
    assert second.startswith("ok\n")


LEFT = [
    reported(
        "SWE-agent/mini-swe-agent#826",
        'python3 -c \'import time; open("pid", "w").write(str(__import__("os").getpid())); time.sleep(600)\'',
    ),
    reported("anthropics/claude-code#82433", "(trap '' TERM; exec sleep 600) & echo $! > pid; sleep 600"),
    reported("Marker-Inc-Korea/AutoRAG#1500", "sh -c 'echo $$ > pid; sleep 600 | cat'"),
]


@pytest.mark.parametrize("command", LEFT)
async def test_the_time_limit_ends_all_processes_of_a_command(tmp_path: Path, command: str) -> None:
    (read,) = await read_by_model(tmp_path, shell(command, timeout_ms=1500))
    assert "timed out after 1500ms" in read
    pid = int((tmp_path / "project" / "pid").read_text())
    await eventually(lambda: not is_running(pid))
