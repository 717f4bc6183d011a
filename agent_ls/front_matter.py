"""Parse front matter: YAML fields at the start of a Markdown file, between two lines of three dashes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from agent_ls.patterns import regex
from agent_ls.yaml_depth import is_too_deep

_BLOCK = regex(r"\A(?:[ \t]*\n)*---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_ROW = regex(r"^([A-Za-z][\w-]*):[ \t]*(.*(?:\n(?:[ \t]+.*|))*)", re.MULTILINE)
_PROSE = ("name", "description", "argument-hint")
_SWITCH = regex(r"([\w-]+):(true|false|allow|deny|ask)\b")
_NAME = regex(r"[^\s,(]+(?:\([^)]*\))?")


class FrontMatterError(Exception):
    """The front matter of a file is not valid YAML, or a TOML command is not valid.

    The message is part of a sentence for the user.
    """


@dataclass(frozen=True, slots=True)
class MarkdownPage:
    """A Markdown file: the fields of its front matter, and the text after it.

    `repaired` are the fields whose values are not valid YAML, and were read as plain text.
    """

    rows: Mapping[str, object] = field(default_factory=dict)
    text: str = ""
    repaired: tuple[str, ...] = ()

    def string(self, key: str) -> str:
        """Return the value of a field as one line; "" if the field is absent, a Boolean, a list or a table."""
        value = self.rows.get(key)
        if isinstance(value, bool):
            return ""  # `name: yes` is no name
        return " ".join(str(value).split()) if isinstance(value, str | int | float | date) else ""

    def hint(self, key: str) -> str:
        """Return the value of a field as one line, also of a list: `[file]`, which people write without quotes."""
        value = self.rows.get(key)
        return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else self.string(key)

    def flag(self, key: str, *, default: bool) -> bool:
        """Return the value of a field as a Boolean; `default` if it is absent or not a Boolean."""
        value = self.rows.get(key)
        return value if isinstance(value, bool) else default

    def names(self, key: str) -> tuple[str, ...]:
        """Return the value of a field as a list of names, which may be one string with spaces or commas outside of
        round brackets.
        """
        value = self.rows.get(key)
        if isinstance(value, str):
            return tuple(_NAME.findall(value))
        return tuple(map(str, value)) if isinstance(value, list) else ()

    def switches(self, key: str) -> Mapping[str, object]:
        """Return the value of a field as a table, also if blanks behind its colons are missing: `edit:false`."""
        value = self.rows.get(key)
        if isinstance(value, str) and (found := dict(_SWITCH.findall(value))):
            return found
        return {str(name): it for name, it in value.items()} if isinstance(value, dict) else {}


def parse_page(data: str) -> MarkdownPage:
    """Return the fields and the text of a Markdown file. A file without front matter has no fields.

    If the front matter is invalid, each of its fields is parsed alone, and a value that is no YAML is read as text:
    an unquoted colon, an asterisk or a second pair of square brackets is the usual mistake.

    Raises:
        FrontMatterError
    """
    data = data.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    block = _BLOCK.match(data)
    if block is None:
        return MarkdownPage(text=data.strip())
    rows, repaired = _rows(block[1]), list[str]()
    if rows is None:
        rows, repaired = _rows_alone(block[1])
    if rows is None:
        raise FrontMatterError(
            "the block between the lines `---` is not valid YAML: put quotes around values that contain a colon"
        )
    return MarkdownPage(rows, data[block.end() :].strip(), tuple(repaired))


def _rows_alone(block: str) -> tuple[Mapping[str, object] | None, list[str]]:
    """Parse each field alone. Returns the fields, None if there are none, and the names of those read as text."""
    rows: dict[str, object] = {}
    repaired = []
    for found in _ROW.finditer(block):
        name, text = found[1], found[2].replace("\t", "    ")
        read = _rows(f"{name}: {text}")
        if read is None:
            if name not in _PROSE and text.count("[") != text.count("]"):
                return None, []  # a list without an end: what a subagent may do is never guessed
            repaired.append(name)
            words = " ".join(text.split())
            is_quoted = words[:1] in ("'", '"') and words.endswith(words[:1])
            if is_quoted:
                words = words.strip("\"'")
            elif name not in _PROSE:
                words = words.partition(" #")[0].rstrip()
            read = {name: words}
        rows |= read
    return rows or None, repaired


def _rows(block: str) -> Mapping[str, object] | None:
    import yaml  # imported here, because most sessions read no front matter

    if is_too_deep(block):
        return None
    try:
        read = yaml.safe_load(block)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    if read is None:
        return {}
    return {str(key): value for key, value in read.items()} if isinstance(read, dict) else None
