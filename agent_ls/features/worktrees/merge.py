"""Pure: merge a change from a worktree into the current text of a file in the user's folder."""

from __future__ import annotations

from dataclasses import dataclass

from agent_ls.patch.rebase import Conflicted, rebase
from agent_ls.text import (
    NotEncodableError,
    decode,
    encode_changed,
    line_ending,
    looks_binary,
    preferred_ending,
    split_lines,
    strip_ending,
)


@dataclass(frozen=True, slots=True)
class NotMerged:
    """Result of a merge that is not possible. The user's text is not changed.

    `reason` is the part of a sentence that follows the file's name.
    """

    reason: str


def merge(base: bytes | None, changed: bytes | None, user: bytes | None) -> bytes | NotMerged | None:
    """Return `user` with the changes from `base` to `changed`. None means that no file exists.

    A change that `user` already contains is not applied again.
    """
    if user in (base, changed):
        return changed
    if user is None:
        return NotMerged("was deleted in your folder")
    if changed is None:
        return NotMerged("is deleted in the worktree, and was changed in your folder")
    if base is None:
        return NotMerged("is new in the worktree, but your folder has a different file of that name")
    if any(map(looks_binary, (base, changed, user))):
        return NotMerged("is a binary file that was changed in the worktree and in your folder")
    form = decode(user)
    ending = preferred_ending(split_lines(form.text))
    old, new = (_with_endings(decode(data).text, ending) for data in (base, changed))
    merged = rebase(split_lines(old), split_lines(new), split_lines(form.text))
    if isinstance(merged, Conflicted):
        first = merged.conflicts[0]
        return NotMerged(f"was changed in your folder in the same lines (line {first.start + 1})")
    try:
        return encode_changed(form, "".join(merged.lines))
    except NotEncodableError:
        return NotMerged("now has characters that cannot be written in the encoding of your file")


def _with_endings(text: str, ending: str) -> str:
    """Return the text with all line endings replaced by `ending`."""
    lines = split_lines(text)
    if preferred_ending(lines) == ending:
        return text
    return "".join(strip_ending(line) + (ending if line_ending(line) else "") for line in lines)
