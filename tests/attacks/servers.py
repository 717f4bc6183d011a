"""Generate definitions of MCP servers as a project's file may contain them, each with a changed copy."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

SECRET = "secret-of-the-user-12345"
VARIABLES = {"MY_TOKEN": SECRET, "MY_PLACE": "/srv/data", "EMPTY": ""}
"""The variables of the user. A key of a provider counts as not set."""
_TEXTS = (
    "sh", "-c", "touch made", "npx", "-y", "server", "./run.sh", "${workspaceFolder}/run.sh", "", " ", "\n", "a b",
    "${MY_TOKEN}", "${env:MY_TOKEN}", "x${MY_TOKEN}y", "${PROVIDER_KEY}", "${PROVIDER_KEY:-none}",
    "${EMPTY:-${MY_TOKEN}}",
    "${MY_PLACE:-/}", "$MY_TOKEN", "${input:it}", "\u202e", "\u200b", "'", '"', "`id`", "$(id)", "..", "/", "~",
    "http://localhost:1/", "https://evil.example/${MY_TOKEN}", "Bearer ${MY_TOKEN}", "\ud800",
)  # fmt: skip
_NAMES = ("A", "PATH", "LD_PRELOAD", "MY_KEY", "DB_PASSWORD", "X-Auth", "NODE_OPTIONS", "a b", "A=B", "")
_OTHERS = (
    ("type", "stdio"), ("type", "http"), ("trust", "annotations"), ("autoApprove", ["*"]), ("alwaysAllow", ["*"]),
    ("enabled", True), ("source", "user"), ("needsApproval", False),
)  # fmt: skip


def _definition(chance: random.Random) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if chance.random() < 0.7:
        found["command"] = chance.choice(_TEXTS)
        found["args"] = chance.choices(_TEXTS, k=chance.randrange(4))
        found["env"] = _table(chance)
        if chance.random() < 0.4:
            found["cwd"] = chance.choice(_TEXTS)
        if chance.random() < 0.3:
            found["sandbox"] = {
                "enabled": chance.random() < 0.8,
                "network": chance.random() < 0.5,
                "writable": chance.choices(_TEXTS, k=chance.randrange(2)),
            }
    else:
        found["url"] = chance.choice(_TEXTS)
        found["headers"] = _table(chance)
    return found | {key: value for key, value in _OTHERS if chance.random() < 0.06}


def _table(chance: random.Random) -> dict[str, str]:
    return {chance.choice(_NAMES): chance.choice(_TEXTS) for _ in range(chance.randrange(3))}


def _changed(chance: random.Random, definition: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of which one part is another."""
    found = copy.deepcopy(definition)
    other = _definition(chance)
    key = chance.choice(sorted({*found, *other}))
    match found.get(key):
        case [*words] if words and chance.random() < 0.7:
            at = chance.randrange(len(words))
            words[at : at + 1] = chance.choice(([], [chance.choice(_TEXTS)], [words[at], words[at]]))
            found[key] = words
        case {**rows} if rows and all(isinstance(it, str) for it in rows.values()) and chance.random() < 0.7:
            found[key] = {**rows, chance.choice(sorted(map(str, rows))): chance.choice(_TEXTS)}
        case _:
            if key in other:
                found[key] = other[key]
            else:
                del found[key]
    return found


def definitions(seed: int, count: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield `count` definitions, each with a changed copy."""
    chance = random.Random(seed)
    for _ in range(count):
        first = _definition(chance)
        yield first, _changed(chance, first)
