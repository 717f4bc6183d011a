"""Run the recipes of docs/other-editors.md with the walkthrough as model, a sample project, and `agent-ls` on PATH."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from agent_ls.cli.sample import copy_sample_project
from agent_ls.services.permissions.trust import TRUST_VARIABLE
from tests.docs.test_other_editors_page import recipe
from tests.support import REPOSITORY

TASK = "Please fix the discount."
SETTINGS = {
    "neovim": ('mode = "ask"', 'provider = "walkthrough", walkthroughPauseMs = 0'),
    "eglot": (':mode "ask"', ':provider "walkthrough" :walkthroughPauseMs 0'),
    "kate": ('"mode": "ask"', '"provider": "walkthrough", "walkthroughPauseMs": 0, "mode": "full"'),
    "lsp-mode": (':mode "ask"', ':provider "walkthrough" :walkthroughPauseMs 0'),
}


def written_recipe(tag: str, path: Path) -> Path:
    """Write the page's recipe to a file, with the test's settings instead of those of the page."""
    theirs, ours = SETTINGS[tag]
    text = recipe(tag)
    assert theirs in text
    path.write_text(text.replace(theirs, ours))
    return path


def shop(folder: Path) -> Path:
    """Create the sample project in a git repository."""
    copy_sample_project(folder)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def environment(folder: Path) -> dict[str, str]:
    """Return an environment with a folder on PATH in which `agent-ls` is this repository's."""
    folder.mkdir(parents=True)
    program = folder / "agent-ls"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{REPOSITORY}" exec "{sys.executable}" -m agent_ls "$@"\n')
    program.chmod(0o755)
    return {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "AGENT_LS_STATE_DIR": str(folder / "state"),
        TRUST_VARIABLE: os.sep,
    }


def answers(folder: Path) -> int:
    """Return the number of answered approvals in the sessions of `environment(folder)`.

    The screen of the editor is not enough: the next question may look like the last one.
    """
    logs = folder.glob("state/workspaces/*/sessions/*/log.jsonl")
    return sum(log.read_bytes().count(b'"kind":"approval_resolved"') for log in logs)
