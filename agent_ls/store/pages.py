"""Read parts of a log, selected by event numbers. The cost of a page does not grow with the session. Blocks.

Event numbers increase with the offset in the file, so the offset of an event is found by bisection. From that
offset, lines are read forwards or backwards. An incomplete last line is ignored.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from agent_ls.loop.events.items import Item, ItemReducer, begins_item
from agent_ls.loop.events.types import Envelope, FileChange, ProcessingEnd
from agent_ls.patterns import regex
from agent_ls.store import event_lines
from agent_ls.store.errors import StoreError
from agent_ls.store.event_lines import EventLine, events_of, without_holes
from agent_ls.store.log import parse_header

CHUNK_BYTES = 64 * 1024

_PARTIAL = b'{"partial":'
_SEQ = regex(rb'\{"event":\{"sessionId":"[^"]*","seq":(\d+)')
_OF_FILES = (b'"kind":"file_change"', b'"kind":"processing_end"')


@dataclass(frozen=True, slots=True)
class ItemPage:
    """A page of conversation items, newest first. `more` is True if older items exist."""

    items: tuple[Item, ...]
    more: bool


class LogPart:
    """The complete lines that a log contained when it was opened. `bytes_read` counts the bytes read from disk."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.bytes_read = 0
        self.size = self._find_last_line_end(os.fstat(file.fileno()).st_size)

    def find_offset(self, seq: int) -> int:
        """Return the offset of the first event whose number is at least `seq`; the end of the log if no such
        event exists.
        """
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
        """Yield the lines from offset `place` on. A line must begin at `place`."""
        return (line for _, line in self._lines(place))

    def backward(self, place: int) -> Iterator[bytes]:
        """Yield the lines before offset `place`, last line first. A line must begin at `place`."""
        pieces: list[
            bytes
        ] = []  # of the line whose begin was not read yet, joined once: an image is a long line
        while place > 0:
            start = max(0, place - CHUNK_BYTES)
            first, *lines = self._read(start, place - start).split(b"\n")
            place = start
            if lines:
                lines[-1] += b"".join(reversed(pieces))
                yield from (line for line in reversed(lines) if line)
                pieces = []
            pieces.append(first)
        if rest := b"".join(reversed(pieces)):
            yield rest

    def _numbers(self, place: int) -> Iterator[tuple[int, int]]:
        """Yield offset and number of each event from `place` on."""
        for at, line in self._lines(self._line_start(place)):
            if match := _SEQ.match(line):
                yield at, int(match[1])

    def _line_start(self, place: int) -> int:
        """Return the offset of the first line that begins at offset `place` or later."""
        at = place - 1
        while 0 <= at < self.size:
            newline = (data := self._read(at, CHUNK_BYTES)).find(b"\n")
            if newline >= 0:
                return at + newline + 1
            at += len(data)
        return max(at, 0)

    def _lines(self, place: int) -> Iterator[tuple[int, bytes]]:
        pieces: list[bytes] = []  # of the line whose end was not read yet
        at = place
        while place < self.size:
            data = self._read(place, min(CHUNK_BYTES, self.size - place))
            if not data:
                return
            place += len(data)
            *lines, rest = data.split(b"\n")
            if lines:
                lines[0] = b"".join([*pieces, lines[0]])
                pieces = []
            pieces.append(rest)
            for line in lines:
                yield at, line
                at += len(line) + 1

    def _find_last_line_end(self, size: int) -> int:
        """Return the offset after the last complete line in the first `size` bytes, 0 if there is none."""
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
    """Open a log.

    Raises:
        OSError: the log cannot be opened.
    """
    with path.open("rb") as file:
        yield LogPart(file)


def events_between(path: Path, after: int, last: int | None = None) -> list[bytes]:
    """Return the encoded events after number `after`, up to `last` (None: all), oldest first.

    Each event is checked. A damaged or lost event is replaced by an event of kind `missing`.

    Raises:
        OSError: the log cannot be read.
    """
    found, session_id = _read_sound_events(path, after, last)
    newest = found[-1].seq if found else after
    return without_holes(found, session_id, after, newest if last is None else last)


def read_sound_events(path: Path, after: int) -> list[bytes]:
    """Return the same events as `events_between` up to the last, but leave out damaged and lost events.

    Raises:
        OSError: the log cannot be read.
    """
    return [event.encoded for event in _read_sound_events(path, after, None)[0]]


def _read_sound_events(path: Path, after: int, last: int | None) -> tuple[list[EventLine], str]:
    """Return the events as `read_sound_events` does, and the id of the session."""
    with open_part(path) as log:
        found = _events(log, log.find_offset(after + 1), after, last)
        if not found or found[0].seq != after + 1:
            # If the log has events in this range, a damaged number has misled the bisection. Read the whole
            # log.
            if after < (last if last is not None else _last_seq(log)):
                found = _events(log, 0, after, last)
        return found, _session_id(log)


def _events(log: LogPart, place: int, after: int, last: int | None) -> list[EventLine]:
    read = events_of(log.forward(place), _session_id(log))
    end = last if last is not None else float("inf")
    return [event for event in read if after < event.seq <= end]


def last_seq(path: Path) -> int:
    """Return the number of the last event, 0 for a log without events.

    Raises:
        OSError: the log cannot be read.
    """
    with open_part(path) as log:
        return _last_seq(log)


def _session_id(log: LogPart) -> str:
    """Return the session id in the header, "" if the header is damaged."""
    try:
        return parse_header(next(log.forward(0), b""), "").session_id
    except StoreError:
        return ""


def _last_seq(log: LogPart) -> int:
    return next((event.seq for line in log.backward(log.size) if (event := event_lines.maybe_event(line))), 0)


def read_page(path: Path, before: int | None, limit: int) -> ItemPage:
    """Return the newest `limit` items that began before event number `before`, in their current state.

    `before` None: return the newest items of the whole log.

    Raises:
        OSError: the log cannot be read.
    """
    with open_part(path) as log:
        return page_of(log, before, limit)


def snapshot(path: Path, last: int, limit: int) -> ItemPage:
    """Return the newest `limit` items in their state after event number `last`.

    Raises:
        OSError: the log cannot be read.
    """
    with open_part(path) as log:
        return page_of(log, last + 1, limit, is_final=True)


def page_of(log: LogPart, before: int | None, limit: int, *, is_final: bool = False) -> ItemPage:
    """Return the newest `limit` items that began before event number `before`; None means the end of the log.

    An item can end after `before`, for example a tool call. With `is_final`, such an item is returned as it
    was at `before`. Otherwise, later lines complete it.
    """
    place = log.size if before is None else log.find_offset(before)
    lines, more = _read_wanted(log, place, limit)
    reducer = ItemReducer()
    for line in reversed(lines):
        _feed(reducer, line)
    if not is_final:
        for line in log.forward(place):
            if not reducer.has_open:
                break
            if envelope := maybe_event(line):
                reducer.complete(envelope)
    return ItemPage(tuple(reversed(reducer.items))[:limit], more)


def all_items(path: Path) -> tuple[Item, ...]:
    """Return all items, oldest first.

    Raises:
        OSError: the log cannot be read.
    """
    reducer = ItemReducer()
    with open_part(path) as log:
        for line in log.forward(0):
            _feed(reducer, line)
    return reducer.items


def all_events(path: Path) -> Iterator[Envelope]:
    """Yield all events, oldest first, without other records and damaged lines.

    Raises:
        OSError: the log cannot be read.
    """
    with open_part(path) as log:
        for line in log.forward(0):
            if (envelope := maybe_event(line)) is not None:
                yield envelope


def maybe_event(line: bytes) -> Envelope | None:
    """Return the event of a line; None for other records, unknown kinds, and damaged lines."""
    event = event_lines.maybe_event(line)
    return event.envelope if event else None


def _read_wanted(log: LogPart, place: int, limit: int) -> tuple[list[bytes], bool]:
    """Return the lines needed to build the newest `limit` items before offset `place`, last line first, and
    whether older items exist.

    The item for the end of a turn lists the changed files. Therefore all file changes of the oldest turn on
    the page are included.
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


def _feed(reducer: ItemReducer, line: bytes) -> None:
    if envelope := maybe_event(line):
        reducer.add(envelope)
    elif line.startswith(_PARTIAL):
        try:
            partial = json.loads(line)["partial"]
            reducer.partial(partial["partId"], partial["offset"], partial["text"])
        except (ValueError, KeyError, TypeError):
            return
