"""Change contents of this API for gateways and older models that refuse a usual form."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from agent_ls.llm.providers.refused_forms import NO_TEXT, SINGLE, without_fields
from agent_ls.llm.providers.wire_json import encode_json
from agent_ls.patterns import regex

# Vertex AI: Unknown name "id" at 'contents[1].parts[0].function_call': Cannot find field.
FIELDS = ("id", "thoughtSignature", "thought", "willContinue", "scheduling")
REFUSALS: Mapping[str, re.Pattern[str]] = {
    # images in a response: Unknown name "parts" at 'contents[2].parts[0].function_response': Cannot find field.
    "imageless": regex(
        r"unknown name \W*parts\W* at \W*[\w.\[\]]*function_?response|multimodal function responses?"
    ),
    # Gemma: Developer instruction is not enabled for models/gemma-3-27b-it
    "systemless": regex(
        r"(developer|system)[ _]?instructions? .{0,40}not (enabled|supported)|unknown name \W*system_?instruction"
    ),
    "single": SINGLE,
    "filled": regex(
        r"oneof field .?data|(parts?|contents?|text)\b.{0,40}(not be empty|is empty|blank|must (have|include|contain))"
    ),
    # Please ensure that multiturn requests alternate between user and model.
    "alternating": regex(r"alternat|(consecutive|multiple) (user|model) (turns|messages|contents)|same role"),
}


def adapt_contents(contents: Sequence[bytes], system: str, chosen: frozenset[str]) -> list[bytes]:
    """Return the encoded contents in the forms that the server accepts."""
    if not chosen:
        return [*contents]
    if "systemless" in chosen and system:
        contents = [_content("user", [{"text": system}]), *contents]
    out = without_fields([*contents], chosen)
    out = [moved for content in out for moved in _without_images(content)] if "imageless" in chosen else out
    out = [*map(_filled, out)] if "filled" in chosen else out
    out = _one_call_each(out) if "single" in chosen else out
    return _alternate(out) if "alternating" in chosen else out


def _content(role: str, parts: Sequence[Any]) -> bytes:
    return encode_json({"role": role, "parts": [*parts]})


@lru_cache(maxsize=4096)  # the contents of a conversation are the same bytes in each request
def _without_images(encoded: bytes) -> tuple[bytes, ...]:
    """Return the content, and the images of its responses in a content of their own."""
    content: dict[str, Any] = json.loads(encoded)
    images: list[Any] = []
    for part in content["parts"]:
        images += part.get("functionResponse", {}).pop("parts", ())
    return (encode_json(content), *([_content("user", images)] if images else ()))


@lru_cache(maxsize=4096)
def _filled(encoded: bytes) -> bytes:
    content: dict[str, Any] = json.loads(encoded)
    kept = [part for part in content["parts"] if part.get("text", "x").strip() or "thoughtSignature" in part]
    return _content(content["role"], kept or [{"text": NO_TEXT}])


def _one_call_each(contents: Sequence[bytes]) -> list[bytes]:
    """Give each call a content of its own, which its response follows."""
    out: list[bytes] = []
    waiting: list[Any] = []
    for encoded in contents:
        content: dict[str, Any] = json.loads(encoded)
        calls = [part for part in content["parts"] if "functionCall" in part]
        responses = [part for part in content["parts"] if "functionResponse" in part]
        if len(calls) > 1:
            out.append(_content("model", [part for part in content["parts"] if part not in calls[1:]]))
            waiting = calls[1:]
        elif waiting and len(responses) == len(waiting) + 1:
            out.append(_content("user", responses[:1]))
            for call, response in zip(waiting, responses[1:], strict=True):
                out += (_content("model", [call]), _content("user", [response]))
            waiting = []
        else:
            out.append(encoded)
    return out


def _alternate(contents: Sequence[bytes]) -> list[bytes]:
    """Let an answer come between two contents of the user."""
    out: list[bytes] = []
    for encoded in contents:
        if out and {json.loads(one)["role"] for one in (out[-1], encoded)} == {"user"}:
            out.append(_content("model", [{"text": NO_TEXT}]))
        out.append(encoded)
    return out
