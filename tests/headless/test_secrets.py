"""Keys are in no event, log, output, error or child process (requirements X5, R6)."""

from __future__ import annotations

import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import Finished, environment, provider_variables, run
from tests.support.loopback import (
    Answer,
    AnthropicServer,
    ErrorReply,
    LoopbackProvider,
    OpenAIResponsesServer,
    ToolCall,
)

KEY = f"sk-test-{secrets.token_hex(12)}"  # other runs on this machine have keys of their own
SERVERS = [pytest.param(AnthropicServer, id="anthropic"), pytest.param(OpenAIResponsesServer, id="openai")]

# Ways in which the key could leak: a command's environment, or an error that repeats the key.
WAYS: dict[str, list[Answer]] = {
    "env": [
        [ToolCall("shell", {"command": "env; printenv ANTHROPIC_API_KEY OPENAI_API_KEY COPY; true"})],
        "ok",
    ],
    "error that repeats it": [ErrorReply(401, message=f"the key {KEY} is wrong")],
    "error page": [ErrorReply(500, body=f"<html>{KEY}</html>", headers={"retry-after": "0"})] * 3,
    "error after output": [
        [ToolCall("shell", {"command": "env"})],
        ErrorReply(400, message=f"bad header: Bearer {KEY}"),
    ],
}


def leaks(folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


@pytest.mark.req("X5", "R6", "H16")
@pytest.mark.parametrize("server_type", SERVERS)
@pytest.mark.parametrize("way", WAYS)
def test_the_api_key_is_in_no_output_and_no_file_after_exec(
    way: str, server_type: type[LoopbackProvider], tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    with server_type(WAYS[way], key=KEY) as server:  # type: ignore[arg-type, call-arg]  # all server types have these arguments
        variables = provider_variables(server, KEY)
        # COPY has the key under a name that no pattern matches, so only its value reveals it.
        environ = environment(tmp_path / "home", **variables, COPY=f"x{KEY}x", PLAIN="seen")
        # one server type tests the transcript, the other the JSON events
        arguments = ["--json"] if server_type is AnthropicServer else []
        done = run("exec", "--mode", "full", *arguments, "go", cwd=project, environ=environ)
        assert server.requests, done
    check(done, way)
    assert leaks(tmp_path) == []
    # a run that could not begin leaves no session
    assert any((tmp_path / "home" / "state").rglob("log.jsonl")) is (
        way not in ("error that repeats it", "error page")
    )


def check(done: Finished, way: str) -> None:
    assert KEY not in done.out + done.err
    if "env" in way or "output" in way:
        assert "PLAIN=seen" in done.out, "the command did run and show its environment"
    if "error" in way:
        assert done.code == 1, done


LOOKS_AT_ALL = """
import glob
found = []
for path in glob.glob("/proc/[0-9]*/environ"):
    try:
        found += [path] if KEY.encode() in open(path, "rb").read() else []
    except OSError:
        pass
open("found", "w").write(repr(found))
"""


@pytest.mark.req("X5")
@pytest.mark.skipif("sys.platform != 'linux'", reason="there is no /proc")
def test_the_api_key_is_readable_in_no_process_environment(tmp_path: Path) -> None:
    """The variables are hidden from root too, who may read those of every process."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "look.py").write_text(f"KEY = {KEY!r}[:8] + {KEY!r}[8:]\n{LOOKS_AT_ALL}")
    answers: list[Answer] = [[ToolCall("shell", {"command": "python3 look.py"})], "ok"]
    with AnthropicServer(answers, key=KEY) as server:
        environ = environment(tmp_path / "home", **provider_variables(server, KEY))
        done = run("exec", "--mode", "full", "--trust", "go", cwd=project, environ=environ)
        assert done.code == 0 and len(server.requests) == 2, done
    assert (project / "found").read_text() == "[]"


@pytest.mark.req("X5")
@pytest.mark.skipif("sys.platform != 'linux'", reason="only Linux has the call")
def test_forbid_process_inspection_makes_the_process_undumpable() -> None:
    code = (
        "import ctypes; from agent_ls import system; system.forbid_process_inspection(); "
        "print(ctypes.CDLL(None).prctl(3))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
