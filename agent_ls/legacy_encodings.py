"""Pure: guess the encoding of a text that is not UTF-8 from how its bytes are distributed, or say that nothing is sure.

The encodings of Japanese, Chinese and Korean, and the Cyrillic ones, are recognised by the characters that are frequent
in these languages. A text that fits none of them clearly gets no guess.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from agent_ls.patterns import regex

MIN_LETTERS = 4
MAX_BYTES = 64 * 1024
"""Only the begin of a long text is looked at."""

_HIGH = regex(rb"[\x80-\xff]+")
_KANA = regex("[\u3041-\u30ff]")
_HALF_KANA = regex("[\uff61-\uff9f]")
_HANGUL = regex("[\uac00-\ud7a3]")
_FREQUENT_CYRILLIC = regex("[оеаинтсрвлк]")
_CYRILLIC = regex("[\u0400-\u045f]")
_SMALL_CYRILLIC = regex("[\u0430-\u045f]")


def guess_encoding(data: bytes) -> str:
    """Return the name of the codec in which the data is probably written, "" if no encoding is probable."""
    part = data[:MAX_BYTES]
    if _is_mostly_utf_8(part):
        return ""
    return next((name for name, fits in _CANDIDATES if fits(part, name)), "")


def _is_mostly_utf_8(data: bytes) -> bool:
    """Return whether most bytes beyond ASCII are parts of valid UTF-8: the data is damaged UTF-8."""
    high = sum(len(run) for run in _HIGH.findall(data))
    valid = len(data.decode("utf-8", "ignore").encode("utf-8")) - len(data) + high
    return valid * 10 >= high * 7


def _beyond_ascii(data: bytes, name: str) -> str:
    """Return the characters beyond ASCII, without a cut last one; "" if the data cannot be in this encoding."""
    for cut in (0, 1) if len(data) == MAX_BYTES else (0,):
        try:
            text = data[: len(data) - cut].decode(name)
        except UnicodeDecodeError:
            continue
        return "".join(char for char in text if ord(char) > 0x7F)
    return ""


def _share(pattern: re.Pattern[str], text: str) -> float:
    return len(pattern.findall(text)) / len(text)


def _is_japanese(data: bytes, name: str) -> bool:
    text = _beyond_ascii(data, name)
    return len(text) >= MIN_LETTERS and _share(_KANA, text) >= 0.15 and _share(_HALF_KANA, text) <= 0.1


def _is_korean(data: bytes, name: str) -> bool:
    text = _beyond_ascii(data, name)
    return len(text) >= MIN_LETTERS and _share(_HANGUL, text) >= 0.85


def _pairs(data: bytes) -> list[tuple[int, int]]:
    """Return the pairs of bytes that are characters in a Chinese encoding: a high byte and the one after it."""
    found, at = [], 0
    while at < len(data) - 1:
        if data[at] > 0x80:
            found.append((data[at], data[at + 1]))
            at += 1
        at += 1
    return found


def _is_chinese(first: int, last: int, low_trails: tuple[float, float]) -> Callable[[bytes, str], bool]:
    """Return a test: nearly all characters are punctuation or begin with a byte of the frequent characters, and the
    share of second bytes below 0xA1 is within `low_trails`.
    """

    def fits(data: bytes, name: str) -> bool:
        pairs = _pairs(data) if _beyond_ascii(data, name) else []
        if len(pairs) < MIN_LETTERS:
            return False
        frequent = sum(0xA1 <= lead <= 0xA3 or first <= lead <= last for lead, _ in pairs) / len(pairs)
        low = sum(trail < 0xA1 for _, trail in pairs) / len(pairs)
        return frequent >= 0.9 and low_trails[0] <= low <= low_trails[1]

    return fits


def _is_cyrillic(data: bytes, name: str) -> bool:
    text = _beyond_ascii(data, name)
    runs = _HIGH.findall(data)
    if len(text) < 2 * MIN_LETTERS or sum(len(run) for run in runs) < 3 * len(runs):
        return False  # letters beyond ASCII stand alone, as in the languages of Western Europe
    return (
        _share(_CYRILLIC, text) >= 0.9
        and _share(_SMALL_CYRILLIC, text) >= 0.7
        and _share(_FREQUENT_CYRILLIC, text) >= 0.45
    )


_CANDIDATES: tuple[tuple[str, Callable[[bytes, str], bool]], ...] = (
    ("euc_jp", _is_japanese),
    ("cp932", _is_japanese),
    ("cp949", _is_korean),
    ("gbk", _is_chinese(0xB0, 0xD7, (0.0, 0.1))),
    ("cp950", _is_chinese(0xA4, 0xC6, (0.1, 1.0))),
    ("cp1251", _is_cyrillic),
    ("koi8_r", _is_cyrillic),
    ("cp866", _is_cyrillic),
)
