"""Pure: texts of a transcript as inert HTML: no text becomes an attribute, a link or an element of its own."""

from __future__ import annotations

import re
from datetime import datetime
from html import escape

from agent_ls.patterns import regex
from agent_ls.text import diff_lines, reveal_controls, strip_escapes

_FENCE = regex(r"^(`{3,}|~{3,})[^\n`]*\n(.*?)(?:^\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_TABLE = regex(r"^\|.*\|[ \t]*\n\|[-:| \t]+\|[ \t]*\n(?:\|.*(?:\n|\Z))*", re.MULTILINE)
_HEADING = regex(r"^#{1,6} +(.+)$", re.MULTILINE)
_STRONG = regex(r"\*\*(?=\S)([^*\n]+?)(?<=\S)\*\*")
_CODE = regex(r"(`+)([^`\n]+)\1")
_SURROGATE = regex("[\ud800-\udfff]")


def text(value: str) -> str:
    """Return text for an element's content: escaped, without escape sequences, with control characters visible."""
    shown = reveal_controls(strip_escapes(value.replace("\r\n", "\n")))
    return escape(_SURROGATE.sub("\ufffd", shown), quote=True)


def css_class(value: str) -> str:
    """Return a value as a CSS class name; "" if it is not a word, because a log on disk may contain any text."""
    return value if value.isascii() and value.isalpha() else ""


def plain(said: str) -> str:
    """Return a person's text as it was written."""
    said = said.strip("\n")
    return f'<div class="text">{text(said)}</div>' if said.strip() else ""


def prose(said: str) -> str:
    """Return a model's text with its code, tables, headings and stressed words; other Markdown as it was written."""
    parts, at = [], 0
    for block in _FENCE.finditer(said):
        parts += [_with_tables(said[at : block.start()]), f"<pre>{text(block[2])}</pre>"]
        at = block.end()
    return "".join([*parts, _with_tables(said[at:])])


def _with_tables(said: str) -> str:
    parts, at = [], 0
    for block in _TABLE.finditer(said):
        head, _, *rows = [line for line in block[0].split("\n") if line.strip()]
        parts += [_paragraphs(said[at : block.start()]), "<table>", _row(head, "th")]
        parts += [*(_row(row, "td") for row in rows), "</table>"]
        at = block.end()
    return "".join([*parts, _paragraphs(said[at:])])


def _row(line: str, tag: str) -> str:
    cells = line.strip().removeprefix("|").removesuffix("|").split("|")
    return f"<tr>{''.join(f'<{tag}>{inline(cell.strip())}</{tag}>' for cell in cells)}</tr>"


def _paragraphs(said: str) -> str:
    said = said.strip("\n")
    return f'<div class="text">{inline(said)}</div>' if said.strip() else ""


def inline(said: str) -> str:
    """Mark code, stressed words and headings. Code is left as it is: `**` in it is no mark."""
    parts, at = [], 0
    for found in _CODE.finditer(said):
        parts += [_stressed(said[at : found.start()]), f"<code>{text(found[2].strip())}</code>"]
        at = found.end()
    return "".join([*parts, _stressed(said[at:])])


def _stressed(said: str) -> str:
    return _STRONG.sub(r"<strong>\1</strong>", _HEADING.sub(r"<strong>\1</strong>", text(said)))


def diff(unified: str) -> str:
    """Return a unified diff of one file with a class for each line. The header, a file name, is left out, and so are
    the positions of hunks: a line of dots parts them.
    """
    rows = []
    for at, line in enumerate(diff_lines(unified)):
        if not line.startswith("@"):
            rows.append(f"<span{_DIFF_CLASS.get(line[:1], '')}>{text(line)}</span>")
        elif at > 0:
            rows.append('<span class="hunk">\u22ef</span>')
    return f'<pre class="diff">{"".join(rows)}</pre>'


_DIFF_CLASS = {"+": ' class="add"', "-": ' class="del"'}


def local_time(timestamp: str) -> str:
    """Return a time of the log as a person of this machine writes it, with its zone; other texts as they are."""
    try:
        local = datetime.fromisoformat(timestamp).astimezone()
    except (ValueError, OverflowError, OSError):
        return timestamp
    return f"{local.day} {local:%B %Y, %H:%M} {local:%Z}".rstrip()


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def lines_changed(added: int, removed: int) -> str:
    """Return the numbers of lines in the colours of a diff."""
    return f'<span class="plus">+{added}</span> <span class="minus">\u2212{removed}</span>'
