"""An environment that reads and changes open documents in the editor, and forwards the rest to `inner`.

The module uses the interface EditorHost and depends on no language server. The content of an open file is the
text of its document, saved or not, encoded as UTF-8 regardless of the encoding on disk. Writes become line
edits of exactly the text that the editor currently has. A change is rebased over text that the user typed after
the change was computed, and refused if the user changed the same lines.

Limits: unsaved documents are searched with Python's regular expressions, not ripgrep's; a pattern that only
ripgrep understands matches only text on disk. `glob` and `list_directory` ignore open documents.
"""

from __future__ import annotations

import os.path
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import anyio
import anyio.to_thread

from agent_ls.environments import globs, search
from agent_ls.environments.base import (
    Attribution,
    CommandOptions,
    ExecResult,
    ExecutionEnvironment,
    FileState,
    FileWrite,
    GrepOptions,
    GrepResult,
    OutputSink,
    ProcessInfo,
    sha256,
)
from agent_ls.environments.editor_host import AppliedEdit, EditorHost, LineEdit, OpenDocument
from agent_ls.environments.errors import (
    CommitError,
    EditRefusedError,
    EnvError,
    InvalidPatternError,
    PathNotFoundError,
    StaleFileError,
    UnsupportedError,
)
from agent_ls.environments.opened import run_path_check
from agent_ls.environments.timed_search import grep_texts, run_timed
from agent_ls.environments.wrappers.forwarding import FrontingEnvironment
from agent_ls.patch.rebase import MergedText, rebase
from agent_ls.patch.splice import text_hunks
from agent_ls.paths import is_within
from agent_ls.patterns import regex
from agent_ls.text import BOM, decode, encode, looks_binary, split_lines

MAX_TRIES = 8  # an edit is tried again if the user typed in the document before it was applied

_GLOB_SPECIAL = regex(r"([*?\[\]{},\\])")


@dataclass(frozen=True, slots=True)
class _Plan:
    """The parts of a commit. The mappings' keys are the writes' indexes in the commit.

    `edits` are the writes that change open documents. `rest` are all other writes, for the inner
    environment. `closing` are the open documents whose files `rest` deletes or moves.
    """

    edits: Mapping[int, FileWrite]
    rest: Mapping[int, FileWrite]
    closing: Mapping[int, OpenDocument]


class EditorEnvironment(FrontingEnvironment):
    def __init__(self, inner: ExecutionEnvironment, host: EditorHost) -> None:
        super().__init__(inner)
        self._host = host

    # --- reading

    def has_open_file(self, path: str) -> bool:
        return self._document(path) is not None

    async def read_open_file(self, path: str) -> bytes | None:
        if document := self._document(path):
            return _encode(document.text)
        if "\0" not in path and self._host.is_unknown(self._absolute(path)):
            raise UnsupportedError(f"{path}: {self._host.blocked(self._absolute(path))}")
        return None

    # --- writing

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        plan = await self._plan_writes(writes)
        # From here on, the commit is completed or reverted even if the task is cancelled, because a partial
        # change in the user's documents would be useless. The time limits of the host end a commit that hangs.
        with anyio.CancelScope(shield=True):
            states = await self._carry_out(plan, attribution)
        return [states[at] for at in range(len(writes))]

    async def _plan_writes(self, writes: Sequence[FileWrite]) -> _Plan:
        """Check everything that can be checked before the first write, and return the plan."""
        edits: dict[int, FileWrite] = {}
        rest: dict[int, FileWrite] = {}
        closing: dict[int, OpenDocument] = {}
        for at, write in enumerate(writes):
            document = self._document(write.path)
            if document is None:
                rest[at] = write
            elif write.content is None:
                rest[at] = await self._deletion(document, write)
                closing[at] = document
            else:
                edits[at] = await self._edit(document, write)
        paths = [write.path for write in edits.values()]
        for path in paths:
            if paths.count(path) > 1:
                raise CommitError(path, "the same file occurs twice in one set of changes")
        for write in rest.values():
            await self._check_writable(write, is_checked_later=not edits)
        if edits or closing:  # without them, only `inner` writes, and it checks the paths itself
            await anyio.to_thread.run_sync(run_path_check, abandon_on_cancel=True)
        return _Plan(edits, rest, closing)

    async def _edit(self, document: OpenDocument, write: FileWrite) -> FileWrite:
        base = write.base
        if base is None:
            # The file must not exist yet. It may be open as an empty, unsaved document; then the edit fills this
            # document.
            if document.text or await self.inner.file_exists(document.path):
                raise StaleFileError(write.path, "the file exists already")
            base = b""
        meant = replace(write, path=document.path, base=base)
        _rebase_text(document, meant)
        return meant

    async def _deletion(self, document: OpenDocument, write: FileWrite) -> FileWrite:
        """Return the write that deletes the file of an open document. Its `base` is the content on disk.

        Raises:
            StaleFileError: the document's text has changed. EditRefusedError: the document has unsaved changes.
        """
        if write.base != _encode(document.text):
            raise StaleFileError(write.path)
        try:
            on_disk = await self.inner.read_bytes(document.path)
        except PathNotFoundError:
            reason = "the document was never saved, so there is no file to delete; close the document in the editor"
            raise EditRefusedError(write.path, reason) from None
        if decode(on_disk).text != document.text:
            reason = (
                "the file has unsaved changes in the editor; it can be deleted after they are saved or "
                "discarded there"
            )
            raise EditRefusedError(write.path, reason)
        return replace(write, base=on_disk)

    async def _check_writable(self, write: FileWrite, *, is_checked_later: bool) -> None:
        if reason := self._host.blocked(self._absolute(write.path)):
            raise EditRefusedError(write.path, reason)
        if is_checked_later:
            return
        # The inner environment compares its files with `base` only after the documents were edited. So
        # compare this file now, before the first edit.
        try:
            found: bytes | None = await self.inner.read_bytes(write.path)
        except PathNotFoundError:
            found = None
        if found != write.base:
            raise StaleFileError(write.path)

    async def _carry_out(self, plan: _Plan, attribution: Attribution) -> dict[int, FileState]:
        landed: dict[int, AppliedEdit] = {}
        states: dict[int, FileState] = {}
        try:
            for at, write in plan.edits.items():
                landed[at] = await self._apply_edit(write, attribution)
            # A tool call lets the editor delete and move files. An undo, which has no call id, leaves this to
            # the inner environment, because the ledger identifies files by path.
            for at, document in plan.closing.items() if attribution.call_id else ():
                states |= await self._carry_out_by_editor(plan, at, document)
            rest = {at: write for at, write in plan.rest.items() if at not in states}
            written = await self.inner.commit(list(rest.values()), attribution) if rest else ()
        except EnvError as error:
            await self._bring_back(list(states.values()), attribution, error)
            await self._take_back(list(landed.values()), attribution, error)
            raise
        states |= dict(zip(rest, written, strict=True))
        if states:
            await self._host.files_changed([state.path for state in states.values()])
        return states | {at: _state(item) for at, item in landed.items()}

    async def _carry_out_by_editor(
        self, plan: _Plan, at: int, document: OpenDocument
    ) -> dict[int, FileState]:
        """Let the editor carry out `plan.rest[at]`, which deletes the file of `document`, or move the file if
        the plan also creates the same content at another path.

        Return the resulting file states by index of the write; {} if the editor did not change the file.

        Raises:
            StaleFileError: the user typed before the editor deleted the file; the file was restored with the
            typed text.
        """
        deletion = plan.rest[at]
        path = document.path
        target = self._move_of(plan, deletion)
        if target is None:
            if any(
                write.mode_from and self._absolute(write.mode_from) == path for write in plan.rest.values()
            ):
                return {}  # moved with changes: the new file still needs the permission bits of this one
            last = await self._host.delete_file(document)
            if await self._on_disk(path) is not None:
                return {}
            if last != document.text:
                typed = encode(replace(decode(deletion.base or b""), text=last))
                await self.inner.commit([FileWrite(path, typed, None)], Attribution())
                raise StaleFileError(deletion.path, "the user typed in the file")
            return {at: FileState(path, deletion.base, None)}
        to = self._absolute(plan.rest[target].path)
        await self._host.rename_file(document, to)
        if await self._on_disk(path) is not None or await self._on_disk(to) != deletion.base:
            return {}
        return {at: FileState(path, deletion.base, None), target: FileState(to, None, deletion.base)}

    def _move_of(self, plan: _Plan, deletion: FileWrite) -> int | None:
        """Return the index of the write that, together with `deletion`, moves the file without changing its
        content. Return None if `deletion` is not part of such a move.
        """
        source = self._absolute(deletion.path)
        for at, write in plan.rest.items():
            is_moved = bool(write.mode_from) and self._absolute(write.mode_from) == source
            if is_moved and write.base is None and write.content == deletion.base:
                return at
        return None

    async def _bring_back(
        self, states: Sequence[FileState], attribution: Attribution, error: EnvError
    ) -> None:
        """Undo on disk the deletions and renames in `states`, which the editor carried out.

        `error` is the error that stopped the commit. Raise CommitError if the undo fails.
        """
        moved = {state.after: state.path for state in states if state.before is None}
        back = [
            FileWrite(state.path, state.before, state.after, moved.get(state.before, "")) for state in states
        ]
        try:
            if back:
                await self.inner.commit(back, attribution)
        except EnvError:
            raise CommitError(
                back[0].path, str(error).removesuffix("."), tuple(it.path for it in back)
            ) from error
        await self._host.files_changed([write.path for write in back])

    async def _apply_edit(self, write: FileWrite, attribution: Attribution) -> AppliedEdit:
        for _ in range(MAX_TRIES):
            document = self._host.open_document(write.path)
            if document is None:
                raise EditRefusedError(write.path, "the document was closed before the change was made")
            runs = text_hunks(document.text, _rebase_text(document, write))
            if not runs:
                return AppliedEdit(document.text, document.text, document)
            edits = [LineEdit(run.base_start, run.base_end, "".join(run.added)) for run in runs]
            try:
                return await self._host.apply_edit(document, edits, attribution)
            except StaleFileError:
                continue
        raise StaleFileError(write.path, f"the user typed in the file during each of {MAX_TRIES} tries")

    async def _take_back(
        self, landed: Sequence[AppliedEdit], attribution: Attribution, error: EnvError
    ) -> None:
        """Undo the edits in `landed`, which the editor has applied. Raise CommitError if an undo fails.

        `error` is the error that stopped the commit.
        """
        unrestored = []
        for item in reversed(landed):
            back = FileWrite(item.document.path, _encode(item.before), _encode(item.after))
            try:
                await self._apply_edit(back, attribution)
            except EnvError:
                unrestored.append(item.document.path)
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
        """Ask the editor to reload open files that a command, such as a formatter or a checkout, has changed.

        `before` maps paths of files to their digests before the command.
        """
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
            on_disk = GrepResult(())  # the file is open in the editor, but was never saved
        unsaved = [
            document
            for document in self._host.open_documents()
            if is_within(document.path, top, "/") and await self._is_unsaved(document)
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
        passes = globs.file_filter(options)
        root = self.working_directory()
        hidden = {search.shown_path(document.path, root) for document in documents}
        lines = [line for line in on_disk.lines if line.path not in hidden]
        listed = {line.path for line in on_disk.lines}
        wanted = {
            shown: document
            for document in documents
            if passes(shown := search.shown_path(document.path, root), search.shown_path(document.path, top))
        }
        texts = [(shown, _encode(document.text)) for shown, document in wanted.items()]
        for found in await run_timed(pattern, options, grep_texts, texts, regex, options) if texts else ():
            shown = found[0].path if found else ""
            if found and (shown in listed or await self._is_searched(wanted[shown], top)):
                lines += found
        return search.merge_lines(lines, options, is_full=on_disk.truncated)

    async def _is_searched(self, document: OpenDocument, top: str) -> bool:
        """Return whether a search below `top` includes an unsaved document.

        False if an ignore file, such as .gitignore, matches the path of the document.
        """
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


def _rebase_text(document: OpenDocument, write: FileWrite) -> str:
    """Return the text that the document will have after the write.

    Raises:
        StaleFileError: the user changed the same lines. EditRefusedError: the new content is binary.
    """
    base, proposed = _text(write, write.base, document), _text(write, write.content, document)
    if base == document.text:
        return proposed
    merged = rebase(split_lines(base), split_lines(proposed), split_lines(document.text))
    if isinstance(merged, MergedText):
        return "".join(merged.lines)
    detail = f"the user has changed the same lines in the editor ({merged.describe()})"
    raise StaleFileError(write.path, detail)


def _text(write: FileWrite, data: bytes | None, document: OpenDocument) -> str:
    try:
        text = (data or b"").decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        found = decode(data or b"")
        if not found.is_valid or looks_binary(data or b""):
            reason = (
                "the file is open in the editor as text, but the new content is not text; read the file again"
            )
            raise EditRefusedError(write.path, reason) from None
        text = found.text  # decoded with the file's own encoding, which the editor uses when it saves
    # If the change was computed from the disk before the document was opened, `text` may begin with a byte
    # order mark. Editors remove it from a document's text.
    return text if document.text.startswith(BOM) else text.removeprefix(BOM)


def _encode(text: str) -> bytes:
    # A client may send half a surrogate pair. It is not valid UTF-8, but the client must get it back unchanged.
    return text.encode("utf-8", "surrogatepass")


def _state(applied: AppliedEdit) -> FileState:
    moved_on = applied.document.text != applied.after
    path = applied.document.path
    return FileState(path, _encode(applied.before), _encode(applied.after), moved_on=moved_on)
