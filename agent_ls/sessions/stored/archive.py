"""Read access to sessions that are open here or only stored: history, outputs, exports, drafts.

All disk access runs in threads.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import anyio
import anyio.to_thread

from agent_ls.environments.local.git_index import working_tree_of
from agent_ls.environments.remote.place import is_place_name, path_of
from agent_ls.features.recording.sharing import redaction_of_this_machine
from agent_ls.loop.calls.redaction import without_known
from agent_ls.services.errors import BadChoiceError
from agent_ls.services.review.restore import stored_hunks
from agent_ls.services.store_errors import store_errors
from agent_ls.sessions.export.clean_items import clean_item
from agent_ls.sessions.live import LiveSession
from agent_ls.sessions.stored.whole_files import read_whole_files
from agent_ls.store import pages
from agent_ls.store.drafts import keep_draft, read_draft
from agent_ls.store.errors import BadSessionError
from agent_ls.store.layout import Layout, log_path, root_of, summary
from agent_ls.store.log import Header
from agent_ls.store.outputs import OutputPart, read_part
from agent_ls.store.pages import ItemPage
from agent_ls.store.sessions import SessionStore
from agent_ls.store.worktrees import read_note, working_folder

if TYPE_CHECKING:
    from agent_ls.sessions.stored.provenance import BlamedText, Blamer

OUTPUT_PART_CHARS = 1 << 20

ExportFormat: TypeAlias = Literal["markdown", "jsonl", "html", "report", "trailers"]


class Archive:
    """Stored data of sessions. `live` returns a session if it is open in this process."""

    def __init__(self, store: SessionStore, live: Callable[[str], LiveSession | None]) -> None:
        self._store = store
        self._live = live
        self._drafts: dict[str, Mapping[str, Any]] = {}
        self._writing_drafts = anyio.Lock()
        self._blamer: Blamer | None = None

    async def history(self, session_id: str, before: int | None, limit: int) -> ItemPage:
        """Return the newest `limit` items that began before event number `before` (None: no upper bound).

        Raises:
            UnknownSessionError, AppError.
        """
        with store_errors(session_id):
            path = log_path(await self._folder(session_id))
            return await anyio.to_thread.run_sync(pages.read_page, path, before, limit)

    async def keep_draft(self, session_id: str, draft: Mapping[str, Any]) -> None:
        """Store the user's draft of the next message.

        If calls overlap, the draft of the last call is stored. The drafts from the other calls may never be
        written.

        Raises:
            UnknownSessionError, AppError.
        """
        self._drafts[session_id] = draft
        with store_errors(session_id):
            async with self._writing_drafts:
                newest = self._drafts.pop(session_id, None)
                if newest is not None:
                    folder = await self._folder(session_id)
                    await anyio.to_thread.run_sync(keep_draft, folder, newest, self._store.secrets())

    async def draft(self, session_id: str) -> dict[str, Any] | None:
        """Return the stored draft, or None.

        Raises:
            UnknownSessionError.
        """
        with store_errors(session_id):
            folder = await self._folder(session_id)
            async with self._writing_drafts:
                return await anyio.to_thread.run_sync(read_draft, folder)

    async def output(self, session_id: str, output_ref: str, offset: int, limit: int) -> OutputPart:
        """Return `limit` characters of a stored output, from `offset` on.

        Raises:
            UnknownOutputError, UnknownSessionError, AppError.
        """
        with store_errors(session_id):
            folder = await self._folder(session_id)
            return await anyio.to_thread.run_sync(read_part, folder, output_ref, offset, limit)

    async def whole_output(self, session_id: str, output_ref: str) -> str:
        """Return a stored output. Raise the errors of `output`."""
        parts: list[str] = []
        offset: int | None = 0
        while offset is not None:
            part = await self.output(session_id, output_ref, offset, OUTPUT_PART_CHARS)
            parts.append(part.text)
            offset = part.next_offset
        return "".join(parts)

    async def export(self, session_id: str, format_: ExportFormat, redact: bool = False) -> str:
        """Return the session as text, without the configured keys.

        `redact`: also remove other secrets, mail addresses, and the names of this user and machine.

        Raises:
            BadChoiceError: the format cannot be redacted. UnknownSessionError, AppError.
        """
        with store_errors(session_id):
            path = log_path(await self._folder(session_id))
            known = self._store.secrets()
            return await anyio.to_thread.run_sync(session_text, path, format_, known, redact)

    async def patch(self, session_id: str, turn_id: str = "") -> str:
        """Return the changes of the session, or of one turn of it, as a patch, without the configured keys.

        Paths are relative to the root of the git repository, without one to the session's folder.

        Raises:
            BadChoiceError: there is no such turn. UnknownSessionError, AppError.
        """
        with store_errors(session_id):
            path = log_path(await self._folder(session_id))
            make = functools.partial(patch_text, path, self._store.secrets(), turn_id=turn_id)
            return await anyio.to_thread.run_sync(make)

    async def whole_files(self, session_id: str) -> dict[str, str | None]:
        """Return the files that the session changed without hunks; see `read_whole_files`.

        Raises:
            UnknownSessionError, AppError.
        """
        with store_errors(session_id):
            path = log_path(await self._folder(session_id))
            return await anyio.to_thread.run_sync(read_whole_files, path)

    async def open_hunks(self, session_id: str) -> int:
        """Count the undecided hunks in the log of a session that is not live.

        Raises:
            UnknownSessionError, AppError.
        """
        with store_errors(session_id):
            path = log_path(await self._folder(session_id))
            return await anyio.to_thread.run_sync(open_hunks, path)

    async def blame(self, path: str, text: str | None) -> BlamedText:
        """Return the author of each line of a file. `text` is its text in the editor, None to read the file.

        Raises:
            BadChoiceError: the file cannot be read, or is not text.
        """
        # imported only when it is asked for
        from agent_ls.sessions.stored.provenance import Blamer, UnblamableError

        if self._blamer is None:
            self._blamer = Blamer(self._store.layout)
        try:
            return await anyio.to_thread.run_sync(self._blamer.blame, Path(path), text)
        except OSError as error:
            raise BadChoiceError(
                f"{path} cannot be read: {error.strerror or error}", "save the file first"
            ) from None
        except UnblamableError as error:
            raise BadChoiceError(f"{path} {error}", "choose a text file") from None

    async def _folder(self, session_id: str) -> Path:
        if live := self._live(session_id):
            return live.folder
        return await anyio.to_thread.run_sync(self._store.folder, session_id)


def session_text(path: Path, format_: ExportFormat, known: Collection[str], redact: bool = False) -> str:
    """Return the session whose log is `path` as text, without the keys in `known`. Blocks.

    `redact`: also remove other secrets, mail addresses, and the names of this user and machine.

    Raises:
        BadChoiceError: the format cannot be redacted. BadSessionError. OSError.
    """
    if format_ != "jsonl":
        return _transcript(path, format_, known, redact)
    if redact:
        raise BadChoiceError("the format jsonl cannot be redacted", "choose the format html or markdown")
    return without_known(_jsonl(path), known)


def _transcript(
    path: Path,
    format_: Literal["markdown", "html", "report", "trailers"],
    known: Collection[str],
    redact: bool,
) -> str:
    # imported here because they are rarely used
    from agent_ls.loop.events.figures import figures_of
    from agent_ls.sessions.export.changes import markdown_changes, read_changes
    from agent_ls.sessions.export.html_page import page
    from agent_ls.sessions.export.html_text import local_time
    from agent_ls.sessions.export.markdown import markdown
    from agent_ls.sessions.export.report import decisions, report, trailers

    # Texts are cleaned before they are formatted: escaping and mark-up would hide a key from the search.
    if redact:
        clean = redaction_of_this_machine(known).redact_text
    else:
        clean = functools.partial(without_known, known=known)
    found = summary(path.parent)
    if found is None:
        raise BadSessionError(str(path), "the session cannot be read")
    header = found.header
    folder, worktree = _working_folders(path, header)
    if worktree:  # a reader of the export knows only the user's folder
        clean = functools.partial(_with_users_folder, clean, worktree, folder)
    model = f"{header.provider}/{header.model}"
    facts = [
        ("Session", header.session_id),
        ("Folder", header.workspace_folder),
        ("Model", model),
        ("Begun", header.created),
    ]
    title, facts = clean(found.title), [(name, clean(value)) for name, value in facts]
    items = [clean_item(item, clean) for item in pages.all_items(path)]
    if format_ == "trailers":
        return trailers(facts, items, decisions(pages.all_events(path)))
    changes, folder = read_changes(path.parent, clean), clean(folder)
    listed = list(markdown_changes(changes, folder))
    if format_ == "markdown":
        return markdown(title, facts, items, listed)
    if format_ == "report":
        decided = {clean(name): counts for name, counts in decisions(pages.all_events(path)).items()}
        return report(facts, items, decided, folder, listed)
    shown = [
        ("Project", clean(Path(header.workspace_folder).name)),
        ("Model", clean(model)),
        ("Begun", local_time(header.created)),
        ("Session", header.session_id),
    ]
    return page(title, shown, items, figures_of(pages.all_events(path)).rounds, changes, folder)


def patch_text(path: Path, known: Collection[str], *, has_trailers: bool = False, turn_id: str = "") -> str:
    """Return the changes of the session whose log is `path` as a patch, without the keys in `known`. Blocks.

    With `turn_id`, only those of this turn. `has_trailers`: the lines for the end of a commit message stand above it.

    Raises:
        UnknownTurnError. BadSessionError. OSError.
    """
    from agent_ls.sessions.export.patch import session_patch

    found = summary(path.parent)
    if found is None:
        raise BadSessionError(str(path), "the session cannot be read")
    above = session_text(path, "trailers", known) if has_trailers else ""
    folders = _patch_folders(path, found.header)
    return without_known(session_patch(path.parent, folders, above, turn_id), known)


def _patch_folders(path: Path, header: Header) -> Sequence[tuple[str, str]]:
    """Return the folders whose files are in the patch of a session, with their names in it.

    As `git apply` wants it, names are relative to the root of the repository, if the session's folder is in one.
    A folder on another machine counts as the root, because this machine cannot see its repository.
    """
    folder, worktree = _working_folders(path, header)
    top = "" if is_place_name(header.workspace_folder) else working_tree_of(folder)
    prefix = os.path.relpath(os.path.realpath(folder), top) if top else ""
    prefix = "" if prefix == os.curdir else prefix
    found = [(folder, prefix), (top, "")]
    if worktree:
        note = read_note(Layout(root_of(path.parent)).worktree(header.session_id))
        found += [(worktree, prefix), (note.tree if note else "", "")]
    return [(each, name) for each, name in found if each]


def _working_folders(path: Path, header: Header) -> tuple[str, str]:
    """Return the user's folder, and the folder in the session's own worktree, "" if it has none."""
    folder = path_of(header.workspace_folder).rstrip("/")
    if not header.has_worktree:
        return folder, ""
    place = Layout(root_of(path.parent)).worktree(header.session_id)
    return folder, working_folder(place, folder)


def _with_users_folder(clean: Callable[[str], str], worktree: str, folder: str, text: str) -> str:
    return clean(text.replace(worktree, folder))


def _jsonl(path: Path) -> str:
    lines = pages.read_sound_events(path, 0)
    return "".join(f"{line.decode('utf-8', 'replace')}\n" for line in lines)


def open_hunks(path: Path) -> int:
    """Count the undecided hunks in the log `path`. Blocks."""
    try:
        by_path = stored_hunks(pages.read_sound_events(path, 0))
    except FileNotFoundError:  # an interrupted deletion has removed the log, so no hunk is left
        return 0
    return sum(item.awaits for items in by_path.values() for item in items)
