"""symbols: outline a file, or find names in the workspace, with the editor's language servers."""

from __future__ import annotations

from functools import partial
from typing import Any

from pydantic import Field

from agent_ls.environments.effects import NoEffect, ReadEffect
from agent_ls.environments.language_host import FoundSymbols, LanguageHost, Symbol
from agent_ls.text import plural
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolError, ToolOutput
from agent_ls.tools.location_list import CUT, FileTexts, format_location, get_page, paging_note
from agent_ls.tools.look import Look
from agent_ls.tools.paths import absolute, shown_path
from agent_ls.tools.summary import one_line
from agent_ls.tools.symbol_lookup import query_editor

MAX_DEPTH = 8  # levels of indentation in the outline


class SymbolsArguments(Arguments):
    query: str = Field(
        default="",
        max_length=300,
        description="Part of the name to look for in the workspace, or in the file.",
    )
    file_path: str = Field(
        default="", description="The file to outline; default: search the whole workspace."
    )
    offset: int = Field(default=1, ge=1, description="The number of the first result to return.")


async def prepare(host: LanguageHost, arguments: SymbolsArguments, context: ToolContext) -> Prepared:
    if not arguments.file_path and not arguments.query.strip():
        raise ToolError(
            "Give file_path to outline a file, or query to look a name up in the workspace.",
            kind="validation",
        )
    path = absolute(arguments.file_path, context.environment) if arguments.file_path else ""

    async def run() -> ToolOutput:
        if path:
            await context.environment.read_bytes(
                path
            )  # an outline reveals content, so it must not be returned for a file that may not be read
            instead = "Read the file, or use grep, instead."
            return await _outline(
                await query_editor(host.symbols_of(path), instead), path, arguments, context
            )
        instead = f"Use grep for {arguments.query!r} instead."
        return await _find_symbols(
            await query_editor(host.symbols_named(arguments.query), instead), arguments, context
        )

    return Prepared(ReadEffect((path,)) if path else NoEffect(), run)


async def _outline(
    found: FoundSymbols, path: str, arguments: SymbolsArguments, context: ToolContext
) -> ToolOutput:
    wanted = arguments.query.casefold()
    symbols = [one for one in found.symbols if wanted in one.name.casefold()]
    name = shown_path(path, context.environment)
    if not symbols:
        like = f" like {arguments.query!r}" if arguments.query else ""
        return ToolOutput(f"The editor knows no symbols{like} in {name}.")
    page = get_page(symbols, arguments.offset, "symbols")
    rows = [_render_outline_row(one) for one in page]
    return _render_output(
        [f"{name}:", *rows, *paging_note(len(symbols), arguments.offset, len(page))], found, len(symbols)
    )


def _render_outline_row(one: Symbol) -> str:
    first, last = one.place.line + 1, max(one.end_line, one.place.line) + 1
    lines = f"{first}" if first == last else f"{first}-{last}"
    return f"{'  ' * (min(one.depth, MAX_DEPTH) + 1)}{one.kind} {one_line(one.name)} [{lines}]"


async def _find_symbols(found: FoundSymbols, arguments: SymbolsArguments, context: ToolContext) -> ToolOutput:
    if not found.symbols:
        return ToolOutput(
            f"The editor knows no symbol like {arguments.query!r} in the workspace. Search for the name with "
            "grep instead."
        )
    page = get_page(found.symbols, arguments.offset, "symbols")
    texts = FileTexts(context)
    rows = [await _render_row(one, texts, context) for one in page]
    rows += paging_note(len(found.symbols), arguments.offset, len(page))
    return _render_output(rows, found, len(found.symbols))


async def _render_row(one: Symbol, texts: FileTexts, context: ToolContext) -> str:
    where = format_location(one.place, context)
    if one.place.is_file and isinstance(why := await texts.of(one.place.name), str):
        return f"{where}: {one.kind} [name not shown: {why}]"
    inside = f" in {one_line(one.container)}" if one.container else ""
    return f"{where}: {one.kind} {one_line(one.name)}{inside}"


def _render_output(rows: list[str], found: FoundSymbols, count: int) -> ToolOutput:
    lines = [*rows, CUT] if found.is_cut else rows
    return ToolOutput("\n".join(lines), summary=plural(count, "symbol"))


def symbols(host: LanguageHost) -> Tool[Any]:
    return Tool(
        name="symbols",
        description=(
            "Return the outline of a file (classes, functions and methods with their lines), so that you can "
            "read only the parts you need. Without a file, return all definitions in the workspace whose name "
            "matches. The editor's language server provides the result."
        ),
        category="read",
        arguments=SymbolsArguments,
        prepare=partial(prepare, host),
        look=Look("search", "Looking for symbols", "Looked for symbols"),
        summarize=lambda arguments: one_line(
            " in ".join(part for part in (arguments.query, arguments.file_path) if part)
        ),
    )
