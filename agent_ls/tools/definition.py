"""definition: find the definition of a symbol with the editor's language server."""

from __future__ import annotations

from functools import partial
from typing import Any

from agent_ls.environments.language_host import FoundLocation, LanguageHost
from agent_ls.tools.base import Prepared, Tool, ToolContext, ToolOutput
from agent_ls.tools.location_list import CUT, list_locations
from agent_ls.tools.look import Look
from agent_ls.tools.summary import one_line
from agent_ls.tools.symbol_lookup import (
    SymbolArguments,
    find_symbol,
    grep_hint,
    lookup_effect,
    query_editor,
    symbols_with_name,
)


async def prepare(host: LanguageHost, arguments: SymbolArguments, context: ToolContext) -> Prepared:
    async def run() -> ToolOutput:
        places, is_cut = await _definitions(host, arguments, context)
        if not places:
            return ToolOutput(
                f"The editor knows no definition of {arguments.symbol!r}. {grep_hint(arguments.symbol)}"
            )
        text = await list_locations(places, 1, "places", context)
        return ToolOutput(f"{text}\n{CUT}" if is_cut else text)

    return Prepared(lookup_effect(arguments, context), run)


async def _definitions(
    host: LanguageHost, arguments: SymbolArguments, context: ToolContext
) -> tuple[list[FoundLocation], bool]:
    if not arguments.file_path:
        return [one.place for one in await symbols_with_name(arguments.symbol, host)], False
    position = await find_symbol(arguments, host, context)
    found = await query_editor(host.definition(position), grep_hint(arguments.symbol))
    return list(found.places), found.is_cut


def definition(host: LanguageHost) -> Tool[Any]:
    return Tool(
        name="definition",
        description=(
            "Find the definition of a symbol. The editor's language server finds it and knows imports, types "
            "and methods, while grep only knows text. Give the symbol and a file and line where it occurs, or "
            "the name alone to look it up in the workspace."
        ),
        category="read",
        arguments=SymbolArguments,
        prepare=partial(prepare, host),
        look=Look("search", "Finding the definition of", "Found the definition of"),
        summarize=lambda arguments: one_line(arguments.symbol),
    )
