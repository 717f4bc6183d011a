"""An environment with an editor in front: what is open there is read and changed there, all else by `inner`.

It knows an EditorHost and no language server. An open document's text is the file, saved or not; it is UTF-8 here,
whatever the disk has. Writes to it become line edits against exactly the text that the editor has, rebased over what
the user typed since the change was computed; a change that does not fit any more is refused, never forced.

Limits: documents that are open and not saved are searched with Python's regular expressions, not ripgrep's; a pattern
that only ripgrep understands finds what is on disk. `glob` and `list_directory` tell what is on disk.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import anyio
import anyio.to_thread

from agent_ls.environments import search
from agent_ls.environments.base import (
    Attribution,
    CommandOptions,
    ExecResult,
    ExecutionEnvironment,
    FileState,
    FileWrite,
    GrepLine,
    GrepOptions,
    GrepResult,
    OutputSink,
    ProcessInfo,
    sha256,
)
from agent_ls.environments.editor_host import EditorHost, LineEdit, OpenDocument
from agent_ls.environments.errors import (
    CommitError,
    EditRefusedError,
    EnvError,
    InvalidPatternError,
    PathNotFoundError,
    StaleFileError,
)
from agent_ls.environments.wrappers.fronting import FrontingEnvironment
from agent_ls.patch.lines import line_hunks
from agent_ls.patch.rebase import Merged, rebase
from agent_ls.text import BOM, decode, split_lines

MAX_TRIES = 8  # a fast typist leaves a gap between two keys more often than that

_GLOB_SPECIAL = re.compile(r"([*?\[\]{},\\])")


@dataclass(frozen=True, slots=True)
class _Landed:
    """An edit that is in a document: the text that it was made to, and that text with the edit."""

    path: str
    before: str
    after: str

    @property
    def state(self) -> FileState:
        return FileState(self.path, _encoded(self.before), _encoded(self.after))


@dataclass(frozen=True, slots=True)
class _Plan:
    """The parts of a commit, by position in it: `edits` go to open documents, `rest` to the inner environment."""

    edits: Mapping[int, FileWrite]
    rest: Mapping[int, FileWrite]


class EditorEnvironment(FrontingEnvironment):
    def __init__(self, inner: ExecutionEnvironment, host: EditorHost) -> None:
        super().__init__(inner)
        self._host = host

    # --- reading

    def is_in_front(self, path: str) -> bool:
        return self._document(path) is not None

    async def in_front(self, path: str) -> bytes | None:
        document = self._document(path)
        return _encoded(document.text) if document else None

    # --- writing

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        plan = await self._planned(writes)
        # From here on it is done or taken back: half of a change in a user's documents helps nobody. The time is
        # bounded by the host's limits.
        with anyio.CancelScope(shield=True):
            states = await self._carried_out(plan, attribution)
        return [states[at] for at in range(len(writes))]

    async def _planned(self, writes: Sequence[FileWrite]) -> _Plan:
        """Everything that can be known before anything is written."""
        edits: dict[int, FileWrite] = {}
        rest: dict[int, FileWrite] = {}
        for at, write in enumerate(writes):
            document = self._document(write.path)
            if document is None:
                rest[at] = write
            elif write.content is None:
                rest[at] = await self._deletion(document, write)
            else:
                edits[at] = await self._edit(document, write)
        paths = [write.path for write in edits.values()]
        for path in paths:
            if paths.count(path) > 1:
                raise CommitError(path, "it is named twice in one commit")
        for write in rest.values():
            await self._demand_writable(write, is_checked_later=not edits)
        return _Plan(edits, rest)

    async def _edit(self, document: OpenDocument, write: FileWrite) -> FileWrite:
        base = write.base
        if base is None:
            # A buffer that was opened for a file to be made, and is still empty, is the place to make it.
            if document.text or await self.inner.file_exists(document.path):
                raise StaleFileError(write.path, "it exists already")
            base = b""
        meant = replace(write, path=document.path, base=base)
        _rebased(document, meant)
        return meant

    async def _deletion(self, document: OpenDocument, write: FileWrite) -> FileWrite:
        """The deletion of an open file, which is one on disk: nothing that only the editor has may go with it."""
        if write.base != _encoded(document.text):
            raise StaleFileError(write.path)
        try:
            on_disk = await self.inner.read_bytes(document.path)
        except PathNotFoundError:
            reason = "it was never saved, so there is no file to delete; close it in the editor"
            raise EditRefusedError(write.path, reason) from None
        if decode(on_disk).text != document.text:
            reason = "it has unsaved changes in the editor; it can be deleted once they are saved or discarded there"
            raise EditRefusedError(write.path, reason)
        return replace(write, base=on_disk)

    async def _demand_writable(self, write: FileWrite, *, is_checked_later: bool) -> None:
        if reason := self._host.blocked(self._absolute(write.path)):
            raise EditRefusedError(write.path, reason)
        if is_checked_later:
            return
        # Documents are edited before the inner environment looks at its files. Seen now, a stale one costs nothing.
        try:
            found: bytes | None = await self.inner.read_bytes(write.path)
        except PathNotFoundError:
            found = None
        if found != write.base:
            raise StaleFileError(write.path)

    async def _carried_out(self, plan: _Plan, attribution: Attribution) -> dict[int, FileState]:
        landed: dict[int, _Landed] = {}
        try:
            for at, write in plan.edits.items():
                landed[at] = await self._land(write, attribution)
            written = await self.inner.commit(list(plan.rest.values()), attribution) if plan.rest else ()
        except EnvError as error:
            await self._take_back(list(landed.values()), attribution, error)
            raise
        states = dict(zip(plan.rest, written, strict=True))
        if states:
            await self._host.files_changed([state.path for state in states.values()])
        return states | {at: item.state for at, item in landed.items()}

    async def _land(self, write: FileWrite, attribution: Attribution) -> _Landed:
        for _ in range(MAX_TRIES):
            document = self._host.open_document(write.path)
            if document is None:
                raise EditRefusedError(write.path, "it was closed meanwhile")
            lines = split_lines(document.text)
            runs = line_hunks(lines, _rebased(document, write))
            if not runs:
                return _Landed(document.path, document.text, document.text)
            edits = [LineEdit(run.base_start, run.base_end, "".join(run.added)) for run in runs]
            try:
                await self._host.apply_edit(document, edits, attribution)
            except StaleFileError:
                continue
            return _Landed(document.path, document.text, _edited(lines, edits))
        raise StaleFileError(write.path, f"the user typed in it during each of {MAX_TRIES} tries")

    async def _take_back(self, landed: Sequence[_Landed], attribution: Attribution, error: EnvError) -> None:
        """Reverses what is in documents already; raises only when that fails."""
        unrestored = []
        for item in reversed(landed):
            back = FileWrite(item.path, _encoded(item.before), _encoded(item.after))
            try:
                await self._land(back, attribution)
            except EnvError:
                unrestored.append(item.path)
        if unrestored:
            path = getattr(error, "path", "") or unrestored[0]
            raise CommitError(path, str(error).removesuffix("."), tuple(unrestored)) from error

    # --- commands

    async def exec_command(
        self, command: str, options: CommandOptions, on_output: OutputSink | None = None
    ) -> ExecResult:
        note = await self._host.save_before_command()
        before = await self._digests_on_disk()
        try:
            result = await self.inner.exec_command(command, options, on_output)
        finally:
            with anyio.CancelScope(shield=True):
                await self._tell_what_changed(before)
        return replace(result, note=" ".join(filter(None, (result.note, note))))

    async def start_process(self, command: str, options: CommandOptions) -> ProcessInfo:
        await self._host.save_before_command()
        return await self.inner.start_process(command, options)

    async def _digests_on_disk(self) -> dict[str, str]:
        return {
            document.path: sha256(data)
            for document in self._host.open_documents()
            if (data := await self._on_disk(document.path)) is not None
        }

    async def _tell_what_changed(self, before: Mapping[str, str]) -> None:
        """A formatter or a checkout changes files that the editor shows: it is asked to look at those again."""
        after = await self._digests_on_disk()
        changed = [path for path in before.keys() | after.keys() if before.get(path) != after.get(path)]
        if changed:
            await self._host.files_changed(sorted(changed))

    # --- searching

    async def grep(self, pattern: str, path: str, options: GrepOptions) -> GrepResult:
        top = self._absolute(path)
        try:
            on_disk = await self.inner.grep(pattern, path, options)
        except PathNotFoundError:
            if self._document(path) is None:
                raise
            on_disk = GrepResult(())  # a file that is only in the editor yet
        unsaved = [
            document
            for document in self._host.open_documents()
            if search.is_below(document.path, top) and await self._is_unsaved(document)
        ]
        return await self._with_unsaved(on_disk, unsaved, pattern, top, options) if unsaved else on_disk

    async def _with_unsaved(
        self,
        on_disk: GrepResult,
        documents: Sequence[OpenDocument],
        pattern: str,
        top: str,
        options: GrepOptions,
    ) -> GrepResult:
        try:
            regex = search.compile_pattern(pattern, options)
        except InvalidPatternError:
            return on_disk
        passes = search.path_filter(options.glob_filter)
        root = self.working_directory()
        hidden = {search.shown_path(document.path, root) for document in documents}
        lines = [line for line in on_disk.lines if line.path not in hidden]
        listed = {line.path for line in on_disk.lines}
        for document in documents:
            shown = search.shown_path(document.path, root)
            if not passes(shown, search.shown_path(document.path, top)):
                continue
            found = await _search(shown, document, regex, options)
            if found and (shown in listed or await self._is_searched(document, top)):
                lines += found
        findings = search.Findings(options, is_full=on_disk.truncated)
        for line in sorted(lines, key=lambda line: (search.path_order(line.path), line.line)):
            if not findings.add(line):
                break
        return findings.result()

    async def _is_searched(self, document: OpenDocument, top: str) -> bool:
        """False for a file that the search of the disk leaves out, because an ignore file says so."""
        if document.path == top or await self._on_disk(document.path) is None:
            return True
        below = search.shown_path(document.path, top)
        return bool(await self.inner.glob(_GLOB_SPECIAL.sub(r"\\\1", below), top))

    async def _is_unsaved(self, document: OpenDocument) -> bool:
        data = await self._on_disk(document.path)
        return data is None or decode(data).text != document.text

    async def _on_disk(self, path: str) -> bytes | None:
        try:
            return await self.inner.read_bytes(path)
        except EnvError:
            return None

    # --- paths

    def _document(self, path: str) -> OpenDocument | None:
        return None if "\0" in path else self._host.open_document(self._absolute(path))

    def _absolute(self, path: str) -> str:
        return os.path.normpath(os.path.join(self.working_directory(), path))


def _rebased(document: OpenDocument, write: FileWrite) -> Sequence[str]:
    """The lines that the document is to have.

    Raises:
        StaleFileError: the user changed the same lines. EditRefusedError: the new content is no text.
    """
    base, proposed = _text(write, write.base, document), _text(write, write.content, document)
    if base == document.text:
        return split_lines(proposed)
    merged = rebase(split_lines(base), split_lines(proposed), split_lines(document.text))
    if isinstance(merged, Merged):
        return merged.lines
    detail = f"in the editor the lines that this changes were changed ({merged.describe()})"
    raise StaleFileError(write.path, detail)


def _text(write: FileWrite, data: bytes | None, document: OpenDocument) -> str:
    try:
        text = (data or b"").decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        reason = "it is open in the editor, which takes only text, and this is no UTF-8; read it again"
        raise EditRefusedError(write.path, reason) from None
    # The change may have been computed from the disk, before the document was opened; editors leave out the BOM.
    return text if document.text.startswith(BOM) else text.removeprefix(BOM)


def _encoded(text: str) -> bytes:
    # Half a surrogate pair from a confused client is no UTF-8; it must come back as it came all the same.
    return text.encode("utf-8", "surrogatepass")


def _edited(lines: Sequence[str], edits: Sequence[LineEdit]) -> str:
    edited = list(lines)
    for edit in reversed(edits):
        edited[edit.start : edit.end] = [edit.text]
    return "".join(edited)


async def _search(
    shown: str, document: OpenDocument, regex: re.Pattern[str], options: GrepOptions
) -> list[GrepLine]:
    data = _encoded(document.text)
    # In a thread, because a pattern can make Python's engine think for very long.
    return await anyio.to_thread.run_sync(
        search.grep_text, shown, data, regex, options, abandon_on_cancel=True
    )
