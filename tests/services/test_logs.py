"""The process log: its location, its levels, and data that must never appear in it (R6)."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from pathlib import Path
from queue import SimpleQueue

import pytest

from agent_ls.services import logs
from tests.support.commands import DEADLINE_S, environment, provider_variables, run
from tests.support.loopback import Answer, AnthropicServer, ErrorReply, ToolCall

pytestmark = pytest.mark.req("R6")

KEY = "sk-test-0123456789-abcdefghij"
LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (INFO|WARNING|ERROR) \d+ agent_ls\.[a-z_.]+: .+")

# Run in a separate process, as the server and exec do, so that its logging setup ends with it.
PROGRAM = """
import logging, sys
from pathlib import Path
from agent_ls.services.logs import start_log, set_level
logging.basicConfig(level=logging.WARNING)
log = logging.getLogger("agent_ls.part")
start_log(sys.argv[2], lambda: {"the-key-of-the-user"}, Path(sys.argv[1]))
log.debug("a detail")
log.info("a figure")
log.warning("with the-key-of-the-user and\\nINFO forged line \\x1b[31m")
try:
    raise ValueError("the-key-of-the-user")
except ValueError:
    log.exception("failed")
set_level("error")
log.warning("not any more")
"""


def logged(folder: Path, level: str) -> tuple[str, str]:
    """Return the contents of the log file and of stderr."""
    program = [sys.executable, "-c", PROGRAM, str(folder), level]
    environ = environment(folder)
    done = subprocess.run(
        program, env=environ, capture_output=True, text=True, timeout=DEADLINE_S, check=True
    )
    path = folder / "log" / "agent-ls.log"
    return (path.read_text() if path.exists() else ""), done.stderr


def test_the_log_level_applies_to_the_log_file_and_warnings_are_also_written_to_stderr(
    tmp_path: Path,
) -> None:
    text, err = logged(tmp_path, "info")
    assert "a figure" in text and "a detail" not in text and "not any more" not in text
    assert "a figure" not in err and "failed" in err
    assert "a detail" in logged(tmp_path, "debug")[0]


def test_the_log_contains_no_key_and_no_forged_line(tmp_path: Path) -> None:
    text, err = logged(tmp_path, "info")
    assert "the-key-of-the-user" not in text + err and text.count("[secret removed]") == 2
    assert not any(line.startswith("INFO forged") for line in text.splitlines()) and "\x1b" not in text + err
    assert "ValueError: [secret removed]" in text


def test_only_the_user_can_read_the_log(tmp_path: Path) -> None:
    logged(tmp_path, "info")
    assert (tmp_path / "log" / "agent-ls.log").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o700


def test_an_unwritable_log_is_reported_once_and_nothing_fails(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("a file where the folder should be")
    text, err = logged(tmp_path, "info")
    assert text == "" and err.count("cannot be written") == 1
    assert err.count("Traceback") == 1, "that of the error which was logged, and no other"


def test_a_headless_run_records_timings_and_counts_in_the_log_and_the_session(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    script: list[Answer] = [
        ErrorReply(500, headers={"retry-after": "0"}),
        [ToolCall("shell", {"command": "echo hi"})],
        "Done.",
    ]
    with AnthropicServer(script, key=KEY) as server:
        environ = environment(tmp_path / "home", **provider_variables(server, KEY))
        done = run("exec", "say a word that is secret", cwd=project, environ=environ)
    assert done.code == 0, done
    (path,) = (tmp_path / "home").rglob("agent-ls.log")
    lines = path.read_text().splitlines()
    assert all(LINE.fullmatch(line) for line in lines)
    said = " ".join(line.split(": ", 1)[1].split()[0] for line in lines)
    assert said.split() == ["session", "retry", "model_call", "tool", "model_call", "turn_end", "session_end"]
    assert "secret" not in path.read_text()

    (log,) = (tmp_path / "home").rglob("log.jsonl")
    show = ("sessions", "show", log.parent.name, "--figures")
    table = run(*show, cwd=project, environ=environ).out.splitlines()
    assert [(line.split() or [""])[0] for line in table] == ["round", "1", "2", "", "tool", "shell"]
    figures = json.loads(run(*show, "--json", cwd=project, environ=environ).out)
    first, second = figures["rounds"]
    assert (first["retries"], first["toolCalls"], second["toolCalls"]) == (1, 1, 0)
    assert 0 <= first["firstOutputMs"] <= first["modelMs"]
    assert [(tool["name"], tool["calls"]) for tool in figures["tools"]] == [("shell", 1)]


def test_waiting_lines_are_written_to_the_log_file_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue: SimpleQueue[logging.LogRecord] = SimpleQueue()
    for number in range(1_200):
        queue.put(logging.makeLogRecord({"msg": f"line {number} of 100%", "levelno": logging.INFO}))
    file = logs._PrivateFile(tmp_path / "a.log")
    flushed: list[None] = []
    monkeypatch.setattr(file, "flush", lambda flush=file.flush: flushed.append(flush()))
    listener = logs._Listener(queue, file)
    listener.start()
    listener.stop()
    file.close()
    assert (tmp_path / "a.log").read_text().splitlines() == [
        f"line {number} of 100%" for number in range(1_200)
    ]
    assert len(flushed) <= 4
