"""rename_symbol: rename a symbol in all files, by the editor's language server.

The editor only computes the changes. They are handled like any other edit: checked by the policy, written to all
files or to none, and reviewed as hunks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pydantic import Field

from agent_ls.environments.base import FileState, FileWrite
from agent_ls.environments.errors import NoAnswerError, StaleFileError
from agent_ls.environments.language_host import FileChanges, LanguageHost
from agent_ls.patch.hunks import PlannedChange
from agent_ls.text import NotEncodableError, decode, encode
from agent_ls.tools.base import Prepared, Tool, ToolContext, ToolError, ToolOutput
from agent_ls.tools.file_commits import (
    commit_unread_files,
    concurrent_edit_notes,
    describe_decision,
    whole_file_change,
    write_effect,
)
from agent_ls.tools.location_list import format_line
from agent_ls.tools.look import Look
from agent_ls.tools.paths import shown_path
from agent_ls.tools.summary import one_line
from agent_ls.tools.symbol_lookup import SymbolArguments, find_symbol, grep_hint, last_part
from agent_ls.tools.text_changes import apply_text_changes

MAX_ATTEMPTS = 3  # while the user types, the editor's response may refer to an earlier text
MAX_SHOWN = 50


class RenameSymbolArguments(SymbolArguments):
    new_name: str = Field(
        min_length=1, max_length=300, pattern=r"^\S[^\r\n]*$", description="The new name of the symbol."
    )


@dataclass(frozen=True, slots=True)
class _Renamed:
    change: PlannedChange
    write: FileWrite


async def prepare(host: LanguageHost, arguments: RenameSymbolArguments, context: ToolContext) -> Prepared:
    files = await _plan_rename(host, arguments, context)
    writes = [file.write for file in files]

    async def run() -> ToolOutput:
        states = await commit_unread_files(writes, context)
        if decided := describe_decision(states, context):
            return decided
        return _render_result(files, arguments, concurrent_edit_notes(writes, states, context), states)

    return Prepared(write_effect([file.change for file in files], context.environment), run)


async def _plan_rename(
    host: LanguageHost, arguments: RenameSymbolArguments, context: ToolContext
) -> list[_Renamed]:
    name = last_part(arguments.symbol)
    if arguments.new_name == name:
        raise ToolError(f"The symbol already has the name {name!r}.", kind="validation")
    for _ in range(MAX_ATTEMPTS):
        try:
            position = await find_symbol(arguments, host, context)
            # Sort, so that the second preparation after an approval gives the same effect.
            answer = sorted(await host.rename(position, arguments.new_name), key=lambda file: file.path)
            found = [await _rename_in_file(file, name, context) for file in answer]
        except StaleFileError:
            continue
        except NoAnswerError as error:
            raise ToolError(f"{error} Nothing was changed. {grep_hint(name)}", kind=error.kind) from None
        if files := [file for file in found if file.change.hunks]:
            return files
        raise ToolError(f"The editor returned no changes for {name!r}. {grep_hint(name)}", kind="no_answer")
    raise ToolError(
        "The files kept changing while the editor computed the rename. Nothing was changed: try again.",
        kind="stale",
    )


async def _rename_in_file(file: FileChanges, name: str, context: ToolContext) -> _Renamed:
    """Compute the renamed file.

    Raises:
        StaleFileError: the editor's response refers to another text. NoAnswerError: the response is invalid.
        EnvError: the file cannot be read.
    """
    before = await context.environment.read_bytes(file.path)
    decoded = decode(before)
    shown = shown_path(file.path, context.environment)
    if not decoded.is_valid:
        raise NoAnswerError(f"{shown} is not valid UTF-8, so positions in it are not reliable.")
    if file.document is not None and file.document != decoded.text:
        raise StaleFileError(file.path)
    # The changes are known to match the text of an open document. For a file on disk only the old name can be checked.
    expected = "" if file.document is not None else name
    try:
        after = encode(replace(decoded, text=apply_text_changes(decoded.text, file.changes, expected)))
    except NotEncodableError as error:
        raise ToolError(f"Nothing was written: {shown}, {error}.", kind="validation") from None
    return _Renamed(whole_file_change(shown, before, after), FileWrite(file.path, after, before))


def _render_result(
    files: Sequence[_Renamed],
    arguments: RenameSymbolArguments,
    notes: Sequence[str],
    states: tuple[FileState, ...],
) -> ToolOutput:
    rows = [row for file in files for row in _rows(file.change)]
    count = f"{len(files)} file{'s' if len(files) != 1 else ''}"
    head = f"Renamed {last_part(arguments.symbol)} to {arguments.new_name} in {count}:"
    more = [f"[... and {len(rows) - MAX_SHOWN} more lines]"] if len(rows) > MAX_SHOWN else []
    return ToolOutput(
        "\n".join([head, "", *rows[:MAX_SHOWN], *more, *notes]),
        files=states,
        summary=f"{len(rows)} line{'s' if len(rows) != 1 else ''} in {count}",
    )


def _rows(change: PlannedChange) -> Iterator[str]:
    """Yield `path:line: text` for each changed line, with its new number and text."""
    growth = 0
    for hunk in change.hunks:
        for number, line in enumerate(hunk.added, hunk.base_start + growth + 1):
            yield f"{change.path}:{number}: {format_line(line)}"
        growth += len(hunk.added) - len(hunk.removed)


def summarize(arguments: RenameSymbolArguments) -> str:
    return one_line(f"{arguments.symbol} to {arguments.new_name}")


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
        summarize=summarize,
    )
