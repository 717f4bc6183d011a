"""Pure: find the id, the method and the document of a message that is too large to be read.

Only the first and last bytes of the message are stored, so only top-level members in these bytes are found.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]  # of the standard library, without a stub
from typing import Any

from agent_ls.patterns import regex

HEAD_BYTES = 64 * 1024
TAIL_BYTES = 1024

_SPACE = regex(r"[ \t\r\n]*")
# Matches members after `params`: nothing else is between these members and the end of the message.
_TAIL = regex(r'((?:\s*,\s*"(?:id|method|jsonrpc)"\s*:\s*(?:-?\d+|"[^"\\]*"))+)\s*\}\s*\Z')
_DOCUMENTS = ("textDocument", "notebookDocument")


@dataclass(frozen=True, slots=True)
class LargeMessage:
    """A message that is too large to be read: its first and last bytes, and its `size` in bytes."""

    head: bytes
    tail: bytes
    size: int


@dataclass(frozen=True, slots=True)
class LargeMessageSummary:
    """The members of a large message that could be found.

    `id` is None for a notification, `method` "" for a response, `uri` "" if the message names no document.
    """

    id: int | str | None
    method: str
    uri: str


def summarize(message: LargeMessage) -> LargeMessageSummary:
    found = _members(message.head.decode("utf-8", "replace"))
    if late := _TAIL.search(message.tail.decode("utf-8", "replace")):
        found |= json.loads("{" + late[1].lstrip().removeprefix(",") + "}")
    given, method, params = found.get("id"), found.get("method"), found.get("params")
    return LargeMessageSummary(
        given if isinstance(given, int | str) and not isinstance(given, bool) else None,
        method if isinstance(method, str) else "",
        document_uri(params),
    )


def document_uri(params: object) -> str:
    """Return the URI of the document that parameters of any shape name, "" for none."""
    documents = [params[name] for name in _DOCUMENTS if name in params] if isinstance(params, dict) else []
    uri = documents[0].get("uri") if documents and isinstance(documents[0], dict) else ""
    return uri if isinstance(uri, str) else ""


def _members(text: str) -> dict[str, Any]:
    """Return the members of the possibly truncated JSON object in `text`, including those of a truncated inner
    object.
    """
    found: dict[str, Any] = {}
    try:
        _object(text, _skip(text, 0), found)
    except (ValueError, IndexError, RecursionError):
        return found  # the text ends here, or is not JSON
    return found


def _object(text: str, at: int, found: dict[str, Any]) -> int:
    if text[at] != "{":
        raise ValueError("no object")
    at = _skip(text, at + 1)
    while text[at] != "}":
        name, at = scanstring(text, at + 1, False)
        at = _skip(text, at)
        if text[at] != ":":
            raise ValueError("no member")
        at = _skip(text, at + 1)
        if text[at] == "{":
            found[name] = {}
            at = _object(text, at, found[name])
        else:
            found[name], at = json.JSONDecoder().raw_decode(text, at)
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return at + 1


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at
