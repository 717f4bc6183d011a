"""Output of the command line: foreign text without escape sequences, and no traceback if printing fails."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agent_ls.cli.main import COMMANDS
from agent_ls.cli.output import escaped_json, to_single_row
from agent_ls.store.rules import RuleStore
from agent_ls.store.trust import TrustStore
from tests.support.commands import command, environment, run

EVIL = "a\x1b[2J\x1b]0;title\x07\x9b31mb\u202ec"
HIDDEN = ("\x1b", "\x07", "\x9b", "\u202e")
NOW = "2026-11-23T08:00:00+00:00"


def assert_plain(text: str) -> None:
    assert text and not any(mark in text for mark in HIDDEN), ascii(text)


@pytest.mark.req("R6", "X8")
def test_no_command_prints_escape_sequences_of_stored_text(tmp_path: Path) -> None:
    environ = environment(tmp_path)
    state = Path(environ["AGENT_LS_STATE_DIR"])
    folder = tmp_path / f"{EVIL}\nno"
    folder.mkdir()
    RuleStore(state).add(f"words:{EVIL}", EVIL, "project", str(folder), NOW)
    TrustStore(state).store_decision(str(folder), "trusted", NOW)
    stored = run("exec", "--provider", "walkthrough", f"say {EVIL}", cwd=folder, environ=environ)
    session_id = stored.err.split()[-1]
    printed = {
        words: run(*words, cwd=folder, environ=environ)
        for words in (
            ("sessions",),
            ("sessions", "show", session_id),
            ("sessions", "export", session_id),
            ("sessions", "list", "--json"),
            ("sessions", "export", session_id, "--format", "jsonl"),
            ("trust", "list"),
            ("policy", "list"),
            ("policy", "explain", f"echo '{EVIL}'"),
            ("models", EVIL),
            ("tools",),
            ("doctor", "--offline"),
            ("trust", "forget", str(folder)),
            ("policy", "remove", "1"),
            ("sessions", "delete", EVIL),
        )
    }
    for words, done in printed.items():
        assert_plain(done.out + done.err)
        assert "Traceback" not in done.err, words
    # the second folder comes from the environment variable
    assert len(printed["trust", "list"].out.splitlines()) == 2
    assert len(printed["sessions",].out.splitlines()) == 1
    assert len(printed["policy", "list"].out.splitlines()) == 1
    # The JSON output has the complete text.
    assert json.loads(printed["sessions", "list", "--json"].out)["workspaceFolder"] == str(folder)


def test_json_keeps_its_value_when_control_characters_are_escaped() -> None:
    text = json.dumps({"a": EVIL}, ensure_ascii=False)
    assert json.loads(escaped_json(text)) == {"a": EVIL}
    assert_plain(escaped_json(text))


def test_to_single_row_escapes_line_breaks() -> None:
    assert to_single_row("a\r\nb") == "a\\nb"


PRINTED = [
    ("models",),
    ("sessions",),
    ("doctor", "--offline"),
    ("config", "--schema"),
    ("--version",),
    ("policy", "explain", "ls"),
    ("exec", "--provider", "walkthrough", "go"),
    ("exec", "--json", "--provider", "walkthrough", "go"),
    ("docs",),
    ("hooks",),
    ("keys", "list"),
    ("mcp", "list"),
    ("nvim-path",),
    ("policy", "list"),
    ("protocol", "--schema"),
    ("skills",),
    ("tools",),
    ("exec", "--help"),
    *(
        pytest.param((name, "--help"), marks=pytest.mark.sweep(only_whole=True))
        for name in COMMANDS
        if name != "exec"
    ),
]
"""Commands that print. Argparse prints the help of each command in the same way: one of them is enough here."""


def assert_reports_failed_print(code: int, log: str) -> None:
    assert code == 1, log
    assert "Traceback" not in log and "Exception" not in log
    lines = [line for line in log.splitlines() if line.startswith("agent-ls")]
    assert len(lines) == 1 and lines[0].startswith("agent-ls: standard output cannot be written: "), log


@pytest.mark.req("R5")
@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is of Linux")
@pytest.mark.parametrize("words", PRINTED)
def test_output_to_a_full_disk_gives_a_one_line_error_and_exit_code_1(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command(*words),
            cwd=tmp_path,
            env=environment(tmp_path),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=240,
            check=False,
        )
    assert_reports_failed_print(done.returncode, done.stderr)


def in_shell(folder: Path, target: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command with a redirection of the shell, which can close an output."""
    return subprocess.run(
        ["bash", "-c", f'exec "$@" {target}', "bash", *command(*words)],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.req("R5")
@pytest.mark.skipif(sys.platform != "linux", reason="its message differs elsewhere")
@pytest.mark.parametrize("words", PRINTED)
def test_closed_standard_output_gives_a_one_line_error_and_exit_code_1(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    done = in_shell(tmp_path, ">&-", *words)
    assert_reports_failed_print(done.returncode, done.stderr)


@pytest.mark.req("R5")
@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is of Linux")
@pytest.mark.parametrize("target", [">/dev/full 2>/dev/full", ">&- 2>&-"])
def test_exit_code_is_1_if_neither_output_nor_the_error_message_can_be_written(
    target: str, tmp_path: Path
) -> None:
    done = in_shell(tmp_path, target, "sessions")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


@pytest.mark.req("R5")
@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is of Linux")
@pytest.mark.parametrize("target", ["2>/dev/full", "2>&-", "2> >(true)"])
def test_a_command_does_its_work_if_only_its_messages_cannot_be_written(target: str, tmp_path: Path) -> None:
    done = in_shell(tmp_path, target, "exec", "--json", "--provider", "walkthrough", "go")
    assert done.returncode == 0
    assert json.loads(done.stdout.splitlines()[-1])["kind"] == "session_end"


@pytest.mark.req("R5")
@pytest.mark.skipif(sys.platform == "win32", reason="a pipe without a reader is another error there")
def test_output_to_a_closed_pipe_gives_exit_code_1_without_an_error_message(tmp_path: Path) -> None:
    reader = subprocess.Popen(["true"], stdin=subprocess.PIPE)
    reader.wait()
    assert reader.stdin
    done = subprocess.run(
        command("config", "--schema"),
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=reader.stdin,
        stderr=subprocess.PIPE,
        text=True,
        timeout=240,
        check=False,
    )
    reader.stdin.close()
    assert (done.returncode, done.stderr) == (1, "")
