"""Hooks of mkdocs: add pages from outside of docs/, and point the links of all pages to pages of the site."""

from __future__ import annotations

import os
import posixpath
import re
from typing import Any

from mkdocs.structure.files import File, Files

ADDED = {
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "report-a-weakness.md",
    "editors/README.md": "editors.md",
    "vscode-extension/README.md": "vscode-extension.md",
}
"""Files outside of docs/, and the names of their pages on the site."""

_LINK = re.compile(r"(!?)\[((?:[^\]\[]|\[[^\]]*\])*)\]\((?!\w+:|#)([^)\s#]*)(#[^)\s]*)?\)")
_FENCE = re.compile(r"^(\s*```\w+) .*$", re.MULTILINE)


def on_files(files: Files, config: Any) -> Files:
    root = os.path.dirname(config.config_file_path)
    for source, page in ADDED.items():
        with open(os.path.join(root, source), encoding="utf-8") as file:
            files.append(File.generated(config, page, content=file.read()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Return the page with its links replaced.

    A link to a file leads to its page on the site, else to the file in the repository. Without a repository URL it is
    plain text."""
    there = {page_name: source for source, page_name in ADDED.items()}
    source = there.get(page.file.src_uri, f"docs/{page.file.src_uri}")

    def link(found: re.Match[str]) -> str:
        is_image, words, target, anchor = found[1], found[2], found[3], found[4] or ""
        place = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        wanted = ADDED.get(place) or (place.removeprefix("docs/") if place.startswith("docs/") else "")
        if wanted and files.get_file_from_path(wanted):
            way = posixpath.relpath(wanted, posixpath.dirname(page.file.src_uri) or ".")
            return f"{is_image}[{words}]({way}{anchor})"
        if config.repo_url:
            return f"{is_image}[{words}]({config.repo_url.rstrip('/')}/blob/main/{place}{anchor})"
        if is_image or not os.path.exists(os.path.join(os.path.dirname(config.config_file_path), place)):
            return found[0]  # mkdocs reports the broken link
        return words

    # Remove the words after the language of a fence: they are for our tests, and mkdocs would show the block as text.
    return _outside_fences(_FENCE.sub(r"\1", markdown), lambda text: _LINK.sub(link, text))


def _outside_fences(markdown: str, change: Any) -> str:
    parts = re.split(r"(^\s*```.*?^\s*```\s*?$)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.lstrip().startswith("```") else change(part) for part in parts)
