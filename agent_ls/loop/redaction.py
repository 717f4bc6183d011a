"""ENGINE: secrets taken out of text that comes from outside, whole or in the pieces that a command prints.

It is done once, where the text enters the session: model, screen, log and replay hold the same bytes. What the user
writes himself, and files that are edited, do not come by here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from functools import lru_cache

MIN_KNOWN_CHARS = 8  # a shorter "key" is a local server's dummy, and part of innocent words
MAX_HELD_CHARS = 16 * 1024

MARK = "[secret removed]"

_FORMS = (
    # the beginning, which no ordinary word has, and what follows it
    ("sk-", r"sk-(?:ant-|proj-|or-|svcacct-)?[A-Za-z0-9_-]{20,}"),
    ("ghp_", r"gh[pousr]_[A-Za-z0-9]{30,}"),
    ("gho_", ""), ("ghu_", ""), ("ghs_", ""), ("ghr_", ""),
    ("github_pat_", r"github_pat_[A-Za-z0-9_]{30,}"),
    ("glpat-", r"glpat-[A-Za-z0-9_-]{18,}"),
    ("AKIA", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("ASIA", ""),
    ("AIza", r"AIza[A-Za-z0-9_-]{32,}"),
    ("xox", r"xox[abeprs]-[A-Za-z0-9-]{10,}"),
    ("npm_", r"\bnpm_[A-Za-z0-9]{30,}"),
    ("pypi-", r"pypi-[A-Za-z0-9_-]{40,}"),
    ("hf_", r"\bhf_[A-Za-z0-9]{30,}"),
    ("sk_live_", r"[sr]k_live_[A-Za-z0-9]{16,}"),
    ("rk_live_", ""),
    ("eyJ", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
)  # fmt: skip
_BEGIN = "-----BEGIN "
_BLOCK = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
)
_ANY = re.compile("|".join(form for _, form in _FORMS if form))
_STARTS = tuple(start for start, _ in _FORMS)
_OPEN_BLOCK = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?!.*-----END [A-Z ]*PRIVATE KEY-----)", re.DOTALL
)
_OPEN_HEAD = re.compile(r"-----BEGIN [A-Z ]*-{0,4}\Z")

Known = Callable[[], Collection[str]]
"""The keys that this process has. Asked each time: the user may enter another."""


def none_known() -> Collection[str]:
    return ()


def redacted(text: str, known: Collection[str]) -> str:
    """`text` without keys of forms that are known, without private keys, and without the `known` values."""
    text = without_known(text, known)
    if _BEGIN in text:
        text = _BLOCK.sub(MARK, text)
    return _ANY.sub(MARK, text) if any(start in text for start in _STARTS) else text


def without_known(text: str, known: Collection[str]) -> str:
    """`text` without the `known` values: the last step of who writes text."""
    for value in sorted(known, key=len, reverse=True):
        if len(value) >= MIN_KNOWN_CHARS:
            text = text.replace(value, MARK)
    return text


def known_end(text: str, known: Collection[str]) -> int:
    """Up to where no `known` value can begin that what follows would complete.

    A single letter is not waited for: it ends every other word. Who writes joined pieces looks again.
    """
    end = len(text)
    for value in known:
        if len(value) < MIN_KNOWN_CHARS or value[0] not in text[1 - len(value) :]:
            continue
        longest = min(len(value) - 1, len(text))
        held = next((n for n in range(longest, 1, -1) if text.endswith(value[:n])), 0)
        end = min(end, len(text) - held)
    return end


def without(line: bytes, known: Collection[str]) -> bytes:
    """JSON that is about to be written, without the `known` values: the last step, should one have come so far."""
    for value in sorted(known, key=len, reverse=True):
        if len(value) >= MIN_KNOWN_CHARS:
            line = line.replace(_in_json(value), MARK.encode())
    return line


@lru_cache(maxsize=64)
def _in_json(value: str) -> bytes:
    """The same few for every line that is written."""
    return json.dumps(value, ensure_ascii=False)[1:-1].encode("utf-8", "replace")


class StreamRedaction:
    """The same for a text that comes in pieces: what may be the beginning of a secret waits for what follows."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._held = ""

    def feed(self, text: str) -> str:
        """What may be told now."""
        self._held += text
        known = self._known()
        at = len(self._held) if len(self._held) > MAX_HELD_CHARS else _safe_end(self._held, known)
        told, self._held = self._held[:at], self._held[at:]
        return redacted(told, known)

    def end(self) -> str:
        told, self._held = self._held, ""
        return redacted(told, self._known())


def _safe_end(text: str, known: Collection[str]) -> int:
    """Up to where nothing can become a secret by what follows."""
    if found := _OPEN_BLOCK.search(text) or _OPEN_HEAD.search(text):
        return found.start()
    end = len(text)
    last_word = max(text.rfind(" "), text.rfind("\n"), text.rfind("\t")) + 1
    word = text[last_word:]
    if any(start in word for start in _STARTS):
        end = last_word
    for start in (_BEGIN, *_STARTS, *known):
        held = next((n for n in range(min(len(start), len(text)), 0, -1) if text.endswith(start[:n])), 0)
        end = min(end, len(text) - held)
    # A block of which only the last dashes are held back would be cut in two.
    return next((block.start() for block in _BLOCK.finditer(text) if block.start() < end < block.end()), end)
