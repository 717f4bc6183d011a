"""The files of a patch in memory: changed section by section, then compared with their original contents.

Each text records which of its lines are original, so that the hunks are known without another comparison.
Unchanged lines are copied in slices, because a file may be large.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from agent_ls.patch.chunk_edits import ChunkEdit
from agent_ls.patch.errors import ENCODING_ADVICE, Code, PatchError
from agent_ls.patch.hunks import LineHunk, PlannedChange, PlannedFile
from agent_ls.patch.line_diff import MatchingBlock, append_lines, apply_hunks, atomic_hunks, line_hunks
from agent_ls.patch.unified import is_text
from agent_ls.text import (
    DecodedText,
    NotEncodableError,
    decode,
    encode_changed,
    preferred_ending,
    split_lines,
)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A path that holds no readable file: a folder, a device, or a file without read permission."""

    reason: str
    code: Code = "IO"


Contents: TypeAlias = bytes | Unreadable | None
"""The content of the file at a path; None if no file exists at the path."""


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text as lines. `origins` are the blocks of lines that are also in the original file."""

    lines: tuple[str, ...]
    origins: tuple[MatchingBlock, ...]
    form: DecodedText

    @classmethod
    def of(cls, data: bytes) -> TextFile:
        form = decode(data)
        lines = tuple(split_lines(form.text))
        return cls(lines, (MatchingBlock(0, 0, len(lines)),), form)

    def apply_edits(self, edits: Sequence[ChunkEdit]) -> TextFile:
        """Return the text after these edits (sorted, disjoint); inserted lines get the file's line ending."""
        ending = preferred_ending(self.lines[:1])
        lines: list[str] = []
        origins: list[MatchingBlock] = []
        at = 0
        for edit in edits:
            origins += _clip_blocks(self.origins, at, edit.start, len(lines) - at)
            append_lines(lines, self.lines[at : edit.start], ending)
            # Split again: a patch line may contain a lone CR, which ends a line in a file.
            added = split_lines("".join(text + ending for text in edit.added))
            if edit.without_ending:
                added[-1] = added[-1].removesuffix(ending)
            append_lines(lines, added, ending)
            at = edit.end
        origins += _clip_blocks(self.origins, at, len(self.lines), len(lines) - at)
        append_lines(lines, self.lines[at:], ending)
        return replace(self, lines=tuple(lines), origins=tuple(origins))

    def encode(self) -> bytes:
        """Return the text in the file's encoding.

        Raises:
            PatchError: ENCODING, the text has a character that the encoding lacks.
        """
        try:
            return encode_changed(self.form, "".join(self.lines))
        except NotEncodableError as error:
            raise PatchError.of(
                "ENCODING", f"Nothing was written: {error}.", detail=ENCODING_ADVICE
            ) from None


@dataclass(frozen=True, slots=True)
class _Node:
    """The current state of a file. `came_from` is the file's original path, "" if the file was added.

    `text` is set when the file is first edited.
    """

    data: bytes
    came_from: str = ""
    text: TextFile | None = None


class Overlay:
    """Current file contents by resolved path. Each section of a patch applies to the result of earlier sections."""

    def __init__(self, files: Mapping[str, Contents]) -> None:
        self._base = files
        self._parsed: dict[str, TextFile] = {}
        self._now: dict[str, _Node | None] = {}

    def contents(self, path: str) -> Contents:
        if path not in self._now:
            return self._base[path]
        node = self._now[path]
        return node.data if node else None

    def text(self, path: str) -> TextFile:
        """Return the current text. Precondition: a file exists at `path`."""
        node = self._node(path)
        if node.text or not node.came_from:
            return node.text or TextFile.of(node.data)
        return self._original_text(node.came_from)

    def add(self, path: str, data: bytes) -> None:
        self._now[path] = _Node(data)

    def delete(self, path: str) -> None:
        self._now[path] = None

    def edit(self, path: str, text: TextFile) -> None:
        self._now[path] = replace(self._node(path), data=text.encode(), text=text)

    def move(self, path: str, destination: str) -> None:
        self._now[destination] = self._node(path)
        self._now[path] = None

    def changes(self) -> tuple[PlannedChange, ...]:
        """Return all differences from the original contents, in the order in which paths were first touched."""
        return tuple(change for path in self._now if (change := self._change(path)))

    def writes(self) -> tuple[PlannedFile, ...]:
        """Return the files to write and delete to reach the current state. Deletions are last."""
        planned = [self._write(path, node) for path, node in self._now.items()]
        wanted = [p for p in planned if p.before != p.after or p.mode_from]
        return tuple(sorted(wanted, key=lambda p: p.after is None))

    def _node(self, path: str) -> _Node:
        node = self._now[path] if path in self._now else _Node(_as_bytes(self._base[path]) or b"", path)
        if node is None:
            raise ValueError(f"no file at {path}")
        return node

    def _original_text(self, path: str) -> TextFile:
        if path not in self._parsed:
            self._parsed[path] = TextFile.of(_as_bytes(self._base[path]) or b"")
        return self._parsed[path]

    def _write(self, path: str, node: _Node | None) -> PlannedFile:
        before = _as_bytes(self._base[path])
        if node is None:
            return PlannedFile(path, before, None)
        return PlannedFile(
            path, before, node.data, mode_from=node.came_from if node.came_from != path else ""
        )

    def _change(self, path: str) -> PlannedChange | None:
        before = _as_bytes(self._base[path])
        node = self._now[path]
        if node is None:
            gone = before is not None and not any(self._find_origin(other) == path for other in self._now)
            return PlannedChange(path, "delete", before, None, _whole_hunks(before, None)) if gone else None
        moved_from = self._find_origin(path)
        if moved_from:
            source = _as_bytes(self._base[moved_from])
            hunks = self._hunks(moved_from, node)
            return PlannedChange(path, "move", source, node.data, hunks, moved_from, overwritten=before)
        if before == node.data:
            return None
        if before is None:
            return PlannedChange(path, "create", None, node.data, _whole_hunks(None, node.data))
        if node.came_from != path:
            hunks = _whole_hunks(before, node.data)
            return PlannedChange(path, "modify", before, node.data, hunks, replaces_whole=True)
        return PlannedChange(path, "modify", before, node.data, self._hunks(path, node))

    def _find_origin(self, path: str) -> str:
        """Return the original path of a moved file; "" if it was not moved or another file now exists there."""
        node = self._now[path]
        if node is None or node.came_from in ("", path):
            return ""
        return node.came_from if self.contents(node.came_from) is None else ""

    def _hunks(self, path: str, node: _Node) -> tuple[LineHunk, ...]:
        if node.text is None or not is_text(_as_bytes(self._base[path])):
            return ()
        base_lines = self._original_text(path).lines
        hunks = _edited_hunks(base_lines, node.text)
        # The recorded hunks are wrong if a last line lost its ending and then got an ending again. In that case
        # compare the texts.
        exact = tuple(apply_hunks(base_lines, hunks)) == node.text.lines
        return hunks if exact else line_hunks(base_lines, node.text.lines)


def _edited_hunks(base_lines: Sequence[str], text: TextFile) -> tuple[LineHunk, ...]:
    hunks: list[LineHunk] = []
    after_base = after_now = 0
    for block in [*text.origins, MatchingBlock(len(base_lines), len(text.lines), 0)]:
        if block.old > after_base or block.new > after_now:
            removed, added = base_lines[after_base : block.old], text.lines[after_now : block.new]
            hunks += atomic_hunks(after_base, removed, added)
        after_base, after_now = block.old + block.length, block.new + block.length
    return tuple(hunks)


def _clip_blocks(
    blocks: Sequence[MatchingBlock], start: int, end: int, shift: int
) -> Iterator[MatchingBlock]:
    """Yield the parts of `blocks` in lines [start, end), moved down by `shift` lines."""
    for block in blocks:
        at, stop = max(block.new, start), min(block.new + block.length, end)
        if at < stop:
            yield MatchingBlock(block.old + at - block.new, at + shift, stop - at)


def _whole_hunks(before: bytes | None, after: bytes | None) -> tuple[LineHunk, ...]:
    if not (is_text(before) and is_text(after)):
        return ()
    old, new = (split_lines(decode(data or b"").text) for data in (before, after))
    return line_hunks(old, new)


def _as_bytes(contents: Contents) -> bytes | None:
    return contents if isinstance(contents, bytes) else None
