"""A session's changes as a patch for `git apply`, from the contents that its log names.

The patch has what the session changed, without what was undone or rolled back since. What others changed in a file
between two writes is context of the patch.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from agent_ls.loop.events.types import Hunk
from agent_ls.patch.git_format import describe_beside_text, git_patch
from agent_ls.patch.unified import line_hunks
from agent_ls.review.net_change import SessionWrite, net_change
from agent_ls.sessions.export.logged_writes import WrittenFile, read_logged_writes
from agent_ls.store import blobs
from agent_ls.store.layout import blobs_path, log_path
from agent_ls.text import looks_binary, split_lines, to_display_line


class _NotText(ValueError):
    """The content is not UTF-8 text, or was not stored. The message says which."""


def session_patch(
    session_folder: Path, folders: Sequence[tuple[str, str]], trailers: str = "", turn_id: str = ""
) -> str:
    """Return the patch of a session, or of one turn of it. Blocks.

    `folders` are pairs of a folder and its name in the patch, "" for the folder in which the patch is applied. If a
    file is in two of them under the same name, the first one counts. The lines above the first file name what is
    not in the patch, and are the `trailers`. Programs that apply patches pass over both.

    Raises:
        UnknownTurnError: the log has no such turn. OSError: the log cannot be read.
    """
    parts: list[str] = []
    notes: list[str] = []
    logged = read_logged_writes(log_path(session_folder), turn_id)
    files = logged.files
    for name, path in sorted(_names(files, folders).items()):
        file = files[path]
        if file.first == file.end:
            continue
        try:
            before, after = _ends(blobs_path(session_folder), path, file)
        except _NotText as error:
            notes.append(f"{name}: {error}")
            continue
        after, left = _without_undone(before, after, file.undone_lines)
        notes += [f"{name}: an undone change is still part of the patch"] * left
        parts.append(git_patch(before, after, name, _is_executable(path, after, file.mode)))
    for name, path in sorted(_names(logged.beside_text, folders).items()):
        if words := describe_beside_text(logged.beside_text[path]):
            notes.append(f"{name}: {words}, which is not part of the patch")
    outside = [it for it in files if not any(it.startswith(f"{top}/") for top, _ in folders)]
    notes += [f"{path}: outside of the folder" for path in outside]
    head = "".join(f"Note: {to_display_line(note)}\n" for note in notes)
    return "".join([head, trailers, "---\n\n" * bool(head or trailers), *parts])


def _names(files: Iterable[str], folders: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the path of each file by its name in the patch."""
    found: dict[str, str] = {}
    for top, prefix in folders:
        for path in files:
            name = path.removeprefix(f"{top}/")
            if name != path:
                found.setdefault(f"{prefix}/{name}".lstrip("/").replace("\\", "/"), path)
    return found


def _ends(folder: Path, path: str, file: WrittenFile) -> tuple[str | None, str | None]:
    """Return the texts between which the patch of a file leads.

    Raises:
        _NotText.
    """
    ends = _read(folder, file.first), _read(folder, file.end)
    if not file.has_others_changes or file.end != file.writes[-1].record.after:
        return ends
    writes: list[SessionWrite] = []
    try:
        for it in file.writes:
            record = it.record
            texts = _read(folder, record.before), _read(folder, record.after)
            writes.append(SessionWrite(*texts, record.turn_id, record.call_id, it.reverts))
    except _NotText:
        return ends  # who changed what in between is not known
    return net_change(path, writes)


def _read(folder: Path, name: str) -> str | None:
    """Return the text with its byte order mark and line endings, because a patch has them too.

    Raises:
        _NotText.
    """
    if not name:
        return None
    data = blobs.read_blob(folder, name)
    if data is None:
        raise _NotText("its content was not stored")
    try:
        if looks_binary(data):
            raise _NotText("its content is not text")
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise _NotText("its content is not UTF-8") from None


def _is_executable(path: str, after: str | None, mode: int | None) -> bool:
    """Return whether a new file can be executed now, or a deleted file could be (`mode`: its permission bits)."""
    with suppress(OSError):
        mode = mode if after is None else os.stat(path).st_mode
    return bool((mode or 0) & 0o100)


def _without_undone(before: str | None, after: str | None, undone: Sequence[Hunk]) -> tuple[str | None, int]:
    """Return `after` without the changes that the user undid, and how many of them could not be taken out."""
    old, new = split_lines(before or ""), split_lines(after or "")
    left = 0
    for hunk in undone:
        at = _place(old, new, hunk)
        if at is None:
            left += 1
        else:
            new[at : at + len(hunk.lines)] = hunk.base_lines
    return "".join(new) if undone else after, left


def _place(old: Sequence[str], new: Sequence[str], hunk: Hunk) -> int | None:
    """Return the line in `new` at which the lines of a hunk begin; None if that cannot be decided."""
    if hunk.lines:
        found = _places_of(hunk.lines, new)
        is_only = len(found) == 1
    else:  # a removal left no lines: it is where the texts differ by just these lines
        grown = 0
        found = []
        for each in line_hunks(old, new):
            if each.removed == hunk.base_lines and not each.added:
                found.append(each.base_start + grown)
            grown += len(each.added) - len(each.removed)
        is_only = len(found) == len(_places_of(hunk.base_lines, old)) == 1
    return found[0] if is_only else hunk.start if hunk.start in found else None


def _places_of(lines: Sequence[str], text: Sequence[str]) -> list[int]:
    return [at for at in range(len(text)) if tuple(text[at : at + len(lines)]) == tuple(lines)]
