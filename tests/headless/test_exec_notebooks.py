"""Notebooks without an editor: the tool is offered if the project has notebooks; cells are read and edited."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import environment, provider_variables, run
from tests.support.loopback import AnthropicServer, ToolCall

pytestmark = pytest.mark.req("H15")

CELL = {
    "cell_type": "code",
    "execution_count": 1,
    "id": "c1",
    "metadata": {},
    "outputs": [],
    "source": ["x = 1"],
}
TEXT = json.dumps({"cells": [CELL], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"
READ = [ToolCall("read_file", {"file_path": "a.ipynb"})]
EDIT = [
    ToolCall("edit_notebook", {"file_path": "a.ipynb", "action": "replace", "cell": "1", "source": "x = 2"})
]
RAW = [ToolCall("edit_file", {"file_path": "a.ipynb", "old_string": "x = 1", "new_string": "x = 2"})]


def tools_of(server: AnthropicServer, at: int = 0) -> list[str]:
    return [tool["name"] for tool in server.requests[at].body["tools"]]


def test_a_notebook_cell_is_read_and_edited_and_the_rest_of_the_file_is_unchanged(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.ipynb").write_text(TEXT)
    with AnthropicServer([READ, RAW, EDIT, "Done."]) as server:
        environ = environment(tmp_path / "home", **provider_variables(server))
        done = run("exec", "--trust", "--mode", "edits", "go", cwd=project, environ=environ)

    assert done.code == 0, done
    assert (project / "a.ipynb").read_text() == TEXT.replace("x = 1", "x = 2")
    assert "cell 1" in done.out and '"source"' not in done.out
    messages = [json.dumps(request.body["messages"][-1]) for request in server.requests[1:]]
    assert "=== cell 1 (code, id c1, run as [1])" in messages[0] and "cell_type" not in messages[0]
    assert "is a notebook" in messages[1] and "cell 1" in messages[2]
    assert {tuple(tools_of(server, at)) for at in range(4)} == {tuple(tools_of(server))}, (
        "one list, all along"
    )
    assert "edit_notebook" in tools_of(server)


def test_the_notebook_tool_is_offered_only_with_notebooks_in_the_folder(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "ignored").mkdir(parents=True)
    (project / ".git").mkdir()
    (project / ".gitignore").write_text("ignored\n")
    (project / "ignored" / "a.ipynb").write_text(TEXT)
    with AnthropicServer(["Done."]) as server:
        environ = environment(tmp_path / "home", **provider_variables(server))
        run("exec", "--trust", "go", cwd=project, environ=environ)

        assert "edit_notebook" not in tools_of(server)


def test_a_recorded_session_with_a_notebook_is_replayed(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.ipynb").write_text(TEXT)
    tape = tmp_path / "tape.jsonl"
    with AnthropicServer([READ, EDIT, "Done."]) as server:
        environ = environment(tmp_path / "home", **provider_variables(server))
        words = ("--trust", "--mode", "edits", "--record", str(tape))
        assert run("exec", *words, "go", cwd=project, environ=environ).code == 0

        again = run("replay", str(tape), cwd=tmp_path, environ=environ)

    assert again.code == 0, again
