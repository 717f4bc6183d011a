"""Parts of a log, found by the numbers of events: what a page costs does not grow with its session. Blocks.

Numbers rise with the place in the file, so a place is found by halving; from there lines are read on or back. Only
whole lines are seen: a torn last one is as if it were not there.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from agent_ls.loop import event_codec
from agent_ls.loop.events import Envelope, FileChange, ProcessingEnd
from agent_ls.loop.items import Item, ItemFold, begins_item

CHUNK_BYTES = 64 * 1024

_EVENT = b'{"event":'
_PARTIAL = b'{"partial":'
_SEQ = re.compile(rb'\{"event":\{"sessionId":"[^"]*","seq":(\d+)')
_OF_FILES = (b'"kind":"file_change"', b'"kind":"processing_end"')


@dataclass(frozen=True, slots=True)
class Page:
    """Newest first. `more`: there are older ones."""

    items: tuple[Item, ...]
    more: bool


class LogPart:
    """A log as it was when it was opened. `bytes_read` is what was asked of the disk so far."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.bytes_read = 0
        self.size = self._whole(os.fstat(file.fileno()).st_size)

    def place_of(self, seq: int) -> int:
        """Where the first event begins that has this number or a higher one; the end when there is none."""
        low, high = 0, self.size
        while high - low > CHUNK_BYTES:
            middle = (low + high) // 2
            number = next((found for _, found in self._numbers(middle)), None)
            if number is None or number >= seq:
                high = middle
            else:
                low = middle
        return next((place for place, number in self._numbers(low) if number >= seq), self.size)

    def forward(self, place: int) -> Iterator[bytes]:
        """The lines from `place` on, which is where one begins."""
        return (line for _, line in self._lines(place))

    def backward(self, place: int) -> Iterator[bytes]:
        """The lines before `place`, where one begins; the last of them first."""
        rest = b""
        while place > 0:
            start = max(0, place - CHUNK_BYTES)
            first, *lines = (self._read(start, place - start) + rest).split(b"\n")
            yield from (line for line in reversed(lines) if line)
            rest, place = first, start
        if rest:
            yield rest

    def _numbers(self, place: int) -> Iterator[tuple[int, int]]:
        """Where events begin, and their numbers, from any `place` on."""
        for at, line in self._lines(self._line_start(place)):
            if match := _SEQ.match(line):
                yield at, int(match[1])

    def _line_start(self, place: int) -> int:
        """The first beginning of a line at `place` or behind it."""
        at = place - 1
        while 0 <= at < self.size:
            newline = (data := self._read(at, CHUNK_BYTES)).find(b"\n")
            if newline >= 0:
                return at + newline + 1
            at += len(data)
        return max(at, 0)

    def _lines(self, place: int) -> Iterator[tuple[int, bytes]]:
        rest, at = b"", place
        while place < self.size:
            data = self._read(place, min(CHUNK_BYTES, self.size - place))
            if not data:
                return
            place += len(data)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                yield at, line
                at += len(line) + 1

    def _whole(self, size: int) -> int:
        """The end of the last whole line."""
        end = size
        while end > 0:
            start = max(0, end - CHUNK_BYTES)
            newline = self._read(start, end - start).rfind(b"\n")
            if newline >= 0:
                return start + newline + 1
            end = start
        return 0

    def _read(self, start: int, count: int) -> bytes:
        self._file.seek(start)
        data = self._file.read(count)
        self.bytes_read += len(data)
        return data


@contextmanager
def open_part(path: Path) -> Iterator[LogPart]:
    """
    Raises:
        OSError.
    """
    with path.open("rb") as file:
        yield LogPart(file)


def events_between(path: Path, after: int, last: int | None = None) -> list[bytes]:
    """The codec's bytes of the events with a number above `after`, up to `last` (None: all), oldest first.

    Raises:
        OSError.
    """
    found = []
    with open_part(path) as log:
        for line in log.forward(log.place_of(after + 1)):
            if match := _SEQ.match(line):
                number = int(match[1])
                if last is not None and number > last:
                    break
                if number > after:
                    found.append(line[len(_EVENT) : -1])
    return found


def last_seq(path: Path) -> int:
    """The number of the last event, 0 when there is none.

    Raises:
        OSError.
    """
    with open_part(path) as log:
        return next((int(match[1]) for line in log.backward(log.size) if (match := _SEQ.match(line))), 0)


def read_page(path: Path, before: int | None, limit: int) -> Page:
    """The newest `limit` items that began before the event number `before` (None: the newest), as they are now.

    Raises:
        OSError.
    """
    with open_part(path) as log:
        return page_of(log, before, limit)


def snapshot(path: Path, last: int, limit: int) -> Page:
    """The newest `limit` items as they were when the event number `last` had been told.

    Raises:
        OSError.
    """
    with open_part(path) as log:
        return page_of(log, last + 1, limit, is_final=True)


def page_of(log: LogPart, before: int | None, limit: int, *, is_final: bool = False) -> Page:
    """As `read_page`; `is_final`: what comes behind does not count."""
    place = log.size if before is None else log.place_of(before)
    lines, more = _wanted(log, place, limit)
    fold = ItemFold()
    for line in reversed(lines):
        _feed(fold, line)
    if not is_final:
        for line in log.forward(place):
            if not fold.has_open:
                break
            if envelope := maybe_event(line):
                fold.complete(envelope)
    return Page(tuple(reversed(fold.items))[:limit], more)


def all_items(path: Path) -> tuple[Item, ...]:
    """Oldest first.

    Raises:
        OSError.
    """
    fold = ItemFold()
    with open_part(path) as log:
        for line in log.forward(0):
            _feed(fold, line)
    return fold.items


def all_events(path: Path) -> Iterator[Envelope]:
    """Oldest first; records of another kind, and damaged ones, are left out.

    Raises:
        OSError.
    """
    with open_part(path) as log:
        for line in log.forward(0):
            if (envelope := maybe_event(line)) is not None:
                yield envelope


def maybe_event(line: bytes) -> Envelope | None:
    """None for another record, for an event of another version, and for a line that is damaged."""
    if not line.startswith(_EVENT):
        return None
    try:
        return event_codec.decode(line[len(_EVENT) : -1])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _wanted(log: LogPart, place: int, limit: int) -> tuple[list[bytes], bool]:
    """The lines that the newest `limit` items before `place` are made of, last first; whether there are older ones.

    The end of a turn sums up its files: of the oldest end among the items, all changes are needed.
    """
    wanted: list[bytes] = []
    count, more, misses_files = 0, False, False
    for line in log.backward(place):
        if more and not any(kind in line[:200] for kind in _OF_FILES):
            continue
        envelope = maybe_event(line)
        event = envelope.event if envelope else None
        if envelope and begins_item(envelope):
            count += 1
            more = count > limit
        if more and (isinstance(event, ProcessingEnd) or not misses_files):
            break
        misses_files = misses_files or isinstance(event, ProcessingEnd)
        if isinstance(event, FileChange) or (not more and (envelope or line.startswith(_PARTIAL))):
            wanted.append(line)
    return wanted, more


def _feed(fold: ItemFold, line: bytes) -> None:
    if envelope := maybe_event(line):
        fold.add(envelope)
    elif line.startswith(_PARTIAL):
        try:
            partial = json.loads(line)["partial"]
            fold.partial(partial["partId"], partial["offset"], partial["text"])
        except (ValueError, KeyError, TypeError):
            return
