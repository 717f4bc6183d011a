"""Split many versions of a text into lines, at the cost of what differs between them. Pure."""

from __future__ import annotations

from agent_ls.review.provenance import SharedLines
from agent_ls.text import decode, find_declared_encoding, is_encodable, split_lines

_CHUNK = 1 << 16
_HEAD = 1024
_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
_ODD = "\r\v\f\x1c\x1d\x1e\x1f"
"""The white space of ASCII that is neither blank, tab nor line feed."""


class SimilarTexts:
    """Splits texts into lines without the white space that editors, formatters and git convert: line endings,
    indentation, and the width of the gaps between words.

    Most texts differ in a few lines from the one before. Only these are decoded. The equal lines at both ends are the
    same objects as there, so splitting and comparing them costs little.
    """

    def __init__(self) -> None:
        self._data = b""
        """The text before, in UTF-8. Lone surrogates are encoded too."""
        self._is_valid = True
        """Whether `_data` has no lone surrogates."""
        self._lines = SharedLines()

    def split_file(self, data: bytes) -> SharedLines:
        """Return the lines of a file as `split` does."""
        if self._is_valid and _is_plain(data):
            try:
                return self._follow(data)
            except UnicodeDecodeError:  # not UTF-8
                pass
        return self.split(decode(data).text)

    def split(self, text: str) -> SharedLines:
        """Return the words of each line, with one blank between them."""
        self._is_valid = is_encodable(text)
        return self._follow(text.encode("utf-8", "surrogatepass"), "surrogatepass")

    def _follow(self, data: bytes, errors: str = "strict") -> SharedLines:
        known = self._data
        head = _whole_lines(data, 0, _common_start(known, data))
        most = min(len(known), len(data)) - head
        tail = _common_end(known, data, most)
        # An equal end begins with a whole line only behind a line end that is part of it.
        first_end = data.find(b"\n", len(data) - tail) if tail else -1
        tail = len(data) - first_end - 1 if first_end >= 0 else 0
        middle = _words(data[head : len(data) - tail].decode("utf-8", errors))
        end = len(known) - tail
        changed = _count_lines(known, head, end)
        if head < tail:  # the shorter end is counted
            before = _count_lines(known, 0, head)
        else:
            before = len(self._lines) - changed - _count_lines(known, end, len(known))
        self._data, self._lines = data, self._lines.replaced(before, before + changed, middle)
        return self._lines


def _is_plain(data: bytes) -> bool:
    """Return whether a file that is valid UTF-8 has just this text."""
    return not data.startswith(_MARKS) and not find_declared_encoding(data[:_HEAD].decode("latin-1"))


def _words(text: str) -> list[str]:
    """Return the words of each line. Without odd white space, the whole text is handled in a few calls."""
    if not text.isascii() or any(odd in text for odd in _ODD):
        return list(map(" ".join, map(str.split, split_lines(text))))
    is_ended = not text or text.endswith("\n")
    stripped = map(str.strip, text.replace("\t", " ").split("\n"))
    lines = [" ".join(line.split()) if "  " in line else line for line in stripped]
    return lines[:-1] if is_ended else lines


def _whole_lines(data: bytes, start: int, end: int) -> int:
    """Return the end of the last whole line in data[start:end]."""
    return data.rfind(b"\n", start, end) + 1


def _count_lines(data: bytes, start: int, end: int) -> int:
    """Return the number of lines in data[start:end], whose ends are not inside of a line."""
    ends = data.count(b"\n", start, end)
    if data.find(b"\r", start, end) >= 0:
        ends += data.count(b"\r", start, end) - data.count(b"\r\n", start, end)
    return ends + (start < end and data[end - 1] not in b"\r\n")


def _common_start(one: bytes, other: bytes) -> int:
    """Return the length of the longest common start of two texts."""
    most, at = min(len(one), len(other)), 0
    step = _CHUNK
    while step:
        while at + step <= most and one[at : at + step] == other[at : at + step]:
            at += step
        step //= 2
    return at


def _common_end(one: bytes, other: bytes, most: int) -> int:
    """Return the length of the longest common end of two texts, at most `most`."""
    at, step = 0, _CHUNK
    while step:
        while (
            at + step <= most
            and one[len(one) - at - step : len(one) - at] == (other[len(other) - at - step : len(other) - at])
        ):
            at += step
        step //= 2
    return at
