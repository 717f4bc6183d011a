"""Convert the editor's positions and URIs: lines from 0, offsets in code points, paths.

Lines end at CR LF, LF or CR as in LSP, or at LF only for editors that deviate (ClientAbilities.newline_only).
A position that does not exist is moved back to the closest existing position: the end of the line or of the
document.
"""

from __future__ import annotations

import os
import os.path
from collections.abc import Collection, Sequence
from typing import Any
from urllib.parse import unquote

from agent_ls.addresses import split_address
from agent_ls.patterns import regex
from agent_ls.server.lsp.capabilities import Encoding
from agent_ls.text import split_lines, strip_ending

MAX_UINTEGER = 2**31 - 1  # the LSP base type `uinteger`

_SURROGATE = regex("[\ud800-\udfff]")
_DRIVE = regex(r"/[A-Za-z]:")


def clean(text: str) -> str:
    """Replace lone surrogates, which editors written in JavaScript can send, by U+FFFD.

    A surrogate and U+FFFD are one UTF-16 unit each, so the positions behind them do not change.
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
    """Convert `character`, an offset in a line in units of the encoding, to an offset in code points.
    `content` is the line without its ending.
    """
    if encoding == "utf-32" or content.isascii():
        return min(character, len(content))
    units = content.encode(encoding if encoding == "utf-8" else "utf-16-le")
    end = character if encoding == "utf-8" else character * 2
    # If the position is inside a character, "ignore" drops the character, so that the position moves to its
    # start.
    return len(units[:end].decode("utf-8" if encoding == "utf-8" else "utf-16-le", "ignore"))


def convert_position(
    lines: Sequence[str], line: int, character: int, encoding: Encoding, *, newline_only: bool = False
) -> tuple[int, int]:
    """Return `(line, offset)` of a position. The line may be `len(lines)`, after a final line ending."""
    if line >= len(lines):
        is_open = bool(lines) and line_content(lines[-1], newline_only=newline_only) == lines[-1]
        return (len(lines) - 1, len(lines[-1])) if is_open else (len(lines), 0)
    content = line_content(lines[line], newline_only=newline_only)
    return line, offset_in_line(content, character, encoding)


def has_texts(params: Any) -> bool:
    """Return whether the text of each change in a `didChange` is a string. Parsing would convert a value of
    another type to a string: null would become "None".
    """
    changes = params.get("contentChanges") if isinstance(params, dict) else None
    return isinstance(changes, list) and all(
        isinstance(change, dict) and isinstance(change.get("text"), str) for change in changes
    )


def mended_change(params: Any) -> Any:
    """Repair the parameters of an invalid `didChange`.

    Some clients send a missing range as null, and "to the end" as a number above the LSP maximum.
    """
    if not isinstance(params, dict) or not isinstance(params.get("contentChanges"), list):
        return params
    return {**params, "contentChanges": [_mend_change(change) for change in params["contentChanges"]]}


def _mend_change(change: Any) -> Any:
    if not isinstance(change, dict):
        return change
    mended = {name: value for name, value in change.items() if value is not None}
    if not isinstance(mended.get("text"), str):
        mended.pop("text", None)  # without a text the change is still invalid, and parsing fails
    if isinstance(where := mended.get("range"), dict):
        mended["range"] = {end: _clamp(position) for end, position in where.items()}
    return mended


def _clamp(position: Any) -> Any:
    if not isinstance(position, dict):
        return position
    return {
        name: min(value, MAX_UINTEGER) if isinstance(value, int) else value
        for name, value in position.items()
    }


def mended_action(params: Any) -> Any:
    """Repair the parameters of a request for code actions.

    Editors pass on the diagnostics of all servers, also those without a place, or with null for a number. Such a
    number is the beginning or the end of its line; a diagnostic without a place is left out.
    """
    if not isinstance(params, dict):
        return params
    context = params.get("context")
    given = context if isinstance(context, dict) else {}
    found = given.get("diagnostics")
    diagnostics = [
        {**{name: value for name, value in it.items() if value is not None}, "range": where}
        for it in (found if isinstance(found, list) else ())
        if isinstance(it, dict)
        and isinstance(it.get("message"), str)
        and (where := _mend_range(it.get("range")))
    ]
    kept = {name: value for name, value in given.items() if value is not None}
    where = _mend_range(params.get("range")) or _mend_range({"start": {}, "end": {}})
    return {**params, "range": where, "context": {**kept, "diagnostics": diagnostics}}


def _mend_range(where: Any) -> dict[str, dict[str, int]] | None:
    if not isinstance(where, dict) or not all(isinstance(where.get(end), dict) for end in ("start", "end")):
        return None

    def number(end: str, name: str, missing: int) -> int:
        value = where[end].get(name)
        return min(max(value, 0), MAX_UINTEGER) if type(value) is int else missing

    start = {"line": number("start", "line", 0), "character": number("start", "character", 0)}
    line = number("end", "line", start["line"])
    return {"start": start, "end": {"line": line, "character": number("end", "character", MAX_UINTEGER)}}


def maybe_path(uri: str) -> str | None:
    """Return the absolute path of a `file:` URI; None for other documents and for names that no file can have."""
    parts = split_address(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    path = unquote(parts.path, errors="surrogateescape")
    if os.path.sep == "\\" and _DRIVE.match(path):
        path = path[1].upper() + path[2:]  # some editors send the drive letter in lower case
    if not is_path(path) or not (path.startswith("/") or os.path.isabs(path)):
        return None
    return os.path.normpath(path)


def true_name(path: str) -> str:
    """Return one name for all paths of a file: links resolved, and on Windows case folded."""
    return os.path.normcase(os.path.realpath(path))


def maybe_same(path: str, names: Collection[str]) -> str | None:
    """Return the name in `names` (true names) that is the same file as `path`, None if there is none.

    Two different names are the same file if they have the same inode: some file systems ignore case or Unicode
    normalization, and a file may have hard links.
    """
    if not names:
        return None
    name = true_name(path)
    if name in names:
        return name
    facts = _stat_or_none(name)
    if facts is None or not facts.st_ino:
        return None
    alike = names if facts.st_nlink > 1 else [it for it in names if _fold_case(it) == _fold_case(name)]
    return next((it for it in alike if (its := _stat_or_none(it)) and os.path.samestat(its, facts)), None)


def _fold_case(path: str) -> str:
    name = os.path.basename(path)
    if name.isascii():
        return name.lower()
    import unicodedata  # rarely needed

    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _stat_or_none(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None


def is_path(text: str) -> bool:
    """Return whether the system accepts a path: no NUL, and it can be encoded."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False
