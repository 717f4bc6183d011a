from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.cli.sample import copy_sample_project


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    """The path of a chat document in a copy of the sample project."""
    return copy_sample_project(tmp_path / "project") / "chat.agent.md"
