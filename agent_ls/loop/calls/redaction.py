"""Pure: remove secrets from a whole text or from a stream of chunks that comes from outside the session.

Text is redacted once, where it enters the session, so that model, screen, log and replay have the same bytes.
The user's own messages and the contents of edited files are not redacted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache

from agent_ls.patterns import regex

# Shorter values are redacted only as a word of their own, and only if they are no ordinary word or number: placeholders
# for a local server (`none`), modes and ports are in many texts.
MIN_KNOWN_CHARS = 8
MIN_WORD_CHARS = 4
MAX_HELD_CHARS = 16 * 1024

PIECE_CHARS = 256 * 1024

MARK = "[secret removed]"

_FORMS = (
    # Each entry: a prefix that no ordinary word has, and the whole key's pattern.
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
    ("eyJ", ""),
)  # fmt: skip
_BEGIN = "-----BEGIN "
_BLOCK = regex(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_SEGMENT = "[A-Za-z0-9_-]{10,}"
_JSON_WEB_TOKEN = regex(
    rf"(?<![A-Za-z0-9_-])(?>([A-Za-z0-9_-]*?)\beyJ){_SEGMENT}+\.eyJ{_SEGMENT}+\.{_SEGMENT}"
)
"""Matches a JSON Web Token; the group is the text before the token.

Each word is tried once, at its first `eyJ`, so the search takes linear time.
"""
_NAMES = "authorization|private-token|job-token|deploy-token|x-api-key|x-auth-token|cookie|smtppass"
_SCHEMES = "bearer|basic|token|negotiate|apikey"
_URL_USER = regex(r"(?<=://)([^\s/?#@'\"`<>()\[\]{}|]{1,300}@(?:[^\s/?#@'\"`<>]{1,300}@)?)(?!sha\d)")
"""Matches the user and the password of a URL. A second `@` belongs to the password."""
_VALUE = r"(?=[\w+/=~-]{0,200}\d)[\w+/=~-]{12,}(?![\w.(\[])"
HEADERS: Sequence[tuple[Sequence[str], re.Pattern[str]]] = (
    (
        ("authorization",),
        regex(
            rf"(?i)\b(authorization[\"']?\s{{0,4}}[:=]\s{{0,4}}[\"']?(?:{_SCHEMES})\s{{1,4}})[\w+/=.~-]{{8,}}"
        ),
    ),
    (_NAMES.split("|"), regex(rf"(?i)\b((?:{_NAMES})[\"']?\s{{0,4}}[:=]\s{{0,4}}[\"']?){_VALUE}")),
    (
        ("bearer", "basic"),
        regex(r"\b((?i:bearer|basic)\s{1,4})(?=\S{0,200}(?:\d|[a-z][A-Z]|=(?:\s|\Z)))[\w+/=.~-]{12,}"),
    ),
)
"""Headers that authorize a request: with a scheme, without one, and the scheme alone. Each with the words, one of which
begins a match. Group 1 is not secret.
"""
_LIKE_ASCII = (("\u0130", "i"), ("\u0131", "i"), ("\u017f", "s"), ("\u212a", "k"))
"""The letters outside of ASCII that a pattern without regard to case takes for a letter of ASCII."""
_FILLED_IN_LATER = regex(r"[$%].*|[*x.]+|pass(?:word|wd)?|secret", re.IGNORECASE)
"""Matches passwords of URLs in documentation."""
_URL_BEGINS = regex(r"://|(?:^|\b[a-z][a-z\d+.-]{0,20}):/?\Z")
_HEADER_BEGINS = regex(
    rf"(?i)\b(?:{_NAMES}|bearer|basic)[\"']?\s{{0,4}}[:=]?\s{{0,4}}[\"']?(?:(?:{_SCHEMES})\s{{0,4}})?[\w+/=.~-]*\Z"
)
_LAST_NAME = regex(r"(?<![\w-])[A-Za-z-]{1,20}\Z")
_WORDS = (*_NAMES.split("|"), "bearer", "basic")
_ANY = regex("|".join(form for _, form in _FORMS if form))
_STARTS = tuple(start for start, _ in _FORMS)
_OPEN_BLOCK = regex(r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?!.*-----END [A-Z ]*PRIVATE KEY-----)", re.DOTALL)
_OPEN_HEAD = regex(r"-----BEGIN [A-Z ]*-{0,4}\Z")

Known = Callable[[], Collection[str]]
"""Function that returns the secret keys of this process. Called for each text, because the user may enter
another key.
"""


def none_known() -> Collection[str]:
    return ()


def redacted(text: str, known: Collection[str]) -> str:
    """Return `text` with private keys, keys in well-known formats, and the values in `known` redacted."""
    text = without_known(text, known)
    if _BEGIN in text:
        text = _BLOCK.sub(MARK, text)
    text = "".join(map(_without_keys, _pieces(text))) if len(text) > PIECE_CHARS else _without_keys(text)
    for words, form in HEADERS:
        text = replace_values(text, words, form)
    return text


def _pieces(text: str) -> Iterator[str]:
    """Yield a long text in pieces that end between words, which no match of `_without_keys` crosses.

    A search does not let other threads run, so a search of the whole text would block the event loop from a thread.
    """
    start = 0
    while start < len(text):
        near = max(text.rfind(blank, start, start + PIECE_CHARS) for blank in "\n ")
        end = near + 1 if near >= 0 else len(text)
        yield text[start:end]
        start = end


def _without_keys(text: str) -> str:
    """Return `text` without keys in well-known formats and the passwords of URLs. None of them has a blank."""
    if "eyJ" in text:
        text = _JSON_WEB_TOKEN.sub(rf"\1{MARK}", text)
    text = _ANY.sub(MARK, text) if any(start in text for start in _STARTS) else text
    return _URL_USER.sub(_without_password, text) if "://" in text and "@" in text else text


def replace_values(text: str, words: Sequence[str], form: re.Pattern[str]) -> str:
    """Return `text` with MARK after group 1 of each match of `form`, which begins with one of the lower-case `words`.

    Matches only where a word is: searching 30 MB for a pattern that ignores case takes seconds, which block the loop.
    """
    parts: list[str] = []
    end = 0
    for start in sorted(_find_words(text, words)):
        if start >= end and (found := form.match(text, start)):
            parts += (text[end:start], found[1], MARK)
            end = found.end()
    return "".join((*parts, text[end:])) if parts else text


def _find_words(text: str, words: Sequence[str]) -> Iterator[int]:
    """Yield the offsets of the lower-case `words` in `text`, ignoring case as patterns do."""
    if not text.isascii():
        for letter, like in _LIKE_ASCII:
            text = text.replace(letter, like)
    lower = text.lower()
    for word in words:
        for piece in range(0, len(lower), PIECE_CHARS):
            end = piece + PIECE_CHARS + len(word) - 1
            start = lower.find(word, piece, end)
            while start >= 0:
                yield start
                start = lower.find(word, start + 1, end)


def _without_password(found: re.Match[str]) -> str:
    user, has_password, password = found[0][:-1].partition(":")
    is_token = len(user) >= 20 and any(map(str.isdigit, user))
    if is_token or (has_password and password in ("", "x-oauth-basic")):
        return found[0] if user == MARK else f"{MARK}@"
    if not has_password or password == user or _FILLED_IN_LATER.fullmatch(password):
        return found[0]
    return f"{user}:{MARK}@"


def without_known(text: str, known: Collection[str]) -> str:
    """Return `text` with the values in `known` redacted. Used as the last step before text is written."""
    for value in sorted(known, key=len, reverse=True):
        if len(value) >= MIN_KNOWN_CHARS:
            text = text.replace(value, MARK)
        elif value in text and is_redacted(value):
            text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", MARK, text)
    return text


@lru_cache(maxsize=64)
def is_redacted(value: str) -> bool:
    """Return whether a secret is redacted: it is long, or no word and no number, and can be a word of its own."""
    if len(value) >= MIN_KNOWN_CHARS:
        return True
    has_mix = any(map(str.isalpha, value)) and not value.isalpha()
    return len(value) >= MIN_WORD_CHARS and has_mix


def known_end(text: str, known: Collection[str]) -> int:
    """Return the offset up to which `text` is safe to publish. The rest of `text` may be a prefix of a value in
    `known`.

    One matching character at the end is published anyway, because texts too often end with it by chance. Code
    that joins published chunks must therefore redact them again.
    """
    end = len(text)
    for value in known:
        if not is_redacted(value) or value[0] not in text[1 - len(value) :]:
            continue
        longest = min(len(value) - 1, len(text))
        held = next((n for n in range(longest, 1, -1) if text.endswith(value[:n])), 0)
        end = min(end, len(text) - held)
    return end


def redact_line(line: bytes, known: Collection[str]) -> bytes:
    """Return encoded JSON with the values in `known` redacted. Used as the last step before a line is
    written.
    """
    for value in sorted(known, key=len, reverse=True):
        encoded = _in_json(value)
        if len(value) >= MIN_KNOWN_CHARS:
            line = line.replace(encoded, MARK.encode())
        elif encoded in line and is_redacted(value):
            # the letter of an escape before it, such as `\n`, is not a part of the word
            word = rb"(?:(?<!\w)|(?<=\\[bfnrt]))" + re.escape(encoded) + rb"(?!\w)"
            line = re.sub(word, MARK.encode(), line)
    return line


@lru_cache(maxsize=64)
def _in_json(value: str) -> bytes:
    """Return the value as it appears in JSON. The result is cached, because it is needed for every line."""
    return json.dumps(value, ensure_ascii=False)[1:-1].encode("utf-8", "replace")


class StreamRedaction:
    """Redactor of a text that arrives in chunks. The end of a chunk is held back if it may be a prefix of a
    secret.
    """

    def __init__(self, known: Known) -> None:
        self._known = known
        self._held = ""

    def feed(self, text: str) -> str:
        """Add a chunk. Returns the redacted text that is safe to publish."""
        self._held += text
        known = self._known()
        at = len(self._held) if len(self._held) > MAX_HELD_CHARS else _safe_end(self._held, known)
        ready, self._held = self._held[:at], self._held[at:]
        return redacted(ready, known)

    def end(self) -> str:
        rest, self._held = self._held, ""
        return redacted(rest, self._known())


def _safe_end(text: str, known: Collection[str]) -> int:
    """Return the offset up to which the text cannot belong to a secret, whatever chunks follow."""
    if found := _OPEN_BLOCK.search(text) or _OPEN_HEAD.search(text):
        return found.start()
    end = len(text)
    last_word = max(text.rfind(" "), text.rfind("\n"), text.rfind("\t")) + 1
    word = text[last_word:]
    if any(start in word for start in _STARTS) or _URL_BEGINS.search(word):
        end = last_word
    if header := _HEADER_BEGINS.search(text, max(text.rfind("\n") + 1, len(text) - 1_000)):
        end = min(end, header.start())
    name = _LAST_NAME.search(word)
    if name and any(start.startswith(name[0].lower()) for start in _WORDS):
        end = min(end, last_word + name.start())
    for start in (_BEGIN, *_STARTS, *known):
        held = next((n for n in range(min(len(start), len(text)), 0, -1) if text.endswith(start[:n])), 0)
        end = min(end, len(text) - held)
    # If `end` is inside a private key block, hold back the whole block.
    return next((block.start() for block in _BLOCK.finditer(text) if block.start() < end < block.end()), end)
