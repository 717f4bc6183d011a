"""Ids and names of calls that every provider accepts. Calls of the history may come from another model."""

from __future__ import annotations

import hashlib
from collections.abc import Collection

from agent_ls.patterns import regex

_ID = regex(r"[a-zA-Z0-9_-]{1,64}")
_SHORT_ID = regex(r"[a-zA-Z0-9]{9}")
_NAME = regex(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
_SEPARATOR = regex(r"[.:/]")
_OTHER = regex(r"[^a-zA-Z0-9_-]")


def valid_call_id(call_id: str, limit: int = 64) -> str:
    """Return an id that providers accept: `call_id` itself, or one derived from it that no other id is turned into.

    `limit`: the length that is accepted, at least 10.
    """
    if _ID.fullmatch(call_id) and len(call_id) <= limit:
        return call_id
    digest = hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{_OTHER.sub('_', call_id)[: min(40, limit - 9)]}_{digest}"


def short_call_id(call_id: str) -> str:
    """Return an id of nine letters and digits, which Mistral demands."""
    if _SHORT_ID.fullmatch(call_id):
        return call_id
    return hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:9]


def valid_tool_name(name: str) -> str:
    """Return a tool's name that providers accept. A model can call a tool by a name that does not exist."""
    if _NAME.fullmatch(name):
        return name
    return _OTHER.sub("_", name).lstrip("-0123456789")[:64] or "unknown_tool"


def offered_name(name: str, offered: Collection[str]) -> str:
    """Return the offered tool that a name means.

    Models put a namespace before it, or an argument behind it, and servers leave special tokens in it.
    """
    plain = name.partition("<|")[0].strip()
    if not offered or plain in offered:
        return plain if offered else name
    parts = _SEPARATOR.split(plain)
    return next((part for part in (parts[-1], parts[0]) if part in offered), name)
