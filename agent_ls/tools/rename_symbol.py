"""rename_symbol: rename a symbol in all files, by the editor's language server."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from pydantic import Field

from agent_ls.environments.language_host import FileChanges, LanguageHost
from agent_ls.tools.base import Prepared, Tool, ToolContext, ToolError
from agent_ls.tools.editor_edits import plan_editor_edits, prepared_edits
from agent_ls.tools.look import Look
from agent_ls.tools.summary import one_line
from agent_ls.tools.symbol_lookup import SymbolArguments, find_symbol, grep_hint, last_part


class RenameSymbolArguments(SymbolArguments):
    new_name: str = Field(
        min_length=1, max_length=300, pattern=r"^\S[^\r\n]*$", description="The new name of the symbol."
    )


async def prepare(host: LanguageHost, arguments: RenameSymbolArguments, context: ToolContext) -> Prepared:
    name = last_part(arguments.symbol)
    if arguments.new_name == name:
        raise ToolError(f"The symbol already has the name {name!r}.", kind="validation")

    async def ask() -> Sequence[FileChanges]:
        return await host.rename(await find_symbol(arguments, host, context), arguments.new_name)

    files = await plan_editor_edits(ask, context, instead=grep_hint(name), old_text=name)
    if not files:
        raise ToolError(f"The editor returned no changes for {name!r}. {grep_hint(name)}", kind="no_answer")
    return prepared_edits(files, f"Renamed {name} to {arguments.new_name}", context)


def rename_symbol(host: LanguageHost) -> Tool[Any]:
    return Tool(
        name="rename_symbol",
        description=(
            "Rename a symbol wherever it is used. The editor's language server finds the places, so other "
            "symbols of the same name stay unchanged. Either all files are changed or none. Give the symbol and "
            "a file and line where it occurs. Comments and strings may keep the old name: search for it with "
            "grep afterwards."
        ),
        category="write",
        arguments=RenameSymbolArguments,
        prepare=partial(prepare, host),
        look=Look("edit", "Renaming", "Renamed"),
        summarize=lambda arguments: one_line(f"{arguments.symbol} to {arguments.new_name}"),
    )
