"""Edits that the editor's language server computes: plan, write and list them.

The editor only computes the changes. They are handled like any other edit: checked by the policy, written to all
files or to none, and reviewed as hunks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from agent_ls.environments.base import FileWrite
from agent_ls.environments.errors import NoAnswerError, StaleFileError
from agent_ls.environments.language_host import FileChanges
from agent_ls.patch.hunks import PlannedChange
from agent_ls.text import NotEncodableError, decode, encode, plural
from agent_ls.tools.base import Prepared, ToolContext, ToolError, ToolOutput
from agent_ls.tools.file_commits import (
    commit_unread_files,
    concurrent_edit_notes,
    describe_decision,
    whole_file_change,
    write_effect,
)
from agent_ls.tools.location_list import format_line
from agent_ls.tools.paths import shown_path
from agent_ls.tools.text_changes import apply_text_changes

MAX_ATTEMPTS = 3  # while the user types, the editor's response may refer to an earlier text
MAX_SHOWN = 50


@dataclass(frozen=True, slots=True)
class PlannedFileEdit:
    change: PlannedChange
    write: FileWrite


async def plan_editor_edits(
    ask: Callable[[], Awaitable[Sequence[FileChanges]]],
    context: ToolContext,
    *,
    instead: str,
    old_text: str = "",
) -> list[PlannedFileEdit]:
    """Ask the editor for changes, and return the changed files. The list is empty if nothing changes.

    In files that are not open, only `old_text` may be replaced; "" allows any text. `instead` is a hint for the model.

    Raises:
        ToolError: the editor has no usable changes. EnvError: a file cannot be read.
    """
    for _ in range(MAX_ATTEMPTS):
        try:
            # Sort, so that the second preparation after an approval gives the same effect.
            answer = sorted(await ask(), key=lambda file: file.path)
            found = [await _plan_file(file, old_text, context) for file in answer]
        except StaleFileError:
            continue
        except NoAnswerError as error:
            raise ToolError(f"{error} Nothing was changed. {instead}", kind=error.kind) from None
        return [file for file in found if file.change.hunks]
    raise ToolError(
        "The files kept changing while the editor computed the changes. Nothing was changed: try again.",
        kind="stale",
    )


async def _plan_file(file: FileChanges, old_text: str, context: ToolContext) -> PlannedFileEdit:
    """Compute the changed file.

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
    # The changes are known to match the text of an open document. For a file on disk only the old text can be checked.
    expected = "" if file.document is not None else old_text
    try:
        after = encode(replace(decoded, text=apply_text_changes(decoded.text, file.changes, expected)))
    except NotEncodableError as error:
        raise ToolError(f"Nothing was written: {shown}, {error}.", kind="validation") from None
    return PlannedFileEdit(whole_file_change(shown, before, after), FileWrite(file.path, after, before))


def prepared_edits(
    files: Sequence[PlannedFileEdit], done: str, context: ToolContext, note: str = ""
) -> Prepared:
    """Return the call that writes the files. `done` describes the change, for example `Renamed a to b`."""
    writes = [file.write for file in files]

    async def run() -> ToolOutput:
        states = await commit_unread_files(writes, context)
        if decided := describe_decision(states, context):
            return decided
        rows = [row for file in files for row in _rows(file.change)]
        count = plural(len(files), "file")
        more = [f"[... and {len(rows) - MAX_SHOWN} more lines]"] if len(rows) > MAX_SHOWN else []
        notes = [*concurrent_edit_notes(writes, states, context), *filter(None, [note])]
        return ToolOutput(
            "\n".join([f"{done} in {count}:", "", *rows[:MAX_SHOWN], *more, *notes]),
            files=states,
            summary=f"{plural(len(rows), 'line')} in {count}",
        )

    return Prepared(write_effect([file.change for file in files], context.environment), run)


def _rows(change: PlannedChange) -> Iterator[str]:
    """Yield `path:line: text` for each changed line, with its new number and text."""
    growth = 0
    for hunk in change.hunks:
        for number, line in enumerate(hunk.added, hunk.base_start + growth + 1):
            yield f"{change.path}:{number}: {format_line(line)}"
        growth += len(hunk.added) - len(hunk.removed)
