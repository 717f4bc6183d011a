"""Long tool descriptions, as Markdown files in this folder."""

from __future__ import annotations

from importlib.resources import files


def load(tool: str) -> str:
    """Return the text of `<tool>.md`, without its final newline."""
    return (files(__name__) / f"{tool}.md").read_text(encoding="utf-8").strip()


def load_grammar(tool: str) -> str:
    """Return the Lark grammar of a tool that accepts free text, from `<tool>.lark`."""
    return (files(__name__) / f"{tool}.lark").read_text(encoding="utf-8")
