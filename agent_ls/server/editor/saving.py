"""Save documents before a command runs, and report unsaved text that the command will not see.

A notebook counts as a document; its text is the text of its cells.

The policies: `agent` saves documents whose only unsaved changes are the agent's, and reports those with
unsaved changes of the user to the model. `auto` saves documents with the user's changes too, `ask` asks the
user once about them, `never` saves nothing. No policy saves a document whose file has changed on disk since
it was opened or saved. To detect such a change, the file on disk is read and compared.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import anyio.to_thread

from agent_ls.environments.editor_host import OpenDocument
from agent_ls.text import decode, equals_ignoring_line_endings

MAX_BYTES = 8 * 1024 * 1024
"""Larger files are not compared: a larger file counts as saved if nobody changed it in the editor."""

Owner: TypeAlias = Literal["nobody", "agent", "user", "disk"]
"""Who made the unsaved changes. `disk`: the file on disk has other changes too, which saving would overwrite.
"""

SavePolicy: TypeAlias = Literal["auto", "agent", "ask", "never"]
Save: TypeAlias = Callable[[Sequence[OpenDocument]], Awaitable[bool]]
"""Asks the editor to save documents. Returns whether it answered; if not, it may save them later."""
MaySave: TypeAlias = Callable[[Sequence[str]], Awaitable[bool]]
"""Asks the user whether the files at these paths, which have unsaved changes of the user, may be saved. Must
not raise.
"""


def _decode(data: bytes) -> str:
    return decode(data).text


@dataclass(slots=True)
class Savable:
    """The saved state of a document, and who has changed the document since then. `clean_text` is its text
    when it was opened or last saved.

    `text_in` decodes the file's bytes into the text that is compared with the document. `asked_text` is the text that
    the editor is asked to save, None if it is not asked. `other_clean_text`: the file may have this text instead.
    """

    path: str
    clean_text: str
    agent_wrote: bool = False
    user_typed: bool = False
    text_in: Callable[[bytes], str] = _decode
    asked_text: str | None = None
    other_clean_text: str | None = None

    def saved(self, text: str) -> Savable:
        """Return the state after a save. `text` is that of the document when the editor reports the save.

        If the document has changed since the editor was asked to save it, the file may have the text from then.
        """
        if self.asked_text in (None, text):
            return Savable(self.path, text, text_in=self.text_in)
        return replace(self, clean_text=text, other_clean_text=self.asked_text, asked_text=None)


Documents: TypeAlias = Callable[[], list[tuple[Savable, OpenDocument]]]
"""Returns the currently open documents."""


async def unsaved_note(
    documents: Documents, save: Save | None, policy: SavePolicy = "agent", may_save: MaySave | None = None
) -> str:
    """Save the documents that the policy allows. Return a sentence about unsaved text that a command will not
    see, "" if there is none.
    """
    found = await _group_by_owner(documents())
    if save and policy != "never":
        typed = sorted(document.path for _, document, owner in found if owner == "user")
        is_user_asked = policy == "ask" and typed and may_save is not None and await may_save(typed)
        saved = {"agent", "user"} if policy == "auto" or is_user_asked else {"agent"}
        # Read the documents again, because the user may have typed while the question was open.
        found = await _group_by_owner(documents())
        if await _save(save, [(savable, document) for savable, document, owner in found if owner in saved]):
            found = await _group_by_owner(documents())
    unsaved = sorted((document.path, owner) for _, document, owner in found if owner != "nobody")
    if not unsaved:
        return ""
    listed = ", ".join(f"{path} ({_WHOSE[owner]})" for path, owner in unsaved)
    return (
        f"Files with unsaved changes in the editor, of which commands see the older text on disk: {listed}."
    )


async def saved_undone(documents: Documents, save: Save | None, paths: Collection[str]) -> list[str]:
    """Save the documents at `paths` whose unsaved changes were all made by the agent. Return the paths that
    are still unsaved.
    """

    def wanted() -> list[tuple[Savable, OpenDocument]]:
        return [(savable, document) for savable, document in documents() if document.path in paths]

    found = await _group_by_owner(wanted())
    agents = [(savable, document) for savable, document, owner in found if owner == "agent"]
    if save and await _save(save, agents):
        # What the agent has written since then is not part of the undoing.
        asked = {document.path: document for _, document in agents}
        found = await _group_by_owner([(it, asked.get(it.path, document)) for it, document in wanted()])
    return sorted(document.path for _, document, owner in found if owner != "nobody")


async def _save(save: Save, asked: Sequence[tuple[Savable, OpenDocument]]) -> bool:
    """Ask the editor to save documents. Returns whether there were any."""
    for savable, document in asked:
        savable.asked_text = document.text
    if asked and await save([document for _, document in asked]):
        for savable, _ in asked:
            savable.asked_text = None
    return bool(asked)


_WHOSE = {
    "agent": "edited by you",
    "user": "the user's unsaved changes",
    "disk": "the user's unsaved changes; the file on disk has changed too",
}


_Owned: TypeAlias = tuple[Savable, OpenDocument, Owner]


async def _group_by_owner(documents: list[tuple[Savable, OpenDocument]]) -> list[_Owned]:
    def look() -> list[_Owned]:
        return [(savable, document, _owner(savable, document.text)) for savable, document in documents]

    return await anyio.to_thread.run_sync(look, abandon_on_cancel=True)


def _owner(savable: Savable, text: str) -> Owner:
    """Return who made the unsaved changes; "disk" if the file on disk changed too."""
    on_disk = _text_on_disk(savable)
    if on_disk is None:
        # The file is missing or cannot be compared (a new or a very large file): use only the flags `agent_wrote`
        # and `user_typed`.
        changed = savable.agent_wrote or savable.user_typed
        return ("user" if savable.user_typed else "agent") if changed else "nobody"
    if equals_ignoring_line_endings(on_disk, text):
        return "nobody"
    # The file on disk differs from the text last opened or saved, so another program has changed the file.
    clean = (savable.clean_text, savable.other_clean_text)
    if not any(known is not None and equals_ignoring_line_endings(on_disk, known) for known in clean):
        return "disk"
    return "user" if savable.user_typed else "agent"


def _text_on_disk(savable: Savable) -> str | None:
    data = _on_disk(savable.path)
    return None if data is None else savable.text_in(data)


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
