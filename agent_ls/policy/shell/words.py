"""ENGINE: one argument of a command line as the shell would see it: quotes removed, expansions named, never guessed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Literal, TypeAlias

from tree_sitter import Node

MAX_TEXTS = 50
"""A word with more possible values than this counts as computed."""

PartKind: TypeAlias = Literal["text", "glob", "variable", "computed"]

_ESCAPED = re.compile(r"\\(\n|.)", re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r'\\(\n|["\\$`])')
_GLOB = re.compile(r"(?<!\\)[*?\[]")
_BRACES = re.compile(r"(?<!\\)\{[^{}]*(,|\.\.)[^{}]*\}")


@dataclass(frozen=True, slots=True)
class Part:
    """`value` is the text, the pattern as written, the name of the variable, or the source of what is computed.

    `is_quoted` matters for a variable only: unquoted, its value is split at spaces.
    """

    kind: PartKind
    value: str
    is_quoted: bool = False


@dataclass(frozen=True, slots=True)
class Word:
    parts: tuple[Part, ...]
    source: str

    @property
    def text(self) -> str | None:
        """Its value, None when an expansion decides it."""
        return "".join(p.value for p in self.parts) if all(p.kind == "text" for p in self.parts) else None

    @property
    def has_glob(self) -> bool:
        return any(part.kind == "glob" for part in self.parts)

    def texts(self, variables: Mapping[str, tuple[str, ...]]) -> tuple[str, ...] | None:
        """All values that it can have, patterns as written; None when they cannot be told."""
        choices: list[tuple[str, ...]] = []
        for part in self.parts:
            if part.kind in ("text", "glob"):
                choices.append((part.value,))
                continue
            known = variables.get(part.value) if part.kind == "variable" else None
            if known is None or (not part.is_quoted and any(_is_split(value) for value in known)):
                return None
            choices.append(known)
        count = 1
        for choice in choices:
            count *= len(choice)
        return tuple("".join(values) for values in product(*choices)) if count <= MAX_TEXTS else None


def literal(text: str) -> Word:
    return Word((Part("text", text),), text)


COMPUTED = Word((Part("computed", ""),), "")
"""A value that nobody can tell."""


def word_of(node: Node) -> Word:
    source = _source(node)
    return Word(tuple(_parts(node)), source)


def _parts(node: Node) -> Iterator[Part]:
    source = _source(node)
    match node.type:
        case "word" | "number" | "variable_name" | "file_descriptor" | "extglob_pattern":
            yield from _bare(source)
        case "raw_string":
            yield Part("text", source[1:-1])
        case "string":
            yield from _quoted(node)
        case "concatenation" | "command_name":
            yield from _joined(node)
        case "simple_expansion":
            yield Part("variable", source[1:])
        case "expansion":
            name = source[2:-1]
            yield Part("variable", name) if name.isidentifier() else Part("computed", source)
        case _:
            yield Part("computed", source)


def _joined(node: Node) -> Iterator[Part]:
    if _BRACES.search(_source(node)):
        yield Part("computed", _source(node))
        return
    for child in node.children:
        yield from _parts(child) if child.is_named else _bare(_source(child))


def _bare(source: str) -> Iterator[Part]:
    value = _ESCAPED.sub(lambda found: "" if found[1] == "\n" else found[1], source)
    if _BRACES.search(source):
        yield Part("computed", source)
    elif _GLOB.search(source):
        yield Part("glob", value)
    else:
        yield Part("text", value)


def _quoted(node: Node) -> Iterator[Part]:
    """Text between double quotes: its expansions are children, all else is text."""
    encoded = node.text or b""
    at = node.start_byte + 1
    for child in node.named_children:
        if child.type == "string_content":
            continue
        yield from _text_between(encoded, at - node.start_byte, child.start_byte - node.start_byte)
        for part in _parts(child):
            yield Part(part.kind, part.value, is_quoted=True)
        at = child.end_byte
    yield from _text_between(encoded, at - node.start_byte, len(encoded) - 1)


def _text_between(encoded: bytes, start: int, end: int) -> Iterator[Part]:
    text = encoded[start:end].decode("utf-8", "replace")
    yield Part("text", _ESCAPED_IN_QUOTES.sub(lambda found: "" if found[1] == "\n" else found[1], text))


def _source(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _is_split(value: str) -> bool:
    return not value or bool(re.search(r"[\s*?\[]", value))
