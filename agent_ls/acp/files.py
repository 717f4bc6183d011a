"""An environment whose files may be open in an ACP client: unsaved text of the client is read and never lost.

ACP reports no versions and no changes of texts. So the disk is always read too. The client's text is used only
if it differs from the disk in more than line ends. A write counts as done only after the text was read back.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import anyio

from agent_ls.environments.base import (
    READ_LIMIT_BYTES,
    Attribution,
    ExecutionEnvironment,
    FileState,
    FileWrite,
)
from agent_ls.environments.errors import (
    CommitError,
    EditRefusedError,
    EnvError,
    FileTooLargeError,
    PathNotFoundError,
    StaleFileError,
)
from agent_ls.environments.instruction_names import is_looked_for
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment
from agent_ls.patch.line_diff import line_hunks
from agent_ls.paths import is_below
from agent_ls.text import (
    BOM,
    DecodedText,
    decode,
    encode,
    is_encodable,
    line_ending,
    looks_binary,
    normalize_line_endings,
    preferred_ending,
    split_lines,
)

MAX_BYTES = 2 * 1024 * 1024
"""A larger file is not read from or written through the client."""

CHANGED = (
    "a formatter or the user changed the text while the editor wrote it, so the file differs from the "
    "requested text; read the file again before you rely on it"
)
NOT_SAVED = "the change is in the editor, which has not saved the file yet: commands still see the old text"


class ClientTexts(Protocol):
    """Interface to read and write the texts of files in the client, for one session. Neither method raises."""

    @property
    def can_write(self) -> bool: ...

    async def read(self, path: str) -> str | None:
        """Return the client's text of a file; None if the client sent no text."""
        ...

    async def write(self, path: str, text: str) -> bool:
        """Ask the client to write a file. Returns whether it reported success."""
        ...


@dataclass(frozen=True, slots=True)
class _FileVersions:
    """The current state of a file on the disk and in the client.

    `disk` is the content on the disk, None if the file does not exist. `content` is the content that reads
    return: the client's unsaved text, otherwise the content on the disk. `text` is the text that the client
    sent, None for none. `is_unsaved`: `text` differs from the content on the disk. `is_shared`: `text` equals
    the disk, so the client can read the file too.
    """

    disk: bytes | None
    content: bytes | None
    text: str | None = None
    is_unsaved: bool = False

    @property
    def is_shared(self) -> bool:
        return self.text is not None and not self.is_unsaved and self.disk is not None


@dataclass(frozen=True, slots=True)
class _ClientWrite:
    """A write that was made through the client. Writing `write.base` again reverses it."""

    write: FileWrite
    state: FileState


class ClientFilesEnvironment(ForwardingEnvironment):
    """An environment that reads text files below 2 MiB from disk and client, and writes them through the
    client. `inner` reads and writes the disk. `others` returns the folders that the session has besides its
    working directory; files outside of them are read from disk.
    """

    def __init__(
        self, inner: ExecutionEnvironment, client: ClientTexts, others: Callable[[], Sequence[str]] = tuple
    ) -> None:
        super().__init__(inner)
        self._client = client
        self._others = others

    async def read_bytes(self, path: str, max_bytes: int = READ_LIMIT_BYTES) -> bytes:
        if not self._is_inside(path):
            return await self.inner.read_bytes(path, max_bytes)
        seen = await self._read_versions(path, max_bytes)
        if seen.content is None:
            raise PathNotFoundError(path)
        if len(seen.content) > max_bytes:
            raise FileTooLargeError(path, len(seen.content), max_bytes)
        return seen.content

    async def file_exists(self, path: str) -> bool:
        return await self.inner.file_exists(path) or await self._in_client(path)

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        # From here on the commit is completed or reverted. It cannot wait for ever, because the client's
        # answers have time limits.
        states: Sequence[FileState] = ()
        with anyio.CancelScope(shield=True):
            states = await self._commit(writes, attribution)
        return states

    # --- reading

    async def _read_versions(self, path: str, max_bytes: int = READ_LIMIT_BYTES) -> _FileVersions:
        """Return the state of the file on the disk and in the client.

        Raises:
            EnvError: the file on disk cannot be read. A missing file is no error.
        """
        disk: bytes | None = None
        client_text: str | None = None
        failed: EnvError | None = None

        async def read_disk() -> None:
            nonlocal disk, failed
            try:
                disk = await self.inner.read_bytes(path, max_bytes)
            except PathNotFoundError:
                disk = None
            except EnvError as error:
                failed = error

        if self._is_optional(path):  # a client shows an error for each file that it is asked for in vain
            await read_disk()
            if disk is not None and self._is_text_path(path):
                client_text = await self._client.read(self._absolute(path))
        else:
            async with anyio.create_task_group() as group:
                group.start_soon(read_disk)
                if self._is_text_path(path):
                    client_text = await self._client.read(self._absolute(path))
        if failed:
            raise failed
        return _combine_views(disk, client_text)

    async def _in_client(self, path: str) -> bool:
        """Return whether the client has a text for this path; the file need not exist on the disk."""
        is_asked = self._is_text_path(path) and self._is_inside(path) and not self._is_optional(path)
        return is_asked and bool(await self._client.read(self._absolute(path)))

    def _is_text_path(self, path: str) -> bool:
        """Return whether the client may be asked for a file. False for notebooks, and for files in `.git`."""
        return (
            bool(path) and "\0" not in path and not path.endswith(".ipynb") and ".git" not in path.split("/")
        )

    def _is_optional(self, path: str) -> bool:
        """Return whether the client is asked for a file only if it is on the disk.

        These are files of instructions, which agent-ls looks for in many folders.
        """
        return is_looked_for(path)

    def _is_inside(self, path: str) -> bool:
        """Return whether a path is in a folder of the session. The user's notes, for example, are outside."""
        folders = (self.working_directory(), *self._others())
        whole = self._absolute(path)
        return any(is_below(whole, folder) for folder in folders)

    def _absolute(self, path: str) -> str:
        return os.path.normpath(os.path.join(self.working_directory(), path))

    # --- writing

    async def _commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        seen = [await self._check_base(write) for write in writes]
        shared = [at for at, write in enumerate(writes) if self._goes_to_client(write, seen[at])]
        names = [self._absolute(writes[at].path) for at in shared]
        for at in shared:
            if names.count(self._absolute(writes[at].path)) > 1:
                raise CommitError(writes[at].path, "the same file occurs twice in one set of changes")
        on_disk = [at for at in range(len(writes)) if at not in shared]
        states: dict[int, FileState] = {}
        applied: list[_ClientWrite] = []
        try:
            for at in shared:
                # The user may have typed while earlier files of the commit were written.
                latest = seen[at] if at == shared[0] else await self._check_base(writes[at])
                states[at] = await self._write_one(writes[at], latest, attribution)
                applied.append(_ClientWrite(writes[at], states[at]))
            if on_disk:
                written = await self.inner.commit([writes[at] for at in on_disk], attribution)
                states |= dict(zip(on_disk, written, strict=True))
        except EnvError as error:
            await self._take_back(applied, attribution, error)
            raise
        return [states[at] for at in range(len(writes))]

    async def _check_base(self, write: FileWrite) -> _FileVersions:
        """Check, before anything is written, that the base content of the write equals the current content.
        Returns the current state.

        Raises:
            StaleFileError: the current content differs from the base. EditRefusedError: the write would lose
            text that only the client has.
        """
        seen = await self._read_versions(write.path)
        if not seen.is_unsaved:
            if seen.disk != write.base:
                raise StaleFileError(
                    write.path, "the file exists already" if write.base is None else _MOVED_ON
                )
            return seen
        if seen.content != write.base:
            raise StaleFileError(
                write.path, "the editor has unsaved changes that were made after the file was read"
            )
        if write.content is None:
            reason = (
                "the file has unsaved changes in the editor; it can be deleted after they are saved or "
                "discarded there"
            )
            raise EditRefusedError(write.path, reason)
        if not self._client.can_write or not _is_text(write.content):
            reason = (
                "the file has unsaved changes in the editor, and this editor accepts no edits from "
                "agent-ls; save the file there first"
            )
            raise EditRefusedError(write.path, reason)
        return seen

    def _goes_to_client(self, write: FileWrite, seen: _FileVersions) -> bool:
        if write.content is None or write.content == write.base or write.mode_from:
            return False
        return seen.is_unsaved or (self._client.can_write and seen.is_shared and _is_text(write.content))

    async def _write_one(self, write: FileWrite, seen: _FileVersions, attribution: Attribution) -> FileState:
        """Write one file through the client, and read it back.

        Raises:
            EnvError: the content was not written.
        """
        wanted, path = write.content or b"", self._absolute(write.path)
        await self._client.write(path, decode(wanted).text)
        now = await self._read_versions(write.path)
        if now.content == wanted:
            note = NOT_SAVED if now.is_unsaved else ""
            return FileState(path, write.base, wanted, note=note)
        # the client changed nothing, although it may have reported success
        if now.disk == seen.disk and now.content == seen.content:
            if seen.is_unsaved:
                raise EditRefusedError(
                    write.path,
                    "the file has unsaved changes in the editor, and the editor did not apply this change",
                )
            return await self._on_disk(write, attribution)
        if now.disk is not None and not now.is_unsaved and _is_same_text(now.disk, wanted):
            # Only line ends, BOM or last newline differ from the wanted content: write it on the disk.
            return await self._on_disk(FileWrite(write.path, wanted, now.disk), attribution, base=write.base)
        if now.content is None:
            raise EditRefusedError(write.path, "the file no longer existed after the editor had written it")
        if now.disk == seen.disk and not now.is_unsaved and not seen.is_unsaved:
            return await self._on_disk(write, attribution)
        return FileState(path, write.base, now.content, note=CHANGED)

    async def _on_disk(
        self, write: FileWrite, attribution: Attribution, base: bytes | None = None
    ) -> FileState:
        state = (await self.inner.commit([write], attribution))[0]
        return FileState(state.path, write.base if base is None else base, state.after, note=state.note)

    async def _take_back(
        self, applied: Sequence[_ClientWrite], attribution: Attribution, error: EnvError
    ) -> None:
        """Reverse the changes of earlier files after a later file failed. Raises only if a change cannot be
        reversed.
        """
        unrestored = []
        for item in reversed(applied):
            path, before, after = item.write.path, item.write.base, item.state.after
            try:
                seen = await self._read_versions(path)
                if seen.content != after:
                    raise StaleFileError(path)
                state = await self._write_one(FileWrite(path, before, after), seen, attribution)
                if state.after != before:
                    raise StaleFileError(path)
            except EnvError:
                unrestored.append(self._absolute(path))
        if unrestored:
            path = getattr(error, "path", "") or unrestored[0]
            raise CommitError(path, str(error).removesuffix("."), tuple(unrestored)) from error


_MOVED_ON = "the content of the file changed since it was read"


def _combine_views(disk: bytes | None, client_text: str | None) -> _FileVersions:
    """Return the state of a file, computed from its bytes on the disk and the client's text of the file."""
    if disk is not None and (len(disk) > MAX_BYTES or not _is_text(disk)):
        return _FileVersions(disk, disk)
    # An empty text for a file that is not empty on disk counts as no answer.
    if client_text is None or not is_encodable(client_text) or (client_text == "" and disk):
        return _FileVersions(disk, disk)
    if disk is None:
        return (
            _FileVersions(None, client_text.encode(), client_text, is_unsaved=True)
            if client_text
            else _FileVersions(None, None)
        )
    form = decode(disk)
    if _bare(form.text) == _bare(client_text):
        return _FileVersions(disk, disk, client_text)
    return _FileVersions(disk, encode(_apply_form(form, client_text)), client_text, is_unsaved=True)


def _apply_form(form: DecodedText, client_text: str) -> DecodedText:
    """Return the client's text with the line ends, the encoding and the BOM of the file on disk (`form`)."""
    lines, wanted = split_lines(form.text), split_lines(client_text.removeprefix(BOM))
    ending = preferred_ending(lines) if lines else ""
    if not ending:
        return DecodedText("".join(wanted), form.encoding, form.bom)
    made = [_with_ending(line, ending) for line in wanted]
    # Lines that the user has not changed get the line end that they have on the disk.
    bare, bare_wanted = [_bare_line(line) for line in lines], [_bare_line(line) for line in wanted]
    old = new = 0
    for hunk in (*line_hunks(bare, bare_wanted), None):
        same = (hunk.base_start if hunk else len(bare)) - old
        for step in range(same):
            if new + step < len(made) and line_ending(lines[old + step]) and line_ending(wanted[new + step]):
                made[new + step] = lines[old + step]
        old, new = old + same, new + same
        if hunk:
            old, new = hunk.base_end, new + len(hunk.added)
    return DecodedText("".join(made), form.encoding, form.bom)


def _bare_line(line: str) -> str:
    return line[: len(line) - len(line_ending(line))] + "\n"


def _with_ending(line: str, ending: str) -> str:
    found = line_ending(line)
    return line[: len(line) - len(found)] + ending if found else line


def _bare(text: str) -> str:
    """Return the text without the parts that editors normalise: line ends, BOM, the last newline."""
    return normalize_line_endings(text.removeprefix(BOM))


def _is_same_text(one: bytes, other: bytes) -> bool:
    return _is_text(one) and _is_text(other) and _bare(decode(one).text) == _bare(decode(other).text)


def _is_text(data: bytes) -> bool:
    """Return whether the data is text in UTF-8. Other files are never sent to a client."""
    if looks_binary(data):
        return False
    form = decode(data)
    return form.encoding == "utf-8" and form.is_valid
