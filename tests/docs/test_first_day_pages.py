"""The four pages of the first day lead from one to the next, are short, and their commands run in a new project."""

from __future__ import annotations

import itertools
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import blocks, links, read
from tests.support.commands import DEADLINE_S, environment
from tests.support.loopback import AnthropicServer

PAGES = ["installation.md", "first-session.md", "modes.md", "your-project.md"]
OWN = ["first-session.md", "your-project.md"]
COMMANDS = [
    line for page in OWN for block in blocks(read(f"docs/{page}"), "sh") for line in block.text.splitlines()
]


def test_the_index_lists_the_four_pages_in_order_and_each_names_the_next() -> None:
    linked = [link for link in links(read("docs/index.md")) if link in PAGES]
    assert list(dict.fromkeys(linked)) == PAGES
    for page, following in itertools.pairwise(PAGES):
        assert following in list(links(read(f"docs/{page}"))), page
    assert all(len(read(f"docs/{page}").splitlines()) < 100 for page in OWN)


@pytest.mark.parametrize("line", COMMANDS)
def test_each_command_of_the_first_day_runs_in_a_new_project(line: str, tmp_path: Path) -> None:
    program, *arguments = shlex.split(line)
    folder = tmp_path / "project"
    folder.mkdir()
    assert program == "agent-ls"
    with AnthropicServer(["It does nothing yet."]) as provider:
        environ = environment(tmp_path, ANTHROPIC_API_KEY="sk-test", ANTHROPIC_BASE_URL=provider.base_url)
        done = subprocess.run(
            [sys.executable, "-m", "agent_ls", *arguments],
            cwd=folder,
            env=environ,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip()
