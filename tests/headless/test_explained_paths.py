"""`agent-ls policy explain` judges paths as a session with the user's settings would."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import environment, run

pytestmark = pytest.mark.req("X6")


@pytest.mark.parametrize(
    ("folder", "setting", "answer"),
    [
        ("shared", "", "needs approval"),
        ("shared", "roots", "allowed"),
        ("project", "", "allowed"),
        ("project", "denied", "needs approval"),
    ],
)
def test_explain_follows_the_paths_of_the_settings(
    tmp_path: Path, folder: str, setting: str, answer: str
) -> None:
    for name in ("shared", "project"):
        (tmp_path / name).mkdir()
    read = tmp_path / folder / "a.txt"
    read.write_text("a\n")
    file = tmp_path / "own.json"
    named = str(read if setting == "denied" else read.parent)
    file.write_text(json.dumps({"paths": {setting: [named]} if setting else {}}))
    environ = environment(tmp_path / "home", AGENT_LS_SETTINGS=str(file))
    words = ("policy", "explain", f"cat {read}", "--mode", "edits")
    done = run(*words, cwd=tmp_path / "project", environ=environ)
    assert f"edits: {answer}" in done.out, done
