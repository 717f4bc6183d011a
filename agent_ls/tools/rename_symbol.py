"""rename_symbol: another name for a symbol everywhere, as the editor's language tools know its places (T14).

The editor only tells what would change. The change itself is an edit like any other: computed here, judged, committed
to all files or to none, and shown as hunks.
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
from agent_ls.patch.hunks import FileChange
from agent_ls.text import decode, encode
from agent_ls.tools.base import Prepared, Tool, ToolContext, ToolError, ToolOutput
from agent_ls.tools.code_places import shown_line
from agent_ls.tools.paths import shown_path
from agent_ls.tools.planned import as_decided, commit_unread, effect_of, landed_notes, whole_file_change
from agent_ls.tools.summary import one_line
from agent_ls.tools.symbol_at import SymbolArguments, by_grep, last_part, spot_of
from agent_ls.tools.text_changes import changed

TRIES = 3  # while the user types, what the editor answers may be about an earlier text
MAX_SHOWN = 50


class RenameSymbolArguments(SymbolArguments):
    new_name: str = Field(
        min_length=1, max_length=300, pattern=r"^\S[^\r\n]*$", description="The name that it is to have."
    )


@dataclass(frozen=True, slots=True)
class _Renamed:
    change: FileChange
    write: FileWrite


async def prepare(host: LanguageHost, arguments: RenameSymbolArguments, context: ToolContext) -> Prepared:
    files = await _planned(host, arguments, context)
    writes = [file.write for file in files]

    async def run() -> ToolOutput:
        states = await commit_unread(writes, context)
        if decided := as_decided(states, context):
            return decided
        return _told(files, arguments, landed_notes(writes, states, context), states)

    return Prepared(effect_of([file.change for file in files], context.environment), run)


async def _planned(
    host: LanguageHost, arguments: RenameSymbolArguments, context: ToolContext
) -> list[_Renamed]:
    name = last_part(arguments.symbol)
    if arguments.new_name == name:
        raise ToolError(f"It is called {name!r} already.", kind="validation")
    for _ in range(TRIES):
        try:
            spot = await spot_of(arguments, host, context)
            # In one order, whatever the editor's: what was approved is the same when it is asked for again.
            answer = sorted(await host.rename(spot, arguments.new_name), key=lambda file: file.path)
            found = [await _renamed(file, name, context) for file in answer]
        except StaleFileError:
            continue
        except NoAnswerError as error:
            raise ToolError(f"{error} Nothing was changed. {by_grep(name)}", kind=error.kind) from None
        if files := [file for file in found if file.change.hunks]:
            return files
        raise ToolError(f"The editor knows nothing to change for {name!r}. {by_grep(name)}", kind="no_answer")
    raise ToolError(
        "The files kept changing while the editor was asked. Nothing was changed: try again.", kind="stale"
    )


async def _renamed(file: FileChanges, name: str, context: ToolContext) -> _Renamed:
    """
    Raises:
        StaleFileError: the answer is about another text. NoAnswerError: it makes no sense. EnvError.
    """
    before = await context.environment.read_bytes(file.path)
    decoded = decode(before)
    shown = shown_path(file.path, context.environment)
    if not decoded.is_valid:
        raise NoAnswerError(f"{shown} is not valid UTF-8, so its places cannot be told.")
    if file.document is not None and file.document != decoded.text:
        raise StaleFileError(file.path)
    # Of a document that is open the text is known to be the same; of one on disk, only that the old name is there.
    expected = "" if file.document is not None else name
    after = encode(replace(decoded, text=changed(decoded.text, file.changes, expected)))
    return _Renamed(whole_file_change(shown, before, after), FileWrite(file.path, after, before))


def _told(
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


def _rows(change: FileChange) -> Iterator[str]:
    """The lines as they are now."""
    growth = 0
    for hunk in change.hunks:
        for number, line in enumerate(hunk.added, hunk.base_start + growth + 1):
            yield f"{change.path}:{number}: {shown_line(line)}"
        growth += len(hunk.added) - len(hunk.removed)


def summarize(arguments: RenameSymbolArguments) -> str:
    return one_line(f"{arguments.symbol} to {arguments.new_name}")


def rename_symbol(host: LanguageHost) -> Tool[Any]:
    return Tool(
        name="rename_symbol",
        description=(
            "Give a symbol another name wherever it is used. The editor's language server tells the places, so that "
            "other things of the same name stay as they are; all files are changed, or none. Name the symbol, and a "
            "file and line where it occurs. Comments and strings may keep the old name: look for it with grep "
            "afterwards."
        ),
        category="write",
        arguments=RenameSymbolArguments,
        prepare=partial(prepare, host),
        summarize=summarize,
    )
