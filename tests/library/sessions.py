"""Helpers that open library sessions with a scripted model in a folder of the test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import agent_ls
from tests.support.fake_provider import tool_call


def call(name: str, **arguments: Any) -> Any:
    return tool_call(name, json.dumps(arguments))


def options(tmp_path: Path, model: agent_ls.ProviderAdapter, **more: Any) -> dict[str, Any]:
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    return {
        "folder": project,
        "provider": "anthropic",
        "state_dir": tmp_path / "state",
        "adapters": {"anthropic": model},
        **more,
    }


def personal_options(tmp_path: Path, model: agent_ls.ProviderAdapter, **more: Any) -> dict[str, Any]:
    """Return options of a session that has what the user set up: hooks, tools, skills."""
    return options(tmp_path, model, personal=True, **more)
