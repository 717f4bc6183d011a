"""Pure text facts that everyone shares: lines and their endings, encodings, numbering.

This module does not know where text comes from. Rules: patch SEMANTICS sections 1 and 9.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, overload

from agent_ls.recent import Recent

# Only CR, LF and CRLF end a line. str.splitlines also splits at these, which are ordinary characters of a line here.
_NO_LINE_ENDS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
_COUNTED_CHARS = 16 * 1024  # at a time, in C; the lines of the last such piece are gone through one by one
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z")

WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""Unicode White_Space, to be given to strip(): Python's default also strips U+001C to U+001F."""

BOM = "\ufeff"


def split_lines(text: str) -> list[str]:
    """Lines with their endings (`\\n`, `\\r\\n`, `\\r`, or none on the last); joined they give `text` again."""
    if any(char in text for char in _NO_LINE_ENDS):
        return _LINE.findall(text)
    return text.splitlines(keepends=True)  # the same for nearly all texts, in a tenth of the time


class TextLines(Sequence[str]):
    """`split_lines(text)` for who looks at a few lines of a long text only: no others are made, nor looked for behind
    the last that was asked for.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = split_lines(text) if _has_lone_cr(text) else None
        self._ends = [0]  # how many lines end before each piece of the text, as far as was looked

    def __bool__(self) -> bool:
        return bool(self._text)

    def __len__(self) -> int:
        if self._lines is not None:
            return len(self._lines)
        while self._look_on():
            pass
        return self._ends[-1] + (0 if not self._text or self._text.endswith("\n") else 1)

    @overload
    def __getitem__(self, key: int) -> str: ...
    @overload
    def __getitem__(self, key: slice) -> list[str]: ...
    def __getitem__(self, key: int | slice) -> str | list[str]:
        if self._lines is not None:
            return self._lines[key]
        if isinstance(key, slice):
            start, stop = key.start or 0, key.stop
            if stop is None or start < 0 or stop < 0 or key.step not in (None, 1):
                return split_lines(self._text)[key]
            return self._between(start, stop)
        if key == -1:
            return self._last()
        at = key if key >= 0 else key + len(self)
        if at < 0 or not (found := self._between(at, at + 1)):
            raise IndexError("there is no such line")
        return found[0]

    def _between(self, start: int, stop: int) -> list[str]:
        return split_lines(self._text[self._start_of(start) : self._start_of(stop)])

    def _last(self) -> str:
        if not self._text:
            raise IndexError("there is no line")
        return self._text[self._text.rfind("\n", 0, len(self._text) - 1) + 1 :]

    def _start_of(self, line: int) -> int:
        """Where a line begins; the end of the text where the lines before it are all there are."""
        while self._ends[-1] < line and self._look_on():
            pass
        if self._ends[-1] < line:
            return len(self._text)
        piece = max(bisect_left(self._ends, line) - 1, 0)
        at = piece * _COUNTED_CHARS
        for _ in range(line - self._ends[piece]):
            at = self._text.index("\n", at) + 1
        return at

    def _look_on(self) -> bool:
        """Into the next piece; False where there is none."""
        at = (len(self._ends) - 1) * _COUNTED_CHARS
        if at >= len(self._text):
            return False
        self._ends.append(self._ends[-1] + self._text.count("\n", at, at + _COUNTED_CHARS))
        return True


def same_but_for_endings(one: str, other: str) -> bool:
    """Whether texts differ in line endings at most, and in whether the last line has one: editors show both in their
    own way."""
    return one == other or folded_endings(one) == folded_endings(other)


def folded_endings(text: str) -> str:
    """LF alone, and none at the end."""
    return text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")


def line_count(text: str, end: int | None = None) -> int:
    """`len(split_lines(text[:end]))`, without making them. `end` is not in a CRLF."""
    ends = text.count("\n", 0, end)
    if text.find("\r", 0, end) >= 0:
        ends += text.count("\r", 0, end) - text.count("\r\n", 0, end)
    return ends + (1 if text[:1] and end != 0 and not text.endswith(("\n", "\r"), 0, end) else 0)


def _has_lone_cr(text: str) -> bool:
    return "\r" in text and text.count("\r") != text.count("\r\n")


def line_ending(line: str) -> str:
    """The ending of one line of split_lines: `\\r\\n`, `\\n`, `\\r` or ""."""
    if line.endswith("\r\n"):
        return "\r\n"
    return line[-1] if line.endswith(("\n", "\r")) else ""


def line_texts(lines: Sequence[str]) -> list[str]:
    """Lines without their endings."""
    text = "".join(lines)
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    texts = text.split("\n")  # in C, in a tenth of the time
    if not texts[-1]:
        texts.pop()
    if "\r" in text or len(texts) != len(lines):  # it ends lines by itself
        return [strip_ending(line) for line in lines]
    return texts


def strip_ending(line: str) -> str:
    """The line's text without its ending."""
    return line[: len(line) - len(line_ending(line))]


def preferred_ending(lines: Sequence[str]) -> str:
    """The ending of the first terminated line, LF when there is none (SEMANTICS 1.3)."""
    return next((ending for line in lines if (ending := line_ending(line))), "\n")


Encoding: TypeAlias = Literal["utf-8", "utf-16-le", "utf-16-be"]


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A file's text and how to write it back.

    `text` has no BOM. Undecodable bytes stand in it as lone surrogates (`surrogateescape`), so that
    `encode(decode(data)) == data` for all bytes (SEMANTICS 9.3).
    """

    text: str
    encoding: Encoding = "utf-8"
    bom: bool = False

    @property
    def is_valid(self) -> bool:
        """False when some bytes could not be decoded."""
        return is_encodable(self.text)


def is_encodable(text: str) -> bool:
    """False when lone surrogates stand in it. As fast as copying, where a look at each character takes a second."""
    if text.isascii():  # known without a look
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def decode(data: bytes) -> DecodedText:
    """One edit asks for that of the same content many times; letters beyond ASCII make it dear."""
    return _decoded(data)


def _decode(data: bytes) -> DecodedText:
    for encoding, mark in (("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")):
        if data.startswith(mark):
            try:
                text = data[2:].decode(encoding)
            except UnicodeDecodeError:
                break
            return DecodedText(text, "utf-16-le" if encoding == "utf-16-le" else "utf-16-be", bom=True)
    text = data.decode("utf-8", "surrogateescape")
    return DecodedText(text[1:], bom=True) if text.startswith(BOM) else DecodedText(text)


_decoded = Recent(_decode, least=64 * 1024, most=8 * 1024 * 1024)


def encode(decoded: DecodedText) -> bytes:
    text = BOM + decoded.text if decoded.bom else decoded.text
    if decoded.encoding == "utf-8":
        return text.encode("utf-8", "surrogateescape")
    return text.encode(decoded.encoding)


def looks_binary(data: bytes) -> bool:
    """A NUL byte in the first 8 KiB, as grep and git decide; UTF-16 with a BOM is text."""
    return b"\0" in data[:8192] and not data.startswith((b"\xff\xfe", b"\xfe\xff"))


_STRINGS = r"\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, links, the clipboard, images
_ESCAPES = re.compile(rf"\x1b\[[0-?]*[ -/]*[@-~]?|{_STRINGS}|\x1b[ -/]+[0-~]|\x1b[0-~]")


def without_escapes(text: str) -> str:
    """Without the escape sequences by which programs colour a terminal, move its cursor and set its title."""
    return _ESCAPES.sub("", text) if "\x1b" in text else text


_PICTURES = {
    **{code: chr(0x2400 + code) for code in range(32) if code not in (0x09, 0x0A)},
    0x7F: "\u2421",
    **dict.fromkeys([*range(0x80, 0xA0), 0x2028, 0x2029], "\ufffd"),
    **dict.fromkeys([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd"),
}


def exact(text: str) -> str:
    """For who is to allow it: nothing is left out, and what would act on a screen stands there as its picture.

    A shell runs words that a terminal takes for the title in an escape sequence.
    """
    return text.translate(_PICTURES)


_OTHER_SCREEN = re.compile(r"\x1b\[\?(?:1049|1047|47)h.*?(?:\x1b\[\?(?:1049|1047|47)l|\Z)", re.DOTALL)
_SWITCH = re.compile(r"\x1b\[\?(?:1049|1047|47)([hl])")
_LONG = re.compile(_STRINGS)
_REWRITTEN = re.compile(r"\r(?!\r*\Z)|\x08|\x1b\[[0-9;]*[GKCD]")
_PRINTED = re.compile(
    rf"(?P<text>[^\r\x08\x1b]+)|\x1b\[(?P<n>[0-9]{{0,9}})(?P<move>[GKCD])|{_ESCAPES.pattern}|."
)
_SILENT = str.maketrans("", "", "\x07\x0e\x0f\x1b")  # not NUL and its like: programs part names with them


def is_on_other_screen(printed: str) -> bool:
    """Whether a program was still on the terminal's other screen when it printed the last of this."""
    switches = _SWITCH.findall(printed) if "\x1b[?" in printed else []
    return bool(switches) and switches[-1] == "h"


def back_on_screen(printed: str) -> str:
    """For output that other words follow: what a program left open at its end does not swallow them."""
    return f"{printed}\x1b[?1049l" if is_on_other_screen(printed) else printed


def as_printed(text: str) -> str:
    """What is left to read of a program's output: its last word where it wrote over a line, as progress bars do.

    What a program showed on the terminal's other screen (an editor, a pager) is gone when it ends, and gone here.
    """
    if "\x1b" in text:
        text = _LONG.sub("", _OTHER_SCREEN.sub("", text))
    if "\r" in text or "\x08" in text or "\x1b" in text:
        text = "\n".join(_last_state(line) for line in text.split("\n"))
    return text.translate(_SILENT) if any(char in text for char in "\x07\x0e\x0f\x1b") else text


def _last_state(line: str) -> str:
    if not _REWRITTEN.search(line):
        return without_escapes(line)
    body = line.rstrip("\r")
    cells: list[str] = []
    at = 0
    for found in _PRINTED.finditer(body):
        run, move, count = found["text"], found["move"], int(found["n"] or 0)
        if run:
            cells += " " * (at - len(cells))
            cells[at : at + len(run)] = run
            at += len(run)
        elif move == "K":
            cells[slice(at, None) if count == 0 else slice(0, None)] = []
        elif move or found[0] in "\r\x08":
            at = _moved(at, move, count, found[0])
    return "".join(cells) + line[len(body) :]


def _moved(at: int, move: str | None, count: int, control: str) -> int:
    match move:
        case "G":
            return min(max(count - 1, 0), MAX_COLUMN)
        case "C":
            return min(at + max(count, 1), MAX_COLUMN)
        case "D":
            return max(at - max(count, 1), 0)
        case _:
            return 0 if control == "\r" else max(at - 1, 0)


MAX_COLUMN = 10_000
"""No terminal is wider; a program that says otherwise costs no memory."""


def numbered(lines: list[str], first: int) -> str:
    """Lines as read_file shows them: `  12 | text`, the number right-aligned (000 section 3.3).

    `first` counts from 1. Endings are shown as LF.
    """
    width = len(str(first + len(lines) - 1))
    return "\n".join(f"{first + i:>{width}} | {strip_ending(line)}" for i, line in enumerate(lines))
