"""Merge the user's `provider_options` into a request body, keeping the agent's tools and `include` values."""

from __future__ import annotations

from collections.abc import Mapping

from agent_ls.llm.messages import JsonObject, JsonValue

# Lists in the body that are extended by the user's items instead of replaced. Built-in tools from the user's
# options are added to the agent's tools. The agent's `include` values return items that later requests repeat.
_GROWING = ("tools", "include")


def merge_options(body: JsonObject, options: JsonObject) -> JsonObject:
    """Return `body` with `options` merged.

    Objects are merged key by key, lists in `_GROWING` are extended, and all other values are replaced.
    """
    out = dict(body)
    for key, value in options.items():
        ours = out.get(key)
        if isinstance(ours, Mapping) and isinstance(value, Mapping):
            out[key] = merge_options(ours, value)
        elif key in _GROWING and isinstance(ours, list) and isinstance(value, list):
            out[key] = [*ours, *(item for item in value if item not in ours)]
        else:
            out[key] = value
    return out


def string_list(value: JsonValue) -> list[str]:
    """Return the strings of a list option, or a single string as a list; empty for other values."""
    if isinstance(value, str):
        return [value]
    return [item for item in value if isinstance(item, str)] if isinstance(value, list | tuple) else []
