"""Where words come from, as our values: what the wires have in common in telling it."""

from __future__ import annotations

from collections.abc import Iterable

from agent_ls.llm.messages import Citation, JsonObject, Source
from agent_ls.llm.providers.wire_json import int_at, object_at, text_at


def url_citations(annotations: Iterable[JsonObject], text: str, before: int = 0) -> tuple[Citation, ...]:
    """Of OpenAI's annotations, which Chat Completions has in an object of their own. `before`: so many characters of
    the whole stand before `text`, which they count in."""
    found = []
    for annotation in annotations:
        told = object_at(annotation, "url_citation") or annotation
        source = Source(text_at(told, "url"), text_at(told, "title") or text_at(told, "filename"))
        if source != Source():
            start, end = span(int_at(told, "start_index"), int_at(told, "end_index"), text)
            found.append(Citation(source, before + start, before + end, text_at(told, "content")))
    return tuple(found)


def span(start: int | None, end: int | None, text: str) -> tuple[int, int]:
    """The places of a citation in `text`: all of it where they are not told, or tell nothing that could be."""
    if start is None or end is None or not 0 <= start < end <= len(text):
        return 0, len(text)
    return start, end
