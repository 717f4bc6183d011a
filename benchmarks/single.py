"""Figures that need no server: one prompt by the command line, and the body of a request after 1,000 rounds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from agent_ls.llm.messages import (
    Message,
    Role,
    ToolCallPart,
    ToolResultPart,
    assistant,
    system,
    tool_results,
    user,
)
from agent_ls.llm.providers.anthropic import AnthropicCodec
from agent_ls.llm.providers.base import ModelCapabilities
from agent_ls.llm.requests import Request
from benchmarks.processes import Model, environment

PROMPT = "Say hello."
EXEC = {
    "floor": ("-m", "benchmarks.bare_prompt", PROMPT),
    "agent-ls": ("-m", "agent_ls", "exec", "--model", "claude-sonnet-5-5", PROMPT),
}
TEXT = "a note of one line\n" * 10


def one_prompt(model: Model, server: str, folder: Path, state: Path) -> Mapping[str, float]:
    """Run one prompt by the command line. Returns its time and its CPU time in milliseconds.

    Raises:
        RuntimeError: the program failed.
    """
    model.play({"text": "Hello."})
    before, begun = os.times(), time.monotonic()
    done = subprocess.run(
        [sys.executable, *EXEC[server]],
        cwd=folder,
        env=environment(model, state),
        capture_output=True,
        text=True,
    )
    took, after = time.monotonic() - begun, os.times()
    if done.returncode or "Hello." not in done.stdout:
        raise RuntimeError(f"{server}: {done.stdout}{done.stderr}")
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return {"exec": took * 1000, "exec_cpu": used * 1000}


def body_of_a_late_round(server: str, rounds: int) -> Mapping[str, float]:
    """Encode the request of the last of `rounds` rounds, after that of the round before. Returns its CPU time.

    The floor encodes the whole body with `json`.
    """
    said = _rounds(rounds)
    before, last = (Request("claude", tuple(said[: 2 * count])) for count in (rounds - 1, rounds))
    codec = AnthropicCodec(lambda _: ModelCapabilities(64_000, "budget"))
    content = codec.encode(before, stream=True).content
    value = json.loads(content)
    begun = time.process_time()
    if server == "floor":
        json.dumps(value).encode()
    else:
        codec.encode(last, stream=True)
    return {"body": (time.process_time() - begun) * 1000}


def _rounds(count: int) -> list[Message]:
    said: list[Message] = [system("You are an agent."), user("go")]
    for number in range(count):
        call = ToolCallPart(f"call_{number}", "read_file", json.dumps({"file_path": f"note{number}.txt"}))
        said.append(Message(Role.ASSISTANT, (call,)))
        said.append(tool_results([ToolResultPart(call.id, call.name, TEXT)]))
    return [*said, assistant("Done.")]
