"""Decode citations; shared by APIs with OpenAI's annotations."""

from __future__ import annotations

from collections.abc import Iterable

from agent_ls.llm.messages import Citation, JsonObject, Source
from agent_ls.llm.providers.wire_json import int_at, object_at, text_at


def url_citations(annotations: Iterable[JsonObject], text: str, before: int = 0) -> tuple[Citation, ...]:
    """Convert annotations to citations. Chat Completions nests the fields of an annotation in `url_citation`.

    `before` is the total length of the text parts before `text`.
    """
    found = []
    for annotation in annotations:
        fields = object_at(annotation, "url_citation") or annotation
        source = Source(text_at(fields, "url"), text_at(fields, "title") or text_at(fields, "filename"))
        if source != Source():
            start, end = citation_range(int_at(fields, "start_index"), int_at(fields, "end_index"), text)
            found.append(Citation(source, before + start, before + end, text_at(fields, "content")))
    return tuple(found)


def citation_range(start: int | None, end: int | None, text: str) -> tuple[int, int]:
    """Return the range of a citation in `text`; the whole text if the provider's range is missing or invalid."""
    if start is None or end is None or not 0 <= start < end <= len(text):
        return 0, len(text)
    return start, end
