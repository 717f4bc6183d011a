"""Parse front matter: YAML fields at the start of a Markdown file, between two lines of three dashes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from agent_ls.features.tools.yaml_depth import is_too_deep

_BLOCK = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_UNQUOTED = re.compile(r"^(name|description):[ \t]+(?![\"'|>])(.+)$", re.MULTILINE)


class FrontMatterError(Exception):
    """The front matter of a file is not valid YAML, or a TOML command is not valid.

    The message is part of a sentence for the user.
    """


@dataclass(frozen=True, slots=True)
class MarkdownPage:
    """A Markdown file: the fields of its front matter, and the text after it.

    `is_repaired`: values had to be quoted to make the front matter valid YAML.
    """

    rows: Mapping[str, object] = field(default_factory=dict)
    text: str = ""
    is_repaired: bool = False

    def string(self, key: str) -> str:
        """Return the value of a field as one line; "" if the field is absent, a list or a table."""
        value = self.rows.get(key)
        return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""

    def flag(self, key: str, *, default: bool) -> bool:
        """Return the value of a field as a Boolean; `default` if it is absent or not a Boolean."""
        value = self.rows.get(key)
        return value if isinstance(value, bool) else default

    def names(self, key: str) -> tuple[str, ...]:
        """Return the value of a field as a list of names, which may be one string with spaces or commas."""
        value = self.rows.get(key)
        if isinstance(value, str):
            return tuple(value.replace(",", " ").split())
        return tuple(map(str, value)) if isinstance(value, list) else ()


def parse_page(data: str) -> MarkdownPage:
    """Return the fields and the text of a Markdown file. A file without front matter has no fields.

    If the front matter is invalid, it is parsed again with the values of `name` and `description`
    quoted, because an unquoted colon in them is the usual mistake.

    Raises:
        FrontMatterError
    """
    data = data.removeprefix("\ufeff").replace("\r\n", "\n")
    block = _BLOCK.match(data)
    if block is None:
        return MarkdownPage(text=data.strip())
    rows, is_repaired = _rows(block[1]), False
    if rows is None:
        rows, is_repaired = _rows(_UNQUOTED.sub(_quote_value, block[1])), True
    if rows is None:
        raise FrontMatterError(
            "the block between the lines `---` is not valid YAML: put quotes around values that contain a colon"
        )
    return MarkdownPage(rows, data[block.end() :].strip(), is_repaired)


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


def _quote_value(row: re.Match[str]) -> str:
    value = row[2].strip().replace("'", "''")
    return f"{row[1]}: '{value}'"
