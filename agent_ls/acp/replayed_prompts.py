"""Pure: the content blocks of a stored prompt, for a client that loads its session: the reverse of prompts.py."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from agent_ls.patterns import regex

_PART = regex(
    r"(?:(?<=\n\n)|\A)(?P<kind>File|Folder|Link|Attached): (?P<place>[^\n]+)"
    r"(?:\n(?P<fence>`{3,})\n(?P<text>.*?)\n(?P=fence))?(?=\n\n|\Z)",
    re.DOTALL,
)
"""A link or an attachment, as prompts.py writes it for the model."""

_PLACE = regex(
    r"(?P<path>(?:/|[A-Za-z]:[\\/]).*?)(?:, lines? (?P<first>\d+)(?: to (?P<last>\d+))?)?(?: \(its content .*\))?\Z"
)
_LINK = regex(r"(?:(?P<name>.*): )?(?P<uri>[A-Za-z][A-Za-z0-9+.-]*:[^\s]+)\Z")


def blocks_of(text: str) -> Iterator[dict[str, Any]]:
    """Yield the blocks of a prompt: links and resources, and the text between them."""
    begin = 0
    for found in _PART.finditer(text):
        if block := _block(found):
            yield from _text(text[begin : found.start()])
            yield block
            begin = found.end()
    yield from _text(text[begin:])


def _text(text: str) -> Iterator[dict[str, Any]]:
    if text.strip("\n"):
        yield {"type": "text", "text": text.strip("\n")}


def _block(found: re.Match[str]) -> dict[str, Any] | None:
    kind, said = found["kind"], found["place"]
    if place := _PLACE.match(said):
        uri, name = _uri(place), re.split(r"[\\/]", place["path"].rstrip("\\/"))[-1]
    elif link := _LINK.match(said):
        uri, name = (said, "") if kind == "Attached" else (link["uri"], link["name"])
    else:
        return None
    if found["text"] is not None:
        return {"type": "resource", "resource": {"uri": uri, "text": found["text"]}}
    return {"type": "resource_link", "name": name or uri, "uri": uri}


def _uri(place: re.Match[str]) -> str:
    path, first, last = place["path"].replace("\\", "/"), place["first"], place["last"]
    lines = f"#L{first}" + (f":{last}" if last else "") if first else ""
    return f"file://{'' if path.startswith('/') else '/'}{quote(path, safe='/:')}{lines}"
