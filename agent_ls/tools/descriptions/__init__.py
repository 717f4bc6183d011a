"""Descriptions of tools that need a page, as prose files beside this one."""

from __future__ import annotations

from importlib.resources import files


def load(tool: str) -> str:
    """The text of `<tool>.md`, without the newline at its end."""
    return (files(__name__) / f"{tool}.md").read_text(encoding="utf-8").strip()
