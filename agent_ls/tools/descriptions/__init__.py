"""Long tool descriptions, as Markdown files in this folder."""

from __future__ import annotations

from agent_ls.package_files import read_package_file


def load(tool: str) -> str:
    """Return the text of `<tool>.md`, without its final newline."""
    return read_package_file(__name__, f"{tool}.md").strip()


def load_grammar(tool: str) -> str:
    """Return the Lark grammar of a tool that accepts free text, from `<tool>.lark`."""
    return read_package_file(__name__, f"{tool}.lark")
