"""agent-ls docs: list the documentation pages of this installation, or print one page."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from agent_ls.cli.output import add_json_option, print_json
from agent_ls.near_names import did_you_mean
from agent_ls.patterns import regex

_HEADING = regex(r"^#{1,6} ")
_TITLE = regex(r"^# (.+)$", re.MULTILINE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "page", nargs="?", help="a page, for example `configuration`; default: list all pages"
    )
    parser.add_argument(
        "section", nargs="*", default=[], help="print only the sections with these words in their heading"
    )
    add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    folder = find_docs()
    if folder is None:
        print("agent-ls: this installation has no documentation; install agent-ls again", file=sys.stderr)
        return 1
    pages = {
        path.relative_to(folder).with_suffix("").as_posix(): path for path in sorted(folder.rglob("*.md"))
    }
    if options.page is None and options.json:
        print_json({"page": name, "title": _title(path), "path": str(path)} for name, path in pages.items())
        return 0
    if options.page is None:
        width = max(map(len, pages))
        for name, path in pages.items():
            print(f"{name:{width}}  {_title(path)}")
        return 0
    name = options.page.removeprefix("docs/").removesuffix(".md").lower()
    if name not in pages:
        hint = did_you_mean(name, pages) or "`agent-ls docs` lists the pages"
        print(f"agent-ls docs: there is no page {options.page}; {hint}", file=sys.stderr)
        return 2
    text = pages[name].read_text("utf-8")
    if options.section:
        words = " ".join(options.section)
        text = "\n".join(sections(text, words))
        if not text:
            print(f"agent-ls docs: no heading of the page {name} contains {words!r}", file=sys.stderr)
            return 2
    print(text.rstrip())
    return 0


def find_docs() -> Path | None:
    """Return the documentation folder of the installed package or of the checkout; None if it does not exist."""
    package = Path(__file__).resolve().parents[1]
    places = (package / "docs", package.parent / "docs")
    return next((place for place in places if (place / "configuration.md").is_file()), None)


def sections(text: str, words: str) -> Iterator[str]:
    """Yield the lines of each section whose heading contains `words`, ignoring case. Subsections are included."""
    level, is_code = 0, False
    for line in text.splitlines():
        is_code ^= line.startswith("```")
        if not is_code and _HEADING.match(line):
            depth = len(line) - len(line.lstrip("#"))
            if not level or depth <= level:
                level = depth if words.casefold() in line.casefold() else 0
        if level:
            yield line


def _title(path: Path) -> str:
    found = _TITLE.search(path.read_text("utf-8"))
    return found[1] if found else ""
