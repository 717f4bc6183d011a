"""The YAML rows between two lines of three dashes that a Markdown file may begin with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_BLOCK = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_UNQUOTED = re.compile(r"^(name|description):[ \t]+(?![\"'|>])(.+)$", re.MULTILINE)


class FrontMatterError(Exception):
    """The block cannot be read as YAML rows. The message is one sentence for the user."""


@dataclass(frozen=True, slots=True)
class Page:
    """A Markdown file: the rows that it begins with, and its text after them."""

    rows: Mapping[str, object] = field(default_factory=dict)
    text: str = ""

    def string(self, key: str) -> str:
        """The value of a row as text on one line; "" if it is absent or not a plain value."""
        value = self.rows.get(key)
        return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""

    def flag(self, key: str, *, default: bool) -> bool:
        """The value of a row as a yes or no; `default` if it is absent or is neither."""
        value = self.rows.get(key)
        return value if isinstance(value, bool) else default

    def names(self, key: str) -> tuple[str, ...]:
        """The value of a row as a list of names, which may be written with blanks or commas between them."""
        value = self.rows.get(key)
        if isinstance(value, str):
            return tuple(value.replace(",", " ").split())
        return tuple(map(str, value)) if isinstance(value, list) else ()


def parse_page(data: str) -> Page:
    """Return the rows and the text of a Markdown file; no rows if it begins with no block.

    A description with a colon in it is the usual mistake, so a block that fails is read once more with the values of
    `name` and `description` quoted.

    Raises:
        FrontMatterError
    """
    data = data.removeprefix("\ufeff").replace("\r\n", "\n")
    block = _BLOCK.match(data)
    if block is None:
        return Page(text=data.strip())
    rows = _rows(block[1])
    if rows is None:
        rows = _rows(_UNQUOTED.sub(_quoted, block[1]))
    if rows is None:
        raise FrontMatterError(
            "the block between the lines `---` is not valid YAML: quote values with colons"
        )
    return Page(rows, data[block.end() :].strip())


def _rows(block: str) -> Mapping[str, object] | None:
    import yaml  # needed only where such files exist

    try:
        read = yaml.safe_load(block)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    if read is None:
        return {}
    return {str(key): value for key, value in read.items()} if isinstance(read, dict) else None


def _quoted(row: re.Match[str]) -> str:
    value = row[2].strip().replace("'", "''")
    return f"{row[1]}: '{value}'"
