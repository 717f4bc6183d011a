"""The files of a plan, in memory: given once, changed step by step, compared with the beginning at the end.

Blocks of lines remember which lines they were at the beginning, so that hunks tell what was edited and not what a new
comparison would guess (SEMANTICS 8.1, 10.2). Untouched lines are only ever moved in slices: a file may be large.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from agent_ls.patch.edits import Run
from agent_ls.patch.errors import Code
from agent_ls.patch.hunks import FileChange, LineHunk, PlannedFile
from agent_ls.patch.lines import Block, append_lines, apply_hunks, atomic_hunks, line_hunks
from agent_ls.patch.unified import is_text
from agent_ls.text import DecodedText, decode, encode, preferred_ending, split_lines


@dataclass(frozen=True, slots=True)
class Unreadable:
    """What stands at a path that is no readable file: a folder, a device, a file without permission."""

    reason: str
    code: Code = "IO"


Contents: TypeAlias = bytes | Unreadable | None
"""What a caller found at a path; None: nothing is there."""


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text in lines. `origins` are blocks of them with their places in the file they came from; others were added."""

    lines: tuple[str, ...]
    origins: tuple[Block, ...]
    form: DecodedText

    @classmethod
    def of(cls, data: bytes) -> TextFile:
        form = decode(data)
        lines = tuple(split_lines(form.text))
        return cls(lines, (Block(0, 0, len(lines)),), form)

    def edited(self, runs: Sequence[Run]) -> TextFile:
        """With these runs made (sorted, disjoint); endings by SEMANTICS 1.5 and deviation D2."""
        ending = preferred_ending(self.lines[:1])
        lines: list[str] = []
        origins: list[Block] = []
        at = 0
        for run in runs:
            origins += _cut(self.origins, at, run.start, len(lines) - at)
            append_lines(lines, self.lines[at : run.start], ending)
            # Split once more: a patch line may hold a lone CR, which ends a line in a file.
            added = split_lines("".join(text + ending for text in run.added))
            if run.without_ending:
                added[-1] = added[-1].removesuffix(ending)
            append_lines(lines, added, ending)
            at = run.end
        origins += _cut(self.origins, at, len(self.lines), len(lines) - at)
        append_lines(lines, self.lines[at:], ending)
        return replace(self, lines=tuple(lines), origins=tuple(origins))

    def encoded(self) -> bytes:
        return encode(replace(self.form, text="".join(self.lines)))


@dataclass(frozen=True, slots=True)
class _Node:
    """A file now. `came_from` is the path at which it began, "" when it was added. `text` once it was edited."""

    data: bytes
    came_from: str = ""
    text: TextFile | None = None


class Overlay:
    """Sections are executed against the result of the earlier ones (SEMANTICS 4.1). Paths are resolved ones."""

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
        """Precondition: a file is there."""
        node = self._node(path)
        if node.text or not node.came_from:
            return node.text or TextFile.of(node.data)
        return self._at_the_beginning(node.came_from)

    def add(self, path: str, data: bytes) -> None:
        self._now[path] = _Node(data)

    def delete(self, path: str) -> None:
        self._now[path] = None

    def edit(self, path: str, text: TextFile) -> None:
        self._now[path] = replace(self._node(path), data=text.encoded(), text=text)

    def move(self, path: str, destination: str) -> None:
        self._now[destination] = self._node(path)
        self._now[path] = None

    def changes(self) -> tuple[FileChange, ...]:
        """What is different from the beginning, by path in the order of the first touch."""
        return tuple(change for path in self._now if (change := self._change(path)))

    def writes(self) -> tuple[PlannedFile, ...]:
        """What to do to get there; deletions last (SEMANTICS 8.3)."""
        planned = [self._write(path, node) for path, node in self._now.items()]
        wanted = [p for p in planned if p.before != p.after or p.mode_from]
        return tuple(sorted(wanted, key=lambda p: p.after is None))

    def _node(self, path: str) -> _Node:
        node = self._now[path] if path in self._now else _Node(_as_bytes(self._base[path]) or b"", path)
        if node is None:
            raise ValueError(f"no file at {path}")
        return node

    def _at_the_beginning(self, path: str) -> TextFile:
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

    def _change(self, path: str) -> FileChange | None:
        before = _as_bytes(self._base[path])
        node = self._now[path]
        if node is None:
            gone = before is not None and not any(self._moved_from(other) == path for other in self._now)
            return FileChange(path, "delete", before, None, _whole_hunks(before, None)) if gone else None
        moved_from = self._moved_from(path)
        if moved_from:
            source = _as_bytes(self._base[moved_from])
            hunks = self._hunks(moved_from, node)
            return FileChange(path, "move", source, node.data, hunks, moved_from, overwritten=before)
        if before == node.data:
            return None
        if before is None:
            return FileChange(path, "create", None, node.data, _whole_hunks(None, node.data))
        if node.came_from != path:
            hunks = _whole_hunks(before, node.data)
            return FileChange(path, "modify", before, node.data, hunks, replaces_whole=True)
        return FileChange(path, "modify", before, node.data, self._hunks(path, node))

    def _moved_from(self, path: str) -> str:
        """The path that this file left for good, "" when it was not moved or another stands there again."""
        node = self._now[path]
        if node is None or node.came_from in ("", path):
            return ""
        return node.came_from if self.contents(node.came_from) is None else ""

    def _hunks(self, path: str, node: _Node) -> tuple[LineHunk, ...]:
        if node.text is None or not is_text(_as_bytes(self._base[path])):
            return ()
        base_lines = self._at_the_beginning(path).lines
        hunks = _edited_hunks(base_lines, node.text)
        # A last line that lost its ending for a while has one now, and no line was added to tell of it.
        exact = tuple(apply_hunks(base_lines, hunks)) == node.text.lines
        return hunks if exact else line_hunks(base_lines, node.text.lines)


def _edited_hunks(base_lines: Sequence[str], text: TextFile) -> tuple[LineHunk, ...]:
    hunks: list[LineHunk] = []
    after_base = after_now = 0
    for block in [*text.origins, Block(len(base_lines), len(text.lines), 0)]:
        if block.old > after_base or block.new > after_now:
            removed, added = base_lines[after_base : block.old], text.lines[after_now : block.new]
            hunks += atomic_hunks(after_base, removed, added)
        after_base, after_now = block.old + block.length, block.new + block.length
    return tuple(hunks)


def _cut(blocks: Sequence[Block], start: int, end: int, shift: int) -> Iterator[Block]:
    """What blocks have of lines [start, end), which stand so much further down now."""
    for block in blocks:
        at, stop = max(block.new, start), min(block.new + block.length, end)
        if at < stop:
            yield Block(block.old + at - block.new, at + shift, stop - at)


def _whole_hunks(before: bytes | None, after: bytes | None) -> tuple[LineHunk, ...]:
    if not (is_text(before) and is_text(after)):
        return ()
    old, new = (split_lines(decode(data or b"").text) for data in (before, after))
    return line_hunks(old, new)


def _as_bytes(contents: Contents) -> bytes | None:
    return contents if isinstance(contents, bytes) else None
