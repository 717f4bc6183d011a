"""Helpers for batch tests: write a manifest, run the batch with a scripted model, and read the result folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.commands import Finished, environment, provider_variables, run
from tests.support.git import git
from tests.support.loopback import Answer, AnthropicServer, ToolCall


def write_a_file(body: Mapping[str, Any]) -> Answer:
    """Answer as a model that writes the task's word (`prompt_of`) to `new.txt`, and then says "Done."."""
    if len(body["messages"]) > 1:
        return "Done."
    return [ToolCall("write_file", {"file_path": "new.txt", "content": f"{prompt_of(body)}\n"})]


def prompt_of(body: Mapping[str, Any]) -> str:
    """Return the word of a request's prompt that begins with `do-`. It identifies the task."""
    text = json.dumps(body["messages"][0])
    return text[text.rindex("do-") :].split('"')[0].split("\\")[0]


def repository(folder: Path) -> str:
    """Make a repository with one commit. Returns the id of the commit."""
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a.py").write_text("x = 1\n")
    (folder / ".gitignore").write_text("*.log\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return git(folder, "rev-parse", "HEAD")


def write_manifest(path: Path, tasks: Sequence[Mapping[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(task)}\n" for task in tasks))
    return path


def environ_of(server: AnthropicServer, home: Path, **more: str) -> dict[str, str]:
    return environment(home, **provider_variables(server), **more)


def batch(server: AnthropicServer, folder: Path, *arguments: str) -> Finished:
    return run("batch", *arguments, cwd=folder, environ=environ_of(server, folder / "home"))


def results(out: Path) -> dict[str, dict[str, Any]]:
    """Return the newest result of each task by its id. Reads the files in `out` without the code under test."""
    found = [json.loads(path.read_text()) for path in out.glob("tasks/*/attempt-*/result.json")]
    return {result["id"]: result for result in sorted(found, key=lambda it: it["attempt"])}


def work_folders(folder: Path) -> list[Path]:
    """Return the work folders that a batch in `folder` did not remove: its own, and those at a place (`--on`)."""
    return [*folder.glob("runs/.work/*"), *folder.glob("home/.cache/agent-ls/batch/*/*")]


def json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]
