"""Positions and uris as the editor says them, turned into ours: lines from 0, offsets in code points, paths.

A line of an editor's document ends at CR LF, LF or CR, as the protocol has it, or at LF only for editors that
do not keep to it (ClientAbilities.newline_only). Positions that do not exist are moved to the next one before
that does: the end of the line, the end of the document.
"""

from __future__ import annotations

import os
import os.path
import re
from collections.abc import Collection, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from agent_ls.server.hello import Encoding
from agent_ls.text import split_lines, strip_ending

MAX_UINTEGER = 2**31 - 1  # LSP, base types

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


def has_texts(params: Any) -> bool:
    """Whether each change of a `didChange` has a text: another value would become one by its name, as null "None"."""
    changes = params.get("contentChanges") if isinstance(params, dict) else None
    return isinstance(changes, list) and all(
        isinstance(change, dict) and isinstance(change.get("text"), str) for change in changes
    )


def mended_change(params: Any) -> Any:
    """The parameters of a `didChange` that is not as the protocol has it, as it is meant.

    Clients write a range that is not there as null, and "to the end" as a number beyond the protocol's largest.
    """
    if not isinstance(params, dict) or not isinstance(params.get("contentChanges"), list):
        return params
    return {**params, "contentChanges": [_mended(change) for change in params["contentChanges"]]}


def _mended(change: Any) -> Any:
    if not isinstance(change, dict):
        return change
    told = {name: value for name, value in change.items() if value is not None}
    if not isinstance(told.get("text"), str):
        told.pop("text", None)  # which makes it unreadable
    if isinstance(where := told.get("range"), dict):
        told["range"] = {end: _clamped(position) for end, position in where.items()}
    return told


def _clamped(position: Any) -> Any:
    if not isinstance(position, dict):
        return position
    return {
        name: min(value, MAX_UINTEGER) if isinstance(value, int) else value
        for name, value in position.items()
    }


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
        path = path[1].upper() + path[2:]  # some editors write it small
    if not is_path(path) or not (path.startswith("/") or os.path.isabs(path)):
        return None
    return os.path.normpath(path)


def true_name(path: str) -> str:
    """The same for all names of one file: links resolved, and on Windows without regard to case."""
    return os.path.normcase(os.path.realpath(path))


def maybe_same(path: str, names: Collection[str]) -> str | None:
    """That of these true names which is the file's at this path.

    Some file systems take letters of either size for the same, or both normal forms of a letter, and a file may have
    several names: where the names are not enough the system says whether it is one file.
    """
    if not names:
        return None
    name = true_name(path)
    if name in names:
        return name
    facts = _maybe_facts(name)
    if facts is None or not facts.st_ino:
        return None
    alike = names if facts.st_nlink > 1 else [it for it in names if _folded(it) == _folded(name)]
    return next((it for it in alike if (its := _maybe_facts(it)) and os.path.samestat(its, facts)), None)


def _folded(path: str) -> str:
    name = os.path.basename(path)
    if name.isascii():
        return name.lower()
    import unicodedata  # few names need it

    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _maybe_facts(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None


def is_path(text: str) -> bool:
    """Whether the system takes it for a path: it has no NUL, and can be encoded."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False
