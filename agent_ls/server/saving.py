"""Before a command: which documents are saved for it, and what it will not see (PROTOCOL, Before a command).

A notebook is a document whose text is that of its cells.

Policy `agent`: documents whose only unsaved changes are the agent's are saved by the editor; what holds unsaved
typing of the user stays as it is, and the model is told. `auto` saves these too, `ask` asks the user about them once,
`never` saves nothing. A file that has changed on disk since is saved by none of them. What is on disk is looked at, not
assumed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import anyio.to_thread

from agent_ls.environments.editor_host import OpenDocument
from agent_ls.text import decode, same_but_for_endings

MAX_BYTES = 8 * 1024 * 1024
"""A larger file is not compared: it counts as saved if nobody changed it here."""

Owner: TypeAlias = Literal["nobody", "agent", "user", "disk"]
"""Whose changes are unsaved; `disk`: the file has others, which saving would undo."""

SavePolicy: TypeAlias = Literal["auto", "agent", "ask", "never"]
Save: TypeAlias = Callable[[Sequence[OpenDocument]], Awaitable[None]]
MaySave: TypeAlias = Callable[[Sequence[str]], Awaitable[bool]]
"""Whether the user lets these files be saved, whose unsaved changes are his. Must not raise."""


def _decoded(data: bytes) -> str:
    return decode(data).text


@dataclass(slots=True)
class Savable:
    """A document since it was opened or saved, when its text was `clean_text`; who has changed it since.

    `text_in` makes of the file's bytes what is compared with the document's text.
    """

    path: str
    clean_text: str
    agent_wrote: bool = False
    user_typed: bool = False
    text_in: Callable[[bytes], str] = _decoded


Documents: TypeAlias = Callable[[], list[tuple[Savable, OpenDocument]]]
"""The open documents as they are now."""


async def unsaved_note(
    documents: Documents, save: Save | None, policy: SavePolicy = "agent", may_save: MaySave | None = None
) -> str:
    """Has saved what may be saved, and says in one sentence what a command will not see ("" for nothing)."""
    found = await _owned(documents())
    if save and policy != "never":
        typed = sorted(document.path for document, owner in found if owner == "user")
        is_user_asked = policy == "ask" and typed and may_save is not None and await may_save(typed)
        saved = {"agent", "user"} if policy == "auto" or is_user_asked else {"agent"}
        # As they are now: whoever was asked may have typed meanwhile.
        found = await _owned(documents())
        savable = [document for document, owner in found if owner in saved]
        if savable:
            await save(savable)
            found = await _owned(documents())
    unsaved = sorted((document.path, owner) for document, owner in found if owner != "nobody")
    if not unsaved:
        return ""
    listed = ", ".join(f"{path} ({_WHOSE[owner]})" for path, owner in unsaved)
    return f"Not saved in the editor, so commands see the older text on disk: {listed}."


_WHOSE = {
    "agent": "edited by you",
    "user": "the user's unsaved changes",
    "disk": "the user's unsaved changes, and the file on disk has others",
}


async def _owned(documents: list[tuple[Savable, OpenDocument]]) -> list[tuple[OpenDocument, Owner]]:
    def look() -> list[tuple[OpenDocument, Owner]]:
        return [(document, _owner(savable, document.text)) for savable, document in documents]

    return await anyio.to_thread.run_sync(look, abandon_on_cancel=True)


def _owner(savable: Savable, text: str) -> Owner:
    """Whose changes are in the document and not on disk."""
    data = _on_disk(savable.path)
    on_disk = None if data is None else savable.text_in(data)
    if on_disk is None:
        # Not there, or not to be compared: a new file of the user's, or one that only the flags can tell of.
        changed = savable.agent_wrote or savable.user_typed
        return ("user" if savable.user_typed else "agent") if changed else "nobody"
    if same_but_for_endings(on_disk, text):
        return "nobody"
    # It was opened, or left, with other text than the disk has: then not all of the difference is made here.
    if not same_but_for_endings(on_disk, savable.clean_text):
        return "disk"
    return "user" if savable.user_typed else "agent"


def _on_disk(path: str) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_BYTES:
                return None
            return file.read(MAX_BYTES)
    except OSError:
        return None
