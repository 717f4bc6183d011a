"""call_hierarchy: find the callers of a function, or the functions that it calls, with the editor's language server."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from pydantic import Field

from agent_ls.environments.language_host import FoundCall, LanguageHost
from agent_ls.text import plural
from agent_ls.tools.base import Prepared, Tool, ToolContext, ToolOutput
from agent_ls.tools.location_list import CUT, FileTexts, format_location, get_page, paging_note
from agent_ls.tools.look import Look
from agent_ls.tools.paths import shown_path
from agent_ls.tools.summary import one_line
from agent_ls.tools.symbol_lookup import SymbolArguments, find_symbol, grep_hint, lookup_effect, query_editor

MAX_LINES = 10  # of the calls by one function


class CallHierarchyArguments(SymbolArguments):
    direction: Literal["incoming", "outgoing"] = Field(
        default="incoming", description="incoming: its callers; outgoing: the functions that it calls."
    )
    offset: int = Field(default=1, ge=1, description="The number of the first result to return.")


async def prepare(host: LanguageHost, arguments: CallHierarchyArguments, context: ToolContext) -> Prepared:
    async def run() -> ToolOutput:
        position = await find_symbol(arguments, host, context)
        found = await query_editor(host.calls(position, arguments.direction), grep_hint(arguments.symbol))
        if not found.calls:
            nothing = "no caller of" if arguments.direction == "incoming" else "no call in"
            return ToolOutput(
                f"The editor finds {nothing} {arguments.symbol!r}, or does not know it as a function. "
                f"{grep_hint(arguments.symbol)}"
            )

        def key(one: FoundCall) -> tuple[bool, str, int]:
            name = one.function.place.name
            shown = shown_path(name, context.environment)
            return (shown == name, shown, one.function.place.line)

        page = get_page(sorted(found.calls, key=key), arguments.offset, "functions")
        texts = FileTexts(context)
        rows = [await _render_row(one, texts, context) for one in page]
        rows += paging_note(len(found.calls), arguments.offset, len(page))
        count = len(found.calls)
        return ToolOutput(
            "\n".join([*rows, CUT] if found.is_cut else rows),
            summary=plural(count, "function"),
        )

    return Prepared(lookup_effect(arguments, context), run)


async def _render_row(one: FoundCall, texts: FileTexts, context: ToolContext) -> str:
    function = one.function
    where = format_location(function.place, context)
    shown = [str(line + 1) for line in one.lines[:MAX_LINES]] + ["…"] * (len(one.lines) > MAX_LINES)
    lines = f", called on line{'s' if len(shown) > 1 else ''} {', '.join(shown)}" if shown else ""
    if function.place.is_file and isinstance(why := await texts.of(function.place.name), str):
        return f"{where}: {function.kind} [name not shown: {why}]{lines}"
    inside = f" in {one_line(function.container)}" if function.container else ""
    return f"{where}: {function.kind} {one_line(function.name)}{inside}{lines}"


def call_hierarchy(host: LanguageHost) -> Tool[Any]:
    return Tool(
        name="call_hierarchy",
        description=(
            "List the functions that call a function, or the functions that it calls, each with the lines of the "
            "calls in the calling file. The editor's language server finds them: unlike references, the result has "
            "calls only, and names the calling function. Arguments as for definition."
        ),
        category="read",
        arguments=CallHierarchyArguments,
        prepare=partial(prepare, host),
        look=Look("search", "Finding calls", "Found calls"),
        summarize=lambda arguments: one_line(f"{arguments.direction} of {arguments.symbol}"),
    )
