"""Pure functions on text: lines and their endings, encodings, terminal output, line numbers.

This module does not know where text comes from. Rules: docs/editing.md, Text and Encodings.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import overload

from agent_ls.legacy_encodings import guess_encoding
from agent_ls.memo import Memo
from agent_ls.patterns import regex

# Only CR, LF and CRLF end a line. str.splitlines also splits at the following characters.
_NO_LINE_ENDS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
_COUNTED_CHARS = (
    16 * 1024
)  # block size for counting line ends with str.count; lines are searched one by one only within a block
_NEAR_LINES = 200  # the end of a range with more lines is searched by blocks, not line by line
_LINE = regex(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z")

WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""Unicode White_Space, for strip(): Python's default also strips U+001C to U+001F."""

BOM = "\ufeff"


def split_lines(text: str) -> list[str]:
    """Return the lines with their endings (`\\n`, `\\r\\n`, `\\r`, or none on the last); joined they equal `text`."""
    if any(char in text for char in _NO_LINE_ENDS):
        return _LINE.findall(text)
    return text.splitlines(keepends=True)  # the same result for nearly all texts, ten times as fast


class TextLines(Sequence[str]):
    """The lines of a text as `split_lines` returns them, created only when they are requested.

    The text after the requested lines is not searched.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = split_lines(text) if has_lone_cr(text) else None
        self._ends = [0]  # the number of lines that end before each block, for the blocks counted so far

    def __bool__(self) -> bool:
        return bool(self._text)

    def __len__(self) -> int:
        if self._lines is not None:
            return len(self._lines)
        while self._count_next_block():
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
            return self._read_between(start, stop)
        if key == -1:
            return self._read_last()
        at = key if key >= 0 else key + len(self)
        if at < 0 or not (found := self._read_between(at, at + 1)):
            raise IndexError("the line does not exist")
        return found[0]

    def find_start(self, line: int) -> int:
        """Return the offset at which line `line` (from 0) begins; the end of the text if it has fewer lines."""
        if self._lines is not None:
            return sum(map(len, self._lines[:line]))
        return self._find_line_start(line)

    def _read_between(self, start: int, stop: int) -> list[str]:
        at = end = self._find_line_start(start)
        if stop - start > _NEAR_LINES:
            end = self._find_line_start(stop)
        else:
            for _ in range(stop - start):
                end = self._text.find("\n", end) + 1 or len(self._text)
        return split_lines(self._text[at:end])

    def _read_last(self) -> str:
        if not self._text:
            raise IndexError("there is no line")
        return self._text[self._text.rfind("\n", 0, len(self._text) - 1) + 1 :]

    def _find_line_start(self, line: int) -> int:
        while self._ends[-1] < line and self._count_next_block():
            pass
        if self._ends[-1] < line:
            return len(self._text)
        piece = max(bisect_left(self._ends, line) - 1, 0)
        at = piece * _COUNTED_CHARS
        for _ in range(line - self._ends[piece]):
            at = self._text.index("\n", at) + 1
        return at

    def _count_next_block(self) -> bool:
        """Count the line ends in the next block of the text; return False if no block is left."""
        at = (len(self._ends) - 1) * _COUNTED_CHARS
        if at >= len(self._text):
            return False
        self._ends.append(self._ends[-1] + self._text.count("\n", at, at + _COUNTED_CHARS))
        return True


def equals_ignoring_line_endings(one: str, other: str) -> bool:
    """Return whether two texts are equal except for their line endings.

    The last line may have a line ending in only one of the texts, because editors differ in this too.
    """
    return one == other or normalize_line_endings(one) == normalize_line_endings(other)


def normalize_line_endings(text: str) -> str:
    """Return the text with all line endings converted to LF, and with one final line ending removed."""
    return text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")


def count_lines(text: str, end: int | None = None) -> int:
    """Return `len(split_lines(text[:end]))` without creating the lines. `end` must not be inside a CRLF."""
    ends = text.count("\n", 0, end)
    if text.find("\r", 0, end) >= 0:
        ends += text.count("\r", 0, end) - text.count("\r\n", 0, end)
    return ends + (1 if text[:1] and end != 0 and not text.endswith(("\n", "\r"), 0, end) else 0)


def has_lone_cr(text: str) -> bool:
    """Return whether a CR without a LF ends a line of the text."""
    return "\r" in text and text.count("\r") != text.count("\r\n")


def line_ending(line: str) -> str:
    """Return the ending of one line of split_lines: `\\r\\n`, `\\n`, `\\r` or ""."""
    if line.endswith("\r\n"):
        return "\r\n"
    return line[-1] if line.endswith(("\n", "\r")) else ""


def strip_endings(lines: Sequence[str]) -> list[str]:
    """Return the lines without their endings."""
    text = "".join(lines)
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    texts = text.split("\n")  # ten times as fast as a loop in Python
    if not texts[-1]:
        texts.pop()
    if "\r" in text or len(texts) != len(lines):  # a lone CR ends lines too
        return [strip_ending(line) for line in lines]
    return texts


def strip_ending(line: str) -> str:
    """Return the line without its ending."""
    return line[: len(line) - len(line_ending(line))]


def preferred_ending(lines: Sequence[str]) -> str:
    """Return the ending of the first line that has one, else LF."""
    return next((ending for line in lines if (ending := line_ending(line))), "\n")


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A file's text, with the encoding and BOM that are needed to write the file again.

    `text` has no BOM. Undecodable bytes become lone surrogates (`surrogateescape`), so that
    `encode(decode(data)) == data` for all bytes. `encoding` is a Python codec name; `is_guessed`: the encoding
    was guessed, because the file does not declare it.
    """

    text: str
    encoding: str = "utf-8"
    bom: bool = False
    is_guessed: bool = False

    @property
    def is_valid(self) -> bool:
        """Return False if some bytes could not be decoded."""
        return is_encodable(self.text)


def is_encodable(text: str) -> bool:
    """Return False if the text contains lone surrogates. Encoding is much faster than a check of each character."""
    if text.isascii():  # fast: Python stores this property with each string
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def decode(data: bytes) -> DecodedText:
    """Decode a file's content. Memoised, because one edit decodes the same content many times."""
    return _decoded(data)


def _decode(data: bytes) -> DecodedText:
    if data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):  # UTF-32, which would read as UTF-16 with NULs
        return DecodedText(data.decode("utf-8", "surrogateescape"))
    for encoding, mark in (("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")):
        if data.startswith(mark):
            try:
                text = data[2:].decode(encoding)
            except UnicodeDecodeError:
                break
            return DecodedText(text, encoding, bom=True)
    if data.isascii():
        return try_decode(
            data, find_declared_encoding(data[:_DECLARED_CHARS].decode("ascii"))
        ) or DecodedText(data.decode("ascii"))
    text = data.decode("utf-8", "surrogateescape")
    if not is_encodable(text) and (other := _decode_otherwise(data, text)):
        return other
    return DecodedText(text[1:], bom=True) if text.startswith(BOM) else DecodedText(text)


def _decode_otherwise(data: bytes, as_utf_8: str) -> DecodedText | None:
    """Decode text that is not UTF-8: by its declared encoding, a clear guess, or as Windows-1252 or Latin-1.

    Return None if the data is probably damaged UTF-8, or is not text. `as_utf_8` is the data decoded as UTF-8
    with `surrogateescape`.
    """
    head = data[:_DECLARED_CHARS].decode("latin-1")
    if declared := try_decode(data, find_declared_encoding(head)):
        return declared
    if b"\0" not in data and (found := try_decode(data, guess_encoding(data))):
        return replace(found, is_guessed=True)
    if _is_damaged_utf_8(data, as_utf_8) or _NO_TEXT.search(data):
        return None
    guesses = (try_decode(data, encoding) for encoding in ("cp1252", "latin-1"))
    return next((replace(it, is_guessed=True) for it in guesses if it), None)


def _is_damaged_utf_8(data: bytes, text: str) -> bool:
    """Return whether the file is probably damaged UTF-8, and not text in another encoding.

    True if other parts of the file are valid UTF-8 beyond ASCII, or if the invalid bytes are encoded surrogates.
    `text` is `data` decoded with `surrogateescape`.
    """
    if any(ord(char) > 0x7F and not 0xDC80 <= ord(char) <= 0xDCFF for char in text):
        return True
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


def try_decode(data: bytes, encoding: str) -> DecodedText | None:
    """Return the text in this encoding; None if `encoding` is "" or the result does not encode to the same bytes."""
    try:
        text = data.decode(encoding) if encoding else ""
        return DecodedText(text, encoding) if encoding and text.encode(encoding) == data else None
    except (UnicodeError, LookupError):
        return None


_DECLARED_CHARS = 1024
_DECLARED = regex(
    r"\A(?:[^\n]*\n)?[ \t\f]*(?:#|//|%|;|/\*|\"|--).*?coding[:=][ \t]*([-\w.]+)"  # PEP 263, Emacs, Vim, Ruby
    r"|\A\s*<\?xml[^>]*\bencoding\s*=\s*[\"']([-\w.]+)"
    r"|\A@charset \"([-\w.]+)\""
    r"|<meta\b[^>]*\bcharset\s*=\s*[\"']?([-\w.]+)",
    re.IGNORECASE,
)
_NO_TEXT = regex(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f]")
_NOT_OF_FILES = ("utf", "unicode", "raw_unicode", "idna", "punycode", "ascii", "undefined")
"""Name prefixes of codecs that cannot be the encoding of 8-bit text. Declarations of these are ignored."""


def find_declared_encoding(text: str) -> str:
    """Return the encoding that a source, XML or HTML file declares; "" for none, for UTF-8 and for unknown ones."""
    head = text[:_DECLARED_CHARS]
    if "coding" not in head and "charset" not in head:
        return ""
    found = _DECLARED.search(head)
    name = next(filter(None, found.groups()), "") if found else ""
    try:
        codec = codecs.lookup(name.removesuffix("-unix").removesuffix("-dos")) if name else None
        "".encode(codec.name if codec else "utf-8")
    except LookupError:
        return ""
    return codec.name if codec and not codec.name.startswith(_NOT_OF_FILES) else ""


_decoded = Memo(_decode, least=64 * 1024, most=8 * 1024 * 1024)


class NotEncodableError(ValueError):
    """The text contains a character that the file's encoding lacks; `str()` names the character and its line."""

    def __init__(self, text: str, at: int, encoding: str) -> None:
        char = text[at]
        super().__init__(
            f"line {count_lines(text[: at + 1])}: {char!r} (U+{ord(char):04X}) cannot be written in {encoding}, the "
            "encoding of this file"
        )


def encode(decoded: DecodedText) -> bytes:
    """Encode the text with its BOM.

    Raises:
        NotEncodableError: the encoding lacks a character of the text.
    """
    text = BOM + decoded.text if decoded.bom else decoded.text
    if decoded.encoding == "utf-8":
        return text.encode("utf-8", "surrogateescape")
    try:
        return text.encode(decoded.encoding)
    except UnicodeEncodeError as error:
        raise NotEncodableError(text, error.start, decoded.encoding) from None


def encode_changed(form: DecodedText, text: str) -> bytes:
    """Encode the changed text of a file with the encoding and BOM of its former text `form`.

    If the change declares another encoding in the text, that encoding is used.

    Raises:
        NotEncodableError: the encoding lacks a character of the text.
    """
    if form.encoding == "utf-8" and not form.is_valid and _is_of_unknown_encoding(form.text):
        _check_added(form.text, text)
    declared = find_declared_encoding(text)
    if not form.bom and declared != find_declared_encoding(form.text):
        form = replace(form, encoding=declared or "utf-8")
    return encode(replace(form, text=text))


_BEYOND_ASCII = regex("[^\x00-\x7f\ud800-\udfff]")  # a set of what is not in it compiles faster
_BYTE = regex("[\udc80-\udcff]")


def _is_of_unknown_encoding(text: str) -> bool:
    """Return whether most of a text beyond ASCII are undecodable bytes, so that it is no damaged UTF-8."""
    return 2 * len(_BEYOND_ASCII.findall(text)) < len(_BYTE.findall(text))


def _check_added(before: str, text: str) -> None:
    """Check that a change of a file in an unknown encoding adds no character beyond ASCII.

    Raises:
        NotEncodableError
    """
    known = Counter(_BEYOND_ASCII.findall(before))
    for found in _BEYOND_ASCII.finditer(text):
        known[found[0]] -= 1
        if known[found[0]] < 0:
            raise NotEncodableError(text, found.start(), "an encoding that agent-ls does not know")


HEAD_BYTES = 8192
"""A NUL byte among as many bytes at the start of a file makes it binary."""


def looks_binary(data: bytes) -> bool:
    """Return whether the first 8 KiB contain a NUL byte, as grep and git decide; UTF-16 with a BOM is text."""
    is_utf_16 = data.startswith((b"\xff\xfe", b"\xfe\xff")) and not data.startswith(b"\xff\xfe\0\0")
    return b"\0" in data[:HEAD_BYTES] and not is_utf_16


_STRINGS = r"\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # sequences that set a title, a link, the clipboard or an image
_ESCAPES = regex(rf"\x1b\[[0-?]*[ -/]*[@-~]?|{_STRINGS}|\x1b[ -/]+[0-~]|\x1b[0-~]")


def strip_escapes(text: str) -> str:
    """Remove the escape sequences that colour a terminal, move its cursor or set its title."""
    return _ESCAPES.sub("", text) if "\x1b" in text else text


_CONTROL = regex(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_TURNING = regex("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def strip_controls(text: str) -> str:
    """Remove escape sequences and control characters (except newline and tab). Marks of the reading direction,
    which could hide text, become a visible character.
    """
    return _TURNING.sub("\ufffd", _CONTROL.sub("", strip_escapes(text)))


def format_code_block(text: str, info: str = "") -> str:
    """Return the text as a code block whose fence is longer than any fence in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{info}\n{text.removesuffix(chr(10))}\n{fence}"


def diff_lines(diff: str) -> list[str]:
    """Return the lines of one file's unified diff without the header, which names the file."""
    lines = diff.replace("\r\n", "\n").rstrip("\n").split("\n")
    # The header is skipped only at the start, because a removed SQL comment (`-- like this`) looks like one.
    has_header = len(lines) > 2 and lines[0].startswith("--- ") and lines[1].startswith("+++ ")
    return lines[2:] if has_header else lines


def plural(count: int, noun: str) -> str:
    """Return `1 line` or `2 lines`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def bare_words(text: str) -> str:
    """Return an answer of a user for a comparison: without blanks around it, a full stop at its end, and capitals."""
    return text.strip().rstrip(".!").casefold()


def join_sentences(message: str, hint: str) -> str:
    """Join a message and its hint as two sentences with one stop between them, or return the one that is not blank."""
    first = message.rstrip()
    if not hint or not first:
        return hint or (message if first else "")
    stop = "" if first.endswith((".", "!", "?", "…", ":")) else "."
    return f"{first}{stop} {hint[:1].upper()}{hint[1:]}"


DISPLAY_LINE_CHARS = 200

# Characters that hide or reorder text: control characters, and marks of the reading direction.
_UNSEEN = dict.fromkeys(
    [
        *(0x200E, 0x200F, 0xFEFF),
        *(code for first, last in ((0, 8), (0xB, 0x1F), (0x7F, 0x9F)) for code in range(first, last + 1)),
        *(*range(0x2028, 0x202F), *range(0x2066, 0x206A)),
    ],
    " ",
)


def to_display_line(text: str, max_chars: int = DISPLAY_LINE_CHARS) -> str:
    """Return the text as one line without invisible characters. A text over `max_chars` ends with an ellipsis."""
    words = " ".join(text.translate(_UNSEEN).split())
    return words if len(words) <= max_chars else f"{words[: max_chars - 1].rstrip()}…"


_PICTURES = {
    **{code: chr(0x2400 + code) for code in range(32) if code not in (0x09, 0x0A)},
    0x7F: "\u2421",
    **dict.fromkeys([*range(0x80, 0xA0), 0x2028, 0x2029], "\ufffd"),
    **dict.fromkeys([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd"),
}


def reveal_controls(text: str) -> str:
    """Make control characters visible and omit nothing. Used for text that the user is asked to approve.

    Otherwise a command could contain words that a terminal hides but a shell runs, for example in an escape
    sequence that sets the title.
    """
    return text.translate(_PICTURES)


_OTHER_SCREEN = regex(r"\x1b\[\?(?:1049|1047|47)h.*?\x1b\[\?(?:1049|1047|47)l", re.DOTALL)
_LAST_SCREEN = regex(r"\x1b\[\?(?:1049|1047|47)h(?P<shown>.*)\Z", re.DOTALL)
_NEW_PLACE = regex(r"\x1b\[[0-9;]*[HfJd]|\x1b\[[0-9;]*[ABEF]")
LAST_SCREEN_LINES = 20
"""Lines that are kept of a screen which a program has not left, because it died there."""
_SWITCH = regex(r"\x1b\[\?(?:1049|1047|47)([hl])")
_LONG = regex(_STRINGS)
# What a program prints between saving and restoring the cursor
_ASIDE = regex(r"(?:\x1b7|\x1b\[s)(?P<shown>(?:(?!\x1b[78]|\x1b\[[su]).)*)(?:\x1b8|\x1b\[u)", re.DOTALL)
_AT_A_PLACE = regex(r"\x1b\[[0-9;]*[Hfd]")
_SAVE, _RESTORE = ("\x1b7", "\x1b[s"), ("\x1b8", "\x1b[u")
_REWRITTEN = regex(r"\r(?!\r*\Z)|\x08|\x1b8|\x1b\[(?:[0-9;]*[GKCD]|u)")
_PRINTED = regex(rf"(?P<text>[^\r\x08\x1b]+)|\x1b\[(?P<n>[0-9]{{0,9}})(?P<move>[GKCD])|{_ESCAPES.pattern}|.")
# NUL and similar characters stay, because programs separate names with them
_SILENT = str.maketrans("", "", "\x07\x0e\x0f\x1b")


def is_on_alternate_screen(printed: str) -> bool:
    """Return whether the terminal was on its alternate screen at the end of this output."""
    switches = _SWITCH.findall(printed) if "\x1b[?" in printed else []
    return bool(switches) and switches[-1] == "h"


def leave_alternate_screen(printed: str) -> str:
    """Switch back from the alternate screen, so that text appended to the output stays visible.

    The last lines of that screen are repeated: they may say why the program died there.
    """
    if not is_on_alternate_screen(printed):
        return printed
    shown = printed[max(found.end() for found in _SWITCH.finditer(printed)) :]
    return f"{printed}\x1b[?1049l{_last_lines(shown)}"


def render_terminal_output(text: str) -> str:
    """Render a program's output as it remains visible: overwritten parts of a line, as in progress bars, are
    removed.

    Output on the terminal's alternate screen (an editor, a pager) disappears when the program leaves the screen, and
    is removed. Of a screen that the program has not left, the last lines remain. A bar that a program draws at a fixed
    place, in the midst of its lines, follows these lines in its last state.
    """
    if "\x1b" in text:
        text = _LAST_SCREEN.sub(
            lambda found: _last_lines(found["shown"]), _LONG.sub("", _OTHER_SCREEN.sub("", text))
        )
        text = _move_bars(text)
    if "\r" in text or "\x08" in text or "\x1b" in text:
        text = "\n".join(_last_state(line) for line in text.split("\n"))
    return text.translate(_SILENT) if any(char in text for char in "\x07\x0e\x0f\x1b") else text


def _last_lines(screen: str) -> str:
    """Return the last lines that a program printed on a screen that it has not left.

    A program that draws a screen moves the cursor to each place, so a move ends a line.
    """
    lines = [line for line in _NEW_PLACE.sub("\n", screen).split("\n") if strip_escapes(line).strip("\r ~")]
    return "\n".join(lines[-LAST_SCREEN_LINES:])


def _move_bars(text: str) -> str:
    """Move what a program drew at a fixed place behind the other text; only its last state is still visible."""
    bars = [found["shown"] for found in _ASIDE.finditer(text) if _AT_A_PLACE.search(found["shown"])]
    if not bars:
        return text
    lines = _ASIDE.sub(lambda found: "" if _AT_A_PLACE.search(found["shown"]) else found[0], text)
    last = _NEW_PLACE.sub("", bars[-1])
    if not strip_escapes(last).strip():
        return lines
    return lines + last if lines.endswith("\n") else f"{lines}\n{last}"


def _last_state(line: str) -> str:
    if not _REWRITTEN.search(line):
        return strip_escapes(line)
    body = line.rstrip("\r")
    cells: list[str] = []
    at = saved = 0
    for found in _PRINTED.finditer(body):
        run, move, count = found["text"], found["move"], int(found["n"] or 0)
        if run:
            cells += " " * (at - len(cells))
            cells[at : at + len(run)] = run
            at += len(run)
        elif move == "K":
            cells[slice(at, None) if count == 0 else slice(0, None)] = []
        elif found[0] in _SAVE:
            saved = at
        elif found[0] in _RESTORE:
            at = saved
        elif move or found[0] in "\r\x08":
            at = _move_cursor(at, move, count, found[0])
    return "".join(cells) + line[len(body) :]


def _move_cursor(at: int, move: str | None, count: int, control: str) -> int:
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
"""The largest column to which a program's output may move the cursor, which limits the memory for rendering.
No terminal is wider.
"""


def number_lines(lines: list[str], first: int) -> str:
    """Number lines as read_file prints them: `  12 | text`, with right-aligned numbers.

    `first` counts from 1. Endings are converted to LF.
    """
    width = len(str(first + len(lines) - 1))
    return "\n".join(f"{first + i:>{width}} | {line}" for i, line in enumerate(strip_endings(lines)))
