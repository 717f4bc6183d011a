"""How `provider_options` reach a request: merged over it unchanged (U13), without losing what we need in it."""

from __future__ import annotations

from collections.abc import Mapping

from agent_ls.llm.messages import JsonObject, JsonValue

# Lists that grow by the user's items instead of being replaced: built-in tools stand beside ours, and
# replay needs what we include.
_GROWING = ("tools", "include")


def merged(body: JsonObject, options: JsonObject) -> JsonObject:
    """`body` with `options` over it: objects are merged key by key, lists in `_GROWING` are appended to, all
    else is replaced."""
    out = dict(body)
    for key, value in options.items():
        ours = out.get(key)
        if isinstance(ours, Mapping) and isinstance(value, Mapping):
            out[key] = merged(ours, value)
        elif key in _GROWING and isinstance(ours, list) and isinstance(value, list):
            out[key] = [*ours, *(item for item in value if item not in ours)]
        else:
            out[key] = value
    return out


def string_list(value: JsonValue) -> list[str]:
    """The strings of a list option, or a single one; anything else is no string."""
    if isinstance(value, str):
        return [value]
    return [item for item in value if isinstance(item, str)] if isinstance(value, list | tuple) else []
