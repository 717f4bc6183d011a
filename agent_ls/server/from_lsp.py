"""Positions and uris as the editor says them, turned into ours: lines from 0, offsets in code points, paths.

A line of an editor's document ends at CR LF, LF or CR, as the protocol has it, or at LF only for editors that
do not keep to it (ClientAbilities.newline_only). Positions that do not exist are moved to the next one before
that does: the end of the line, the end of the document.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from agent_ls.server.hello import Encoding
from agent_ls.text import split_lines, strip_ending

_SURROGATE = re.compile("[\ud800-\udfff]")
_DRIVE = re.compile(r"/[A-Za-z]:")


def clean(text: str) -> str:
    """Half a surrogate pair, which editors written in JavaScript can send, is no character: it becomes U+FFFD.

    Both are one unit of UTF-16, so that positions behind it stay.
    """
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def document_lines(text: str, *, newline_only: bool) -> list[str]:
    if not newline_only:
        return split_lines(text)
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def line_content(line: str, *, newline_only: bool) -> str:
    return line.removesuffix("\n") if newline_only else strip_ending(line)


def offset_in_line(content: str, character: int, encoding: Encoding) -> int:
    """Code points before `character`, which counts units of the encoding. `content` has no line ending."""
    if encoding == "utf-32" or content.isascii():
        return min(character, len(content))
    units = content.encode(encoding if encoding == "utf-8" else "utf-16-le")
    end = character if encoding == "utf-8" else character * 2
    # "ignore" drops a character that the position cuts in two: the position is then before it.
    return len(units[:end].decode("utf-8" if encoding == "utf-8" else "utf-16-le", "ignore"))


def spot(
    lines: Sequence[str], line: int, character: int, encoding: Encoding, *, newline_only: bool = False
) -> tuple[int, int]:
    """(line, offset in it) of a position. The line may be `len(lines)`: behind a final line ending."""
    if line >= len(lines):
        is_open = bool(lines) and line_content(lines[-1], newline_only=newline_only) == lines[-1]
        return (len(lines) - 1, len(lines[-1])) if is_open else (len(lines), 0)
    content = line_content(lines[line], newline_only=newline_only)
    return line, offset_in_line(content, character, encoding)


def maybe_path(uri: str) -> str | None:
    """The absolute path of a `file:` uri; None for documents that are no files, and for what no file can be called."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    path = unquote(parts.path, errors="surrogateescape")
    if os.path.sep == "\\" and _DRIVE.match(path):
        path = path[1:]
    if not is_path(path) or not (path.startswith("/") or os.path.isabs(path)):
        return None
    return os.path.normpath(path)


def is_path(text: str) -> bool:
    """Whether the system takes it for a path: it has no NUL, and can be encoded."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False
