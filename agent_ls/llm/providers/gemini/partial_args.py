"""Assemble call arguments that arrive in pieces, each with a path (`streamFunctionCallArguments`)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from agent_ls.llm.messages import JsonObject
from agent_ls.llm.providers.wire_json import objects_at, text_at, valid_text
from agent_ls.patterns import regex

_STEP = regex(r"\.([^.\[\]]+)|\[(\d+)\]|\['([^']*)'\]")
_VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")
_MAX_INDEX = 10_000  # limit for a list index in a path, which is untrusted


class PartialArgs:
    def __init__(self) -> None:
        self.value: dict[str, Any] = {}

    def add(self, call: JsonObject) -> None:
        for piece in objects_at(call, "partialArgs"):
            steps = [
                name or quoted or int(index)
                for name, index, quoted in _STEP.findall(text_at(piece, "jsonPath"))
            ]
            key = next((key for key in _VALUES if key in piece), None)
            if steps and key is not None:
                self._put(steps, None if key == "nullValue" else piece[key])

    def _put(self, steps: list[str | int], value: Any) -> None:
        place: Any = self.value
        for step, following in pairwise(steps):
            place = _at(place, step, [] if isinstance(following, int) else {})
        last = steps[-1]
        before = _at(place, last, None)
        if isinstance(value, str):
            value = valid_text((before if isinstance(before, str) else "") + value)
        if isinstance(place, dict):
            place[str(last)] = value
        elif isinstance(place, list) and isinstance(last, int) and last < len(place):
            place[last] = value


def _at(place: Any, step: str | int, fresh: Any) -> Any:
    """Return the value in the object or list `place` at the key or index `step`.

    If there is no value, insert `fresh` and return it. If `step` does not fit `place`, only return `fresh`.
    """
    if isinstance(place, dict):
        return place.setdefault(str(step), fresh)
    if not isinstance(place, list) or not isinstance(step, int) or step > _MAX_INDEX:
        return fresh
    while len(place) <= step:
        place.append(None)
    if place[step] is None:
        place[step] = fresh
    return place[step]
