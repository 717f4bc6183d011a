"""implementations: find what implements an interface or overrides a method, with the editor's language server."""

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


class ImplementationsArguments(SymbolArguments):
    offset: int = Field(default=1, ge=1, description="The number of the first result to return.")


async def prepare(host: LanguageHost, arguments: ImplementationsArguments, context: ToolContext) -> Prepared:
    async def run() -> ToolOutput:
        position = await find_symbol(arguments, host, context)
        found = await query_editor(host.implementations(position), grep_hint(arguments.symbol))
        if not found.places:
            return ToolOutput(
                f"The editor finds no implementation of {arguments.symbol!r}. {grep_hint(arguments.symbol)}"
            )
        summary = plural(len(found.places), "implementation")
        return ToolOutput(
            await list_found(found, arguments.offset, "implementations", context), summary=summary
        )

    return Prepared(lookup_effect(arguments, context), run)


def implementations(host: LanguageHost) -> Tool[Any]:
    return Tool(
        name="implementations",
        description=(
            "Find the classes that implement an interface or an abstract class, or the methods that override a "
            "method. The editor's language server finds them. Arguments as for definition."
        ),
        category="read",
        arguments=ImplementationsArguments,
        prepare=partial(prepare, host),
        look=Look("search", "Finding implementations of", "Found implementations of"),
        summarize=lambda arguments: one_line(arguments.symbol),
    )
