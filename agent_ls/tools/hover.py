"""hover: read the type and the documentation of a symbol, from the editor's language servers."""

from __future__ import annotations

from functools import partial
from typing import Any

from agent_ls.environments.language_host import LanguageHost, SourcePosition
from agent_ls.text import strip_controls
from agent_ls.tools.base import Prepared, Tool, ToolContext, ToolOutput
from agent_ls.tools.location_list import SECRET, FileTexts
from agent_ls.tools.look import Look
from agent_ls.tools.summary import one_line
from agent_ls.tools.symbol_lookup import SymbolArguments, find_symbol, grep_hint, lookup_effect, query_editor

MAX_CHARS = 8_000


async def prepare(host: LanguageHost, arguments: SymbolArguments, context: ToolContext) -> Prepared:
    async def run() -> ToolOutput:
        position = await find_symbol(arguments, host, context)
        instead = f"Read its definition instead. {grep_hint(arguments.symbol)}"
        texts = await query_editor(host.hover(position), instead)
        found = list(dict.fromkeys(text for one in texts if (text := strip_controls(one).strip())))
        if not found:
            return ToolOutput(f"The editor knows nothing about {arguments.symbol!r}. {instead}")
        if await _is_defined_in_secrets(position, host, context):
            return ToolOutput(f"The text about {arguments.symbol!r} is not shown: {SECRET}.")
        text = "\n\n".join(found)
        if len(text) > MAX_CHARS:
            text = f"{text[:MAX_CHARS]}\n[The rest, {len(text) - MAX_CHARS} characters, is left out.]"
        return ToolOutput(text, summary=one_line(next(filter(_is_code, text.splitlines()), "")))

    return Prepared(lookup_effect(arguments, context), run)


async def _is_defined_in_secrets(position: SourcePosition, host: LanguageHost, context: ToolContext) -> bool:
    """Return whether the symbol comes from a file with secrets: language servers show the values of constants."""
    if "definition" not in host.supported_queries():
        return False
    places = (await query_editor(host.definition(position), "")).places
    texts = FileTexts(context)
    return SECRET in [await texts.of(place.name) for place in places if place.is_file]


def _is_code(line: str) -> bool:
    return bool(line.strip()) and not line.startswith("```")


def hover(host: LanguageHost) -> Tool[Any]:
    return Tool(
        name="hover",
        description=(
            "Return the type, signature and documentation of a symbol, as the editor's language servers show them. "
            "Use it for symbols of libraries, and where the type is not written in the code. Arguments as for "
            "definition."
        ),
        category="read",
        arguments=SymbolArguments,
        prepare=partial(prepare, host),
        look=Look("search", "Looking up", "Looked up"),
        summarize=lambda arguments: one_line(arguments.symbol),
    )
