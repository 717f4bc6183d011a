"""Parse documentation pages: fenced blocks, headings, links and tables. Supports only the Markdown that they use."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_FENCE = re.compile(r"^```(\w*)[ ]*([^\n]*)\n(.*?)^```[ ]*$", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*$", re.MULTILINE)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")
_CELL = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class Block:
    """A fenced block, which begins with ```LANGUAGE TAG. `line` is the number of its first text line, from 1."""

    language: str
    tag: str
    text: str
    line: int


@cache
def read(place: str) -> str:
    """Return the text of a file of the repository. `place` is its path from the root."""
    return (ROOT / place).read_text(encoding="utf-8")


@cache
def parse(place: str) -> ast.Module:
    """Return the syntax tree of a Python file of the repository. Callers must not change it, because it is cached."""
    return ast.parse(read(place))


@cache
def nodes(place: str) -> tuple[ast.AST, ...]:
    """Return all nodes of the syntax tree of a Python file."""
    return tuple(walk(parse(place)))


def walk(tree: ast.AST) -> list[ast.AST]:
    """Return all nodes of a syntax tree, as `ast.walk` does in twice the time."""
    found = [tree]
    for node in found:
        for name in node._fields:
            part = getattr(node, name, None)
            if isinstance(part, ast.AST):
                found.append(part)
            elif isinstance(part, list):
                found += [it for it in part if isinstance(it, ast.AST)]
    return found


def statements(place: str) -> Iterator[ast.stmt]:
    """Yield all statements of a Python file: a tenth of its nodes."""
    pending: list[ast.AST] = [parse(place)]
    for node in pending:
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            part = getattr(node, name, None)
            pending += part if isinstance(part, list) else ()
        if isinstance(node, ast.stmt):
            yield node


def blocks(text: str, language: str = "") -> list[Block]:
    found = (
        Block(match[1], match[2].strip(), match[3], text.count("\n", 0, match.start(3)) + 1)
        for match in _FENCE.finditer(text)
    )
    return [block for block in found if language in ("", block.language)]


def prose_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number (from 1) and the text of each line outside of fenced blocks."""
    is_fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            is_fenced = not is_fenced
        elif not is_fenced:
            yield number, line


def prose(text: str) -> str:
    """Return the text without its fenced blocks."""
    return _FENCE.sub("", text)


def anchors(text: str) -> set[str]:
    """Return the anchors (`#name` without `#`) that GitHub gives to the headings of a page."""
    found: dict[str, int] = {}
    for match in _HEADING.finditer(prose(text)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[1]).replace("`", "").lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found[anchor] = found.get(anchor, -1) + 1
    return {
        f"{name}-{number}" if number else name for name, last in found.items() for number in range(last + 1)
    }


def section(text: str, heading: str) -> str:
    """Return the text between a heading and the next heading of any level. `heading` includes its `#` signs."""
    found = re.search(rf"^{re.escape(heading)}$(.*?)(?=^#{{1,6}} |\Z)", text, re.DOTALL | re.MULTILINE)
    assert found, f"no heading {heading!r}"
    return found[1]


def links(text: str) -> list[str]:
    """Return the targets of links and images outside of code."""
    return _LINK.findall(_CODE.sub("", prose(text)))


def code_words(text: str) -> list[str]:
    """Return the texts between single backticks outside of fenced blocks."""
    return _CODE.findall(prose(text))


def tables(text: str) -> list[list[list[str]]]:
    """Return the tables as rows of cells. The first row is the header; the line of dashes below it is left out."""
    found: list[list[list[str]]] = []
    for is_table, lines in _runs(prose(text)):
        if is_table:
            rows = [[cell.strip() for cell in _CELL.split(line.strip())[1:-1]] for line in lines]
            found.append([rows[0], *rows[2:]])
    return found


def _runs(text: str) -> Iterator[tuple[bool, list[str]]]:
    run: list[str] = []
    for line in [*text.split("\n"), ""]:
        if line.startswith("|"):
            run.append(line)
        elif run:
            yield True, run
            run = []


def table(text: str, first_cell: str) -> list[list[str]]:
    """Return the rows, without the header, of the one table whose first header cell is `first_cell`."""
    found = [rows[1:] for rows in tables(text) if rows[0][0] == first_cell]
    assert len(found) == 1, f"{len(found)} tables begin with {first_cell!r}"
    return found[0]


def repository_files() -> list[str]:
    """Return the paths of files that git tracks or would add. Without git: all files except generated ones."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        listed = [
            str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if not _is_made(path.relative_to(ROOT))
        ]
    return sorted(name for name in listed if name and (ROOT / name).is_file())


def _is_made(path: Path) -> bool:
    hidden = path.parts[0].startswith(".") and path.parts[0] not in (".ci", ".gitignore")
    return (
        hidden or bool({"__pycache__", "build", "node_modules"} & set(path.parts)) or ".egg-info" in str(path)
    )
