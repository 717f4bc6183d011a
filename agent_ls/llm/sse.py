"""Decode a stream of server-sent events from byte chunks into frames. Pure, and independent of providers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from agent_ls.llm.errors import StreamError
from agent_ls.patterns import regex

# Only CR, LF and CRLF end lines. These bytes do not occur inside UTF-8 sequences, so the bytes can be split before
# decoding. str.splitlines would also split at U+2028 and U+0085, which are legal inside JSON strings.
_LINE_END = regex(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"

MAX_LINE_BYTES = 64 * 1024 * 1024  # far larger than an image in one event; only a broken server sends more


@dataclass(frozen=True, slots=True)
class Frame:
    """One server-sent event: its name ("" if it has none) and its data lines joined by LF."""

    event: str
    data: str


def _is_whole(line: bytes) -> bool:
    """Return whether a line without a line end is complete: it ends a JSON value, or is not JSON at all."""
    value = line.decode("utf-8", "replace")
    if not value.startswith("{"):
        value = value.partition(":")[2].lstrip()
    return not value.startswith(("{", "[")) or value == "[DONE]" or _is_json(value)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


class SseDecoder:
    """Splits byte chunks into frames. A frame is returned as soon as the blank line after it has arrived.

    Invalid UTF-8 becomes U+FFFD. Frames without data (comments, keep-alives) are dropped.
    """

    def __init__(self) -> None:
        self._tail: list[bytes] = []
        self._tail_bytes = 0
        self._after_cr = False
        self._at_start = True
        self._event = ""
        self._data: list[str] = []
        self._bare: list[str] = []  # lines of a JSON object that is not in a field of an event

    def feed(self, chunk: bytes) -> list[Frame]:
        """Return the frames that `chunk` completes.

        Raises:
            StreamError: a line is longer than MAX_LINE_BYTES.
        """
        if not chunk:
            return []
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]  # the second half of a CRLF whose CR has already ended the line
        self._after_cr = chunk.endswith(b"\r")
        *lines, rest = _LINE_END.split(chunk) if b"\r" in chunk else chunk.split(b"\n")
        if lines:
            lines[0] = b"".join((*self._tail, lines[0]))
            self._tail.clear()
            self._tail_bytes = 0
        self._keep(rest)
        return self._frames(lines)

    def close(self) -> list[Frame]:
        """Return the frames that the end of the stream completes, which needs neither a blank line nor a line end.

        A last line that is cut in the middle of its JSON is dropped.
        """
        rest, self._tail = b"".join(self._tail), []
        frames = self._frames([rest]) if rest and (self._bare or _is_whole(rest)) else []
        if self._bare and _is_json(text := "\n".join(self._bare)):
            frames.append(Frame("", text))
        frame = self._dispatch()
        return frames if frame is None else [*frames, frame]

    def _keep(self, rest: bytes) -> None:
        if not rest:
            return
        self._tail.append(rest)
        self._tail_bytes += len(rest)
        if self._tail_bytes > MAX_LINE_BYTES:
            raise StreamError(f"the stream holds a line of more than {MAX_LINE_BYTES} bytes")

    def _frames(self, lines: Sequence[bytes]) -> list[Frame]:
        """Decode lines. For speed, the three most frequent kinds of lines are handled here."""
        frames: list[Frame] = []
        for line in lines:
            if self._bare or self._at_start:
                frame = self._line(line)
            elif line.startswith(b"data: "):
                if self._data and (before := self._ended()):
                    frames.append(before)
                self._data.append(line[6:].decode("utf-8", "replace"))
                continue
            elif line.startswith(b"event: "):
                self._event = line[7:].decode("utf-8", "replace")
                continue
            else:
                frame = self._line(line) if line else self._dispatch()
            if frame is not None:
                frames.append(frame)
        return frames

    def _line(self, line: bytes) -> Frame | None:
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        if self._bare or (line.startswith(b"{") and not self._data):
            return self._bare_line(line.decode("utf-8", "replace"))
        if not line:
            return self._dispatch()
        name, _, value = line.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if self._data == [""] and name.startswith((" {", " [")):
            self._data = [line.decode("utf-8", "replace").strip()]  # the value is on the line after its field
        elif name == "data":
            before = self._ended() if self._data else None
            self._data.append(value)
            return before
        elif name == "event":
            self._event = value
        elif name == "error":  # not in the SSE standard: llama.cpp reports errors with this field
            self._event = "error"
            self._data.append(value)
        return None  # comments (an empty name), `id`, `retry` and unknown fields are ignored

    def _bare_line(self, line: str) -> Frame | None:
        """Collect the lines of a JSON error object. Return its frame when the last line has arrived.

        Gemini sends an error as a JSON object in several lines, which are not fields of an event.
        """
        self._bare.append(line)
        if not line.endswith("}") or (line.startswith(" ") and len(self._bare) > 1):
            return None
        text = "\n".join(self._bare)
        if not _is_json(text):
            return None
        self._bare = []
        return Frame("", text)

    def _ended(self) -> Frame | None:
        """Return the frame of the last line, if it is a whole event: some proxies leave out the blank lines."""
        last = self._data[-1]
        if len(self._data) > 1 or not (last == "null" or (last.startswith("{") and _is_json(last))):
            return None
        self._data.clear()
        return Frame(self._event, last)

    def _dispatch(self) -> Frame | None:
        data = "\n".join(self._data)
        frame = Frame(self._event, data) if data else None
        self._event = ""
        self._data.clear()
        return frame
