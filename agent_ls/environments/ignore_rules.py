"""Pure: write rules of ignore files so that pathspec reads them as git does."""

from __future__ import annotations

import string
from collections.abc import Iterator

from agent_ls.patterns import regex

_TOKEN = regex(r"\\[\s\S]|\[")
_BLANK_AT_END = regex(r"(?<!\\)((?:\\\\)*)\\?([^\S ])\Z")
_NAMED = regex(r"\[:(\w*):\]")
_NAMES = {
    "alpha": string.ascii_letters,
    "upper": string.ascii_uppercase,
    "lower": string.ascii_lowercase,
    "digit": string.digits,
    "xdigit": string.hexdigits,
    "alnum": string.ascii_letters + string.digits,
    "punct": string.punctuation,
    "blank": " \t",
    "space": string.whitespace,
    "cntrl": "".join(map(chr, (*range(32), 127))),
    "graph": string.ascii_letters + string.digits + string.punctuation,
    "print": string.ascii_letters + string.digits + string.punctuation + " ",
}
_LAST = "\\[!^-"
"""Characters that have a meaning at the start or in the middle of a class of pathspec, in the order of writing."""
MAX_SPAN = 2_000
"""Characters of one range, such as of a script; git compares bytes, so that longer ones are of no use."""


def rule_for_pathspec(line: str) -> str:
    """Return a rule without the blanks at its end, of which an escaped one stays, with `/` for `\\/`, and with classes
    that have no escapes and names. Only blanks are left out: pathspec would also take other white space from the end.
    A rule that matches nothing, as `[/]` or `!/`, becomes "".
    """
    end = at = 0
    while at < len(line):
        step = 2 if line[at] == "\\" else 1
        end = at + step if line[at] != " " else end
        at += step
    if not line[:end].removeprefix("!").strip("/"):
        return ""
    return _BLANK_AT_END.sub(r"\1[\2]", _rewritten(line[:end]))


def _rewritten(rule: str) -> str:
    out: list[str] = []
    at = 0
    is_anchored = False
    while found := _TOKEN.search(rule, at):
        out.append(rule[at : found.start()])
        at = found.end()
        if found[0] != "[":
            out.append("/" if found[0] == "\\/" else found[0])
        elif (end := _class_end(rule, at)) is None:
            out.append("[")
        else:
            written = _written_class(rule[at:end])
            if written is None:
                return ""
            out.append(written)
            is_anchored |= "/" in rule[at:end]
            at = end + 1
    text = "".join([*out, rule[at:]])
    if is_anchored and "/" not in text:  # a slash in a class matches nothing, but anchors the rule
        return f"!/{text[1:]}" if text.startswith("!") else f"/{text}"
    return text


def _class_end(rule: str, start: int) -> int | None:
    """Return the place of the `]` that ends a class; None if there is none."""
    at = start + (rule[start : start + 1] in ("!", "^"))
    first = at
    while at < len(rule):
        if rule[at] == "]" and at > first:
            return at
        named = _NAMED.match(rule, at)
        at = named.end() if named else at + (2 if rule[at] == "\\" else 1)
    return None


def _written_class(body: str) -> str | None:
    """Return a class with each of its characters once; None if it can match nothing."""
    negated = body[0] in "!^"
    members = {*_members(body[negated:])} - {"/"}
    if not members:
        return "?" if negated else None
    if len(members) == 1 and not negated:
        (member,) = members
        return f"[{member}]" if member.isspace() else f"\\{member}"
    first = "]" if "]" in members else ""
    rest = "".join(sorted(members - {*_LAST, "]"}))
    return "[" + "!" * negated + first + rest + "".join(char for char in _LAST if char in members) + "]"


def _members(body: str) -> Iterator[str]:
    at = 0
    while at < len(body):
        if named := _NAMED.match(body, at):
            yield from _NAMES.get(named[1], "")
            at = named.end()
            continue
        first, at = _character(body, at)
        last = first
        if body[at : at + 1] == "-" and at + 1 < len(body):
            last, at = _character(body, at + 1)
        yield first  # git also matches it in front of a range that goes down
        yield from map(chr, range(ord(first), min(ord(last) + 1, ord(first) + MAX_SPAN)))


def _character(body: str, at: int) -> tuple[str, int]:
    """Return the character at a place, which may be escaped, and the place behind it."""
    at += body[at] == "\\" and at + 1 < len(body)
    return body[at], at + 1
