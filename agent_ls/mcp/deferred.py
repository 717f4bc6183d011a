"""The tools `find_tools` and `call_tool`: if servers offer many tools, the model searches for tools instead of
receiving all definitions.

The definitions of both tools never change, so that all requests of a session have the same prefix.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from agent_ls.environments.effects import NoEffect
from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.schema_check import find_schema_error
from agent_ls.mcp.descriptions import ServerTool
from agent_ls.mcp.schemas import provider_schema
from agent_ls.mcp.visible import without_hidden
from agent_ls.patterns import regex
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolError, ToolOutput
from agent_ls.tools.look import Look
from agent_ls.tools.summary import one_line

FIND_TOOLS = "find_tools"
CALL_TOOL = "call_tool"
MAX_FOUND = 10
MAX_LISTED = 40
"""Maximum number of server tools whose definitions are sent. With more tools, the model uses `find_tools`,
even if the definitions are short.
"""

_WORD = regex(r"[a-z0-9]+")
_K1, _B = 1.2, 0.75


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool of a server, and the name by which the model calls it."""

    server: str
    described: ServerTool
    tool: Tool[Any]

    @property
    def words(self) -> Sequence[str]:
        properties = self.described.schema.get("properties")
        names = " ".join(map(str, properties)) if isinstance(properties, Mapping) else ""
        text = (
            f"{self.server} {self.described.name} {self.described.title} {self.described.description} {names}"
        )
        return _words(text)


class FindArguments(Arguments):
    query: str = Field(description="Words for what the tool should do, or its name.")
    server: str = Field(default="", description="Look among the tools of this server only.")


class CallArguments(Arguments):
    name: str = Field(description="The name of the tool, as returned by find_tools.")
    arguments: dict[str, Any] = Field(
        default_factory=dict, description="The arguments of the tool, which match its schema."
    )


def deferred_tools(offered: Callable[[], Sequence[OfferedTool]]) -> tuple[Tool[Any], Tool[Any]]:
    """Return the tools `find_tools` and `call_tool`. `offered` returns the server tools that they can find now."""

    async def find(arguments: FindArguments, context: ToolContext) -> Prepared:
        async def run() -> ToolOutput:
            return ToolOutput(_listing(best_tools(offered(), arguments.query, arguments.server)))

        return Prepared(NoEffect(), run)

    async def call(arguments: CallArguments, context: ToolContext) -> Prepared:
        chosen = next((it for it in offered() if it.tool.name == arguments.name), None)
        if chosen is None:
            near = best_tools(offered(), arguments.name.replace("_", " "), "")
            names = ", ".join(it.tool.name for it in near[:3])
            hint = f" Did you mean {names}?" if names else " Look for it with find_tools."
            raise ToolError(f"No tool is named {arguments.name!r}.{hint}", kind="unknown_tool")
        _check(chosen, arguments.arguments)
        parsed = chosen.tool.arguments.model_validate(arguments.arguments)
        prepared: Prepared = await chosen.tool.prepare(parsed, context)
        return prepared

    finding: Tool[Any] = Tool(
        name=FIND_TOOLS,
        description=(
            "Find tools of the user's MCP servers by what they do. Returns up to 10 names with descriptions and "
            "the schema of the arguments. Call a tool that you found with call_tool."
        ),
        category="read",
        arguments=FindArguments,
        prepare=find,
        look=Look("search", "Looking for tools", "Looked for tools"),
        summarize=lambda arguments: one_line(arguments.query),
    )
    calling: Tool[Any] = Tool(
        name=CALL_TOOL,
        description="Call a tool of one of the user's MCP servers that find_tools has found.",
        category="write",
        arguments=CallArguments,
        prepare=call,
        look=Look("other", "Calling", "Called"),
        summarize=lambda arguments: one_line(
            f"{arguments.name} {json.dumps(arguments.arguments, ensure_ascii=False)}"
        ),
    )
    return finding, calling


def _check(chosen: OfferedTool, values: Mapping[str, Any]) -> None:
    try:
        problem = find_schema_error(values, chosen.described.schema)
    except ConfigurationError:
        return
    if problem:
        schema = json.dumps(provider_schema(chosen.described.schema), ensure_ascii=False)
        raise ToolError(
            f"Invalid arguments for {chosen.tool.name}: {problem}. Its schema: {schema}", kind="validation"
        )


def best_tools(offered: Sequence[OfferedTool], query: str, server: str) -> Sequence[OfferedTool]:
    """Return up to ten tools, best first, ranked by BM25; a tool whose name equals the query is first."""
    known = [it for it in offered if not server or it.server == server]
    asked = set(_words(query))
    texts = [Counter(it.words) for it in known]
    lengths = [sum(text.values()) for text in texts]
    average = sum(lengths) / len(lengths) if lengths else 1
    rarity = {word: _rarity(sum(word in text for text in texts), len(texts)) for word in asked}
    ranked = []
    for position, (item, text, length) in enumerate(zip(known, texts, lengths, strict=True)):
        norm = _K1 * (1 - _B + _B * length / (average or 1))
        score = sum(
            rarity[word] * text[word] * (_K1 + 1) / (text[word] + norm) for word in asked if text[word]
        )
        is_named = query.strip() in (item.tool.name, item.described.name)
        if score or is_named or not asked:
            ranked.append((not is_named, -score, position, item))
    ranked.sort(key=lambda entry: entry[:3])
    return [entry[3] for entry in ranked[:MAX_FOUND]]


def _rarity(count: int, total: int) -> float:
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


def _words(text: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    return [word.removesuffix("s") if len(word) > 3 else word for word in _WORD.findall(spaced.lower())]


def _listing(found: Sequence[OfferedTool]) -> str:
    if not found:
        return "No tool matches. Try other words."
    lines = []
    for item in found:
        schema = json.dumps(provider_schema(item.described.schema), ensure_ascii=False)
        lines.append(f"{item.tool.name}: {first_sentence(item.described.description)}\n  arguments: {schema}")
    return "\n".join(lines)


def first_sentence(text: str) -> str:
    plain = " ".join(without_hidden(text).split())
    end = re.search(r"[.!?](?:\s|$)", plain)
    return (plain[: end.end()] if end else plain).strip()[:200]


def definition_chars(tools: Sequence[Tool[Any]]) -> int:
    """Estimate the characters that these tools add to a request."""
    return sum(len(it.name) + len(it.description) + len(json.dumps(it.schema or {})) for it in tools)
