"""Generate the types of the clients' messages: python -m tests.tools.wire_types.

`tests/golden/protocol/schema.json` is the schema of all messages without descriptions, one definition per
line. `vscode-extension/src/wire` has them as TypeScript types, `editors/nvim/lua/agent_ls/wire` as Lua
annotations. Both folders have the words of `agent_ls/display/words.py` as tables.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agent_ls.display import words
from agent_ls.server.schema.messages import protocol_schema
from tests.tools import wire_lua, wire_ts

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "tests/golden/protocol/schema.json"
LUA = ROOT / "editors/nvim/lua/agent_ls/wire"
TYPESCRIPT = ROOT / "vscode-extension/src/wire"
COMMAND = "python -m tests.tools.wire_types"
WORDS_ABOUT = (
    f"Words for ends of turns, subagents and roll backs. Written by `{COMMAND}` from display/words.py."
)
PROSE = {"title", "description", "default"}


def bare(schema: Any) -> Any:
    """Return the schema without members that do not restrict values."""
    if isinstance(schema, list):
        return [bare(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    named = {"properties", "$defs"}
    return {
        key: {name: bare(inner) for name, inner in value.items()} if key in named else bare(value)
        for key, value in schema.items()
        if key not in PROSE
    }


def schema_text(schema: Mapping[str, Any]) -> str:
    """Return one line per method, requested item and definition, so that differences are readable."""
    groups = [f" {json.dumps(group)}: {{\n{_lines(schema[group])}\n }}" for group in GROUPS]
    return "{\n" + ",\n".join(groups) + "\n}\n"


GROUPS = ("methods", "clientRequests", "$defs")


def _lines(group: Mapping[str, Any]) -> str:
    return ",\n".join(f"  {json.dumps(name)}: {json.dumps(one)}" for name, one in group.items())


def files() -> Iterator[tuple[Path, str]]:
    """Yield each generated file with its text."""
    schema = bare(protocol_schema())
    yield SCHEMA, schema_text(schema)
    for name, text in wire_lua.modules(schema):
        yield LUA / f"{name}.lua", text
    for name, text in wire_ts.modules(schema):
        yield TYPESCRIPT / f"{name}.ts", text
    yield LUA.parent / "shared_words.lua", words_lua()
    yield TYPESCRIPT / "words.ts", words_ts()


def words_lua() -> str:
    tables = "".join(
        f"\n---@type table<string, string>\nM.{name} = {{\n"
        + "".join(f'  {key} = "{words}",\n' for key, words in table.items())
        + "}\n"
        for name, table in _word_tables().items()
    )
    return f"-- {WORDS_ABOUT}\nlocal M = {{}}\n{tables}\nreturn M\n"


def words_ts() -> str:
    tables = "".join(
        f"\nexport const {name}: Readonly<Record<string, string>> = {{\n"
        + "".join(f'  {key}: "{words}",\n' for key, words in table.items())
        + "};\n"
        for name, table in _word_tables().items()
    )
    return f"// {WORDS_ABOUT}\n{tables}"


def _word_tables() -> Mapping[str, Mapping[str, str]]:
    """Return the words that both clients show, by the values in messages."""
    return {
        "END_WORDS": {reason: words.sentence(text) for reason, text in words.END_WORDS.items()},
        "AGENT_WORDS": {reason: text for reason, text in words.AGENT_WORDS.items() if reason},
        "REVERTED_WORDS": words.REVERTED_WORDS,
    }


def main() -> int:
    for path, text in files():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
