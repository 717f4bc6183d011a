"""An environment that reads and changes notebooks open in the editor, and forwards the rest to `inner`.

Reading an open notebook returns the file's content with its cells replaced by the cells in the editor. Writing
an open notebook changes cells in the editor; its file on disk is never written.
"""

from __future__ import annotations

import os.path
from collections.abc import Sequence

import anyio
import anyio.to_thread

from agent_ls.environments.base import (
    Attribution,
    ExecutionEnvironment,
    FileState,
    FileWrite,
)
from agent_ls.environments.editor_host import NotebookHost, OpenNotebook
from agent_ls.environments.errors import (
    CommitError,
    EditRefusedError,
    EnvError,
    PathNotFoundError,
    StaleFileError,
    UnsupportedError,
)
from agent_ls.environments.opened import run_path_check
from agent_ls.environments.wrappers.forwarding import FrontingEnvironment
from agent_ls.notebook.cell_alignment import EditorCell, align_cells, editor_cells
from agent_ls.notebook.cells import Notebook, NotebookError, is_notebook, parse_notebook
from agent_ls.notebook.notebook_text import NEW_NOTEBOOK, build_notebook_text
from agent_ls.text import DecodedText, decode, encode

SAVE_TRIES = 40
SAVE_PAUSE_S = 0.05
"""Pause before the file of a notebook is read again, because an editor empties the file before writing it."""


class NotebookEnvironment(FrontingEnvironment):
    def __init__(self, inner: ExecutionEnvironment, host: NotebookHost) -> None:
        super().__init__(inner)
        self._host = host

    def has_open_file(self, path: str) -> bool:
        return self._open(path) is not None

    async def read_open_file(self, path: str) -> bytes | None:
        notebook = self._open(path)
        return await self._as_shown(notebook) if notebook else None

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        opened = {at: notebook for at, write in enumerate(writes) if (notebook := self._open(write.path))}
        if not opened:
            return await self.inner.commit(writes, attribution)
        for at, notebook in opened.items():
            await self._check_editable(notebook, writes[at])
        await anyio.to_thread.run_sync(run_path_check, abandon_on_cancel=True)
        # From here on the commit is completed or reverted, even if the call is cancelled.
        with anyio.CancelScope(shield=True):
            states = await self._carry_out(writes, opened, attribution)
        return states

    async def _carry_out(
        self, writes: Sequence[FileWrite], opened: dict[int, OpenNotebook], attribution: Attribution
    ) -> Sequence[FileState]:
        states: dict[int, FileState] = {}
        rest = {at: write for at, write in enumerate(writes) if at not in opened}
        try:
            for at in opened:
                states[at] = await self._write_notebook(writes[at])
            written = await self.inner.commit(list(rest.values()), attribution) if rest else ()
        except EnvError as error:
            await self._take_back(list(states.values()), error)
            raise
        states |= dict(zip(rest, written, strict=True))
        return [states[at] for at in range(len(writes))]

    async def _check_editable(self, notebook: OpenNotebook, write: FileWrite) -> None:
        if write.content is None:
            raise EditRefusedError(
                write.path, "the file is open as a notebook in the editor; close the notebook there first"
            )
        if notebook.problem:
            raise EditRefusedError(write.path, notebook.problem)
        if write.base != await self._as_shown(notebook):
            raise StaleFileError(write.path, "the cells of the notebook have changed")
        _cells_of(write)

    async def _write_notebook(self, write: FileWrite) -> FileState:
        notebook = self._open(write.path)
        if notebook is None:
            raise EditRefusedError(write.path, "the notebook was closed before the change was made")
        await self._check_editable(notebook, write)
        before = write.base or b""
        changed = await self._host.change_cells(notebook, align_cells(notebook.cells, _cells_of(write)))
        return FileState(notebook.path, before, await self._as_shown(changed))

    async def _take_back(self, states: Sequence[FileState], error: EnvError) -> None:
        unrestored = []
        for state in reversed(states):
            try:
                await self._write_notebook(FileWrite(state.path, state.before, state.after))
            except EnvError:
                unrestored.append(state.path)
        if unrestored:
            path = getattr(error, "path", "") or unrestored[0]
            raise CommitError(path, str(error).removesuffix("."), tuple(unrestored)) from error

    async def _as_shown(self, notebook: OpenNotebook) -> bytes:
        """Return the content that the notebook's file would have with the editor's cells.

        If the file cannot be parsed as a notebook, return its content on disk.

        Raises:
            UnsupportedError: the cells in the editor are not known, so the content on disk may be outdated.
        """
        if notebook.problem:
            raise UnsupportedError(f"{notebook.path}: {notebook.problem}")
        data, of_file = await self._read_file(notebook.path)
        for _ in range(SAVE_TRIES):
            if of_file:
                break
            await anyio.sleep(SAVE_PAUSE_S)
            data, of_file = await self._read_file(notebook.path)
        if of_file is None:
            return data
        text = build_notebook_text(of_file, align_cells(editor_cells(of_file), notebook.cells))
        decoded = decode(data)
        return encode(DecodedText(text, decoded.encoding, decoded.bom))

    async def _read_file(self, path: str) -> tuple[bytes, Notebook | None]:
        """Return the content of a file on disk, and its parsed notebook (None if it cannot be parsed).

        For a missing file, return the content of a new notebook.
        """
        try:
            data = await self.inner.read_bytes(path)
        except PathNotFoundError:
            data = NEW_NOTEBOOK.encode()
        try:
            return data, parse_notebook(decode(data).text)
        except NotebookError:
            return data, None

    def _open(self, path: str) -> OpenNotebook | None:
        if "\0" in path or not is_notebook(path):
            return None
        return self._host.open_notebook(os.path.normpath(os.path.join(self.working_directory(), path)))


def _cells_of(write: FileWrite) -> list[EditorCell]:
    """Return the cells of the notebook in `write.content`.

    Raises:
        EditRefusedError: the content is not a notebook.
    """
    try:
        return editor_cells(parse_notebook(decode(write.content or b"").text))
    except NotebookError as error:
        reason = f"the file is open as a notebook in the editor, but the new content {error}"
        raise EditRefusedError(write.path, reason) from None
