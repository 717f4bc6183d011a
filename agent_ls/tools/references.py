"""references: find the uses of a symbol with the editor's language server."""

from __future__ import annotations

from functools import partial
from typing import Any

from pydantic import Field

from agent_ls.environments.language_host import LanguageHost
from agent_ls.text import plural
from agent_ls.tools.base import Prepared, Tool, ToolContext, ToolOutput
from agent_ls.tools.location_list import list_found
from agent_ls.tools.look import Look
from agent_ls.tools.summary import one_line
from agent_ls.tools.symbol_lookup import SymbolArguments, find_symbol, grep_hint, lookup_effect, query_editor


class ReferencesArguments(SymbolArguments):
    offset: int = Field(default=1, ge=1, description="The number of the first result to return.")


async def prepare(host: LanguageHost, arguments: ReferencesArguments, context: ToolContext) -> Prepared:
    async def run() -> ToolOutput:
        position = await find_symbol(arguments, host, context)
        found = await query_editor(host.references(position), grep_hint(arguments.symbol))
        if not found.places:
            return ToolOutput(
                f"The editor finds no use of {arguments.symbol!r}. {grep_hint(arguments.symbol)}"
            )
        files = len({place.name for place in found.places})
        summary = f"{len(found.places)} in {plural(files, 'file')}"
        return ToolOutput(await list_found(found, arguments.offset, "places", context), summary=summary)

    return Prepared(lookup_effect(arguments, context), run)


def references(host: LanguageHost) -> Tool[Any]:
    return Tool(
        name="references",
        description=(
            "Find all places where a symbol is used, including its definition. The editor's language server "
            "finds them, so other symbols of the same name are left out. Give the symbol and a file and line "
            "where it occurs, or the name alone if only one symbol has it. Long lists are returned in pages."
        ),
        category="read",
        arguments=ReferencesArguments,
        prepare=partial(prepare, host),
        look=Look("search", "Finding uses of", "Found uses of"),
        summarize=lambda arguments: one_line(arguments.symbol),
    )
