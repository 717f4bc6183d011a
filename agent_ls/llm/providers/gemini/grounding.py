"""Decode `groundingMetadata`: the web searches and sources that Gemini used for an answer."""

from __future__ import annotations

from agent_ls.llm.messages import Citation, JsonObject, Origin, SearchPart, Source
from agent_ls.llm.providers.wire_json import int_at, object_at, objects_at, text_at


def search_part(grounding: JsonObject, origin: Origin) -> SearchPart:
    listed = grounding.get("webSearchQueries")
    queries = tuple(query for query in listed if isinstance(query, str)) if isinstance(listed, list) else ()
    return SearchPart(queries, tuple(_sources(grounding)), origin)


def find_citations(grounding: JsonObject, before: str, text: str) -> tuple[Citation, ...]:
    """Return the citations in `text`. Gemini counts the bytes from the start of `before`, the text before `text`."""
    whole, sources = (before + text).encode(), _sources(grounding)
    found = []
    for support in objects_at(grounding, "groundingSupports"):
        segment = object_at(support, "segment")
        start, end = (
            len(whole[: max(0, int_at(segment, key) or 0)].decode(errors="ignore")) - len(before)
            for key in ("startIndex", "endIndex")
        )
        if 0 <= start < end:
            found += [
                Citation(sources[at], start, end) for at in _chunk_indices(support) if at < len(sources)
            ]
    return tuple(found)


def _sources(grounding: JsonObject) -> list[Source]:
    """Return the sources. Each grounding chunk is a web page, or a document of the request."""
    rows = objects_at(grounding, "groundingChunks")
    chunks = (object_at(row, "web") or object_at(row, "retrievedContext") for row in rows)
    return [Source(text_at(chunk, "uri"), text_at(chunk, "title")) for chunk in chunks]


def _chunk_indices(support: JsonObject) -> list[int]:
    listed = support.get("groundingChunkIndices")
    return [at for at in listed if type(at) is int and at >= 0] if isinstance(listed, list) else []
