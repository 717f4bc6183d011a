"""references: where a symbol is used, as the editor's language tools know it (REQUIREMENTS T14)."""

from __future__ import annotations

from functools import partial
from typing import Any

from pydantic import Field

from agent_ls.environments.language_host import LanguageHost
from agent_ls.tools.base import Prepared, Tool, ToolContext, ToolOutput
from agent_ls.tools.code_places import CUT, in_order, listed
from agent_ls.tools.summary import one_line
from agent_ls.tools.symbol_at import SymbolArguments, answered, by_grep, looked_at, spot_of


class ReferencesArguments(SymbolArguments):
    offset: int = Field(default=1, ge=1, description="The number of the first result to return.")


async def prepare(host: LanguageHost, arguments: ReferencesArguments, context: ToolContext) -> Prepared:
    async def run() -> ToolOutput:
        spot = await spot_of(arguments, host, context)
        found = await answered(host.references(spot), by_grep(arguments.symbol))
        if not found.places:
            return ToolOutput(
                f"The editor knows no place where {arguments.symbol!r} is used. {by_grep(arguments.symbol)}"
            )
        files = len({place.name for place in found.places})
        text = await listed(in_order(found.places, context), arguments.offset, "places", context)
        summary = f"{len(found.places)} in {files} file{'s' if files != 1 else ''}"
        return ToolOutput(f"{text}\n{CUT}" if found.is_cut else text, summary=summary)

    return Prepared(looked_at(arguments, context), run)


def summarize(arguments: ReferencesArguments) -> str:
    return one_line(arguments.symbol)


def references(host: LanguageHost) -> Tool[Any]:
    return Tool(
        name="references",
        description=(
            "Find all places where a symbol is used, its definition among them. The editor's language server answers: "
            "other things of the same name are left out. Name the symbol, and a file and line where it occurs; or "
            "its name alone where it is the only one. Long lists come in pages."
        ),
        category="read",
        arguments=ReferencesArguments,
        prepare=partial(prepare, host),
        summarize=summarize,
    )
