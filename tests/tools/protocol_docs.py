"""Write the tables of docs/protocol/*.md from the code: python -m tests.tools.protocol_docs.

A table is between `<!-- table: NAME -->` and `<!-- end -->`. Its fields and types are generated from the models. Its
last column, the meaning, is written by hand and kept. A new field gets an empty cell, which
tests/test_protocol_docs.py refuses.
"""

from __future__ import annotations

import dataclasses
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from agent_ls.environments import effects
from agent_ls.llm.requests import Usage
from agent_ls.loop.events import editor as editor_events, types as events
from agent_ls.server import protocol
from agent_ls.server.features.routes import ROUTES
from agent_ls.server.schema.events import NAMES_FILES
from agent_ls.server.schema.messages import result_of
from agent_ls.server.transport.errors import CODES
from tests.docs.pages import anchors

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "protocol"
PAGES = ("overview", "requests", "events", "objects", "errors")
COMMAND = "python -m tests.tools.protocol_docs"

EVENTS: Mapping[str, type[Any]] = {cls.kind: cls for cls in get_args(events.RecordedEvent)}
# The classes that a table `object NAME` can describe.
OBJECTS: Mapping[str, type[Any]] = {
    cls.__name__: cls
    for cls in (
        protocol.SessionInfo,
        protocol.BroughtFile,
        protocol.OwnerInfo,
        *get_args(protocol.InputPart),
        protocol.OpenPart,
        protocol.CommandReplacement,
        protocol.LimitChanges,
        protocol.EditQueued,
        protocol.MoveQueued,
        protocol.Snapshot,
        protocol.DraftInfo,
        protocol.Pending,
        protocol.FileHunks,
        protocol.HunkInfo,
        protocol.HunkCell,
        protocol.GuideRow,
        protocol.GuideMark,
        protocol.BlamedRange,
        protocol.BlameOrigin,
        protocol.RuleInfo,
        protocol.TrustedFolder,
        protocol.RevertFile,
        protocol.RevertConflict,
        protocol.TerminalInfo,
        protocol.ProviderInfo,
        protocol.ModelInfo,
        protocol.McpServerInfo,
        protocol.CommandInfo,
        protocol.Completion,
        protocol.EditorSelection,
        protocol.Diagnostic,
        protocol.CodeLocation,
        protocol.CodeSymbol,
        protocol.DocumentEdits,
        protocol.CodeEdit,
        editor_events.DiagnosedFile,
        events.Hunk,
        events.ContextParts,
        events.QueueItem,
        events.CheckRun,
        events.PlanItem,
        events.StateChange,
        events.RevertedFile,
        events.RuleOffer,
        Usage,
        effects.ReadEffect,
        effects.WriteEffect,
        effects.PlannedWrite,
        effects.CommandEffect,
        effects.TrustEffect,
        effects.FetchEffect,
        effects.CallEffect,
        effects.ServerEffect,
    )
}
SENT_BY_CLIENTS = (
    *get_args(protocol.InputPart),
    protocol.EditQueued,
    protocol.MoveQueued,
    protocol.EditorSelection,
    protocol.Diagnostic,
    protocol.CodeLocation,
    protocol.CodeSymbol,
    protocol.DocumentEdits,
    protocol.CodeEdit,
)
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null", Any: "any"}
_MARKED = re.compile(r"(<!-- table: (.+?) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
_CELL = re.compile(r"(?<!\\)\|")
_ANCHOR = re.compile(r"\]\(#([\w-]+)\)")


@dataclass(frozen=True)
class Table:
    """A table without its last column. The first `keys` cells identify a row; an empty cell repeats the one above."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    keys: int = 1


def render(table: Table, kept: Mapping[tuple[str, ...], str]) -> str:
    lines = [_line(table.header), _line("---" for _ in table.header)]
    for key, row in zip(_keys(table.rows, table.keys), table.rows, strict=True):
        lines.append(_line((*row, kept.get(key, ""))))
    return "\n".join(lines) + "\n"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _keys(rows: Iterable[Sequence[str]], count: int) -> Iterator[tuple[str, ...]]:
    above: tuple[str, ...] = ("",) * count
    for row in rows:
        above = tuple(cell or before for cell, before in zip(row[:count], above, strict=True))
        yield above


def written_rows(body: str) -> list[tuple[str, ...]]:
    """Return the rows of a table of a page."""
    lines = [line.strip() for line in body.strip().splitlines()][2:]
    return [tuple(cell.strip() for cell in _CELL.split(line)[1:-1]) for line in lines]


def _kept(body: str, keys: int) -> dict[tuple[str, ...], str]:
    rows = written_rows(body)
    return {key: row[-1] for key, row in zip(_keys(rows, keys), rows, strict=True)}


# --- the code --------------------------------------------------------------------------------------------------


def type_words(annotation: Any) -> str:
    """Return a type as a page writes it, with links from objects to their headings."""
    origin = get_origin(annotation)
    if origin is Literal:
        return " \\| ".join(f'`"{value}"`' for value in get_args(annotation))
    if annotation == protocol.InputPart:
        return "[InputPart](#inputpart)"
    if origin in (typing.Union, types.UnionType):
        return " \\| ".join(type_words(item) for item in get_args(annotation))
    if origin is tuple:
        items = get_args(annotation)
        if items[-1] is Ellipsis:
            return f"list of {type_words(items[0])}"
        return f"[{', '.join(type_words(item) for item in items)}]"
    if origin in (dict, Mapping):
        return (
            "object" if get_args(annotation)[1] is Any else f"object of {type_words(get_args(annotation)[1])}"
        )
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    return f"[{annotation.__name__}](#{annotation.__name__.lower()})"


def _without_none(annotation: Any) -> Any:
    if get_origin(annotation) in (typing.Union, types.UnionType):
        rest = tuple(item for item in get_args(annotation) if item is not type(None))
        return rest[0] if len(rest) == 1 else typing.Union[rest]  # noqa: UP007  # made at run time
    return annotation


def params_table(model: type[BaseModel]) -> Table:
    """Return the table of parameters, which a client sends. A field with a default is optional."""
    model.model_rebuild()
    rows = (
        (f"`{to_camel(name)}`", type_words(_without_none(field.annotation)), _default_words(field))
        for name, field in model.model_fields.items()
    )
    return Table(("field", "type", "default", "meaning"), tuple(rows))


def result_table(model: type[BaseModel]) -> Table:
    """Return the table of a result, which the server sends. A field without a value is absent."""
    model.model_rebuild()
    rows = (
        (
            f"`{to_camel(name)}`",
            type_words(inner),
            "always" if inner == field.annotation else "if there is one",
        )
        for name, field in model.model_fields.items()
        if (inner := _without_none(field.annotation))
    )
    return Table(("field", "type", "present", "meaning"), tuple(rows))


def _default_words(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    match field.get_default(call_default_factory=True):
        case None:
            return "none"
        case bool(value):
            return f"`{str(value).lower()}`"
        case str(value):
            return f'`"{value}"`'
        case tuple():
            return "`[]`"
        case value:
            return f"`{value}`"


def object_table(cls: type[Any]) -> Table:
    if issubclass(cls, BaseModel):
        return params_table(cls) if cls in SENT_BY_CLIENTS else result_table(cls)
    rows = [(f"`{name}`", words) for name, words in _dataclass_fields(cls)]
    if cls.__name__.endswith("Effect"):
        rows.insert(0, ("`type`", f'`"{cls.__name__}"`'))
    if cls.__name__ in NAMES_FILES:
        rows.append(("`uri`", "string"))
    return Table(("field", "type", "meaning"), tuple(rows))


def _dataclass_fields(cls: type[Any]) -> Iterator[tuple[str, str]]:
    hints = get_type_hints(cls)
    for field in dataclasses.fields(cls):
        yield to_camel(field.name), type_words(hints[field.name])


def events_table(kinds: Sequence[str]) -> Table:
    rows: list[tuple[str, ...]] = []
    for kind in kinds:
        fields = list(_dataclass_fields(EVENTS[kind]))
        if EVENTS[kind].__name__ in NAMES_FILES:
            fields.append(("uri", "string"))
        for number, (name, words) in enumerate(fields):
            rows.append((f"`{kind}`" if number == 0 else "", f"`{name}`", words))
    return Table(("kind", "data", "type", "meaning"), tuple(rows), keys=2)


def requests_table() -> Table:
    rows = []
    for route in ROUTES.values():
        method = route.params.method
        anchor = method.replace("/", "").lower()
        takes = [
            to_camel(name) + ("" if field.is_required() else "?")
            for name, field in route.params.model_fields.items()
        ]
        gives = [
            to_camel(name) + ("" if _without_none(field.annotation) == field.annotation else "?")
            for name, field in result_of(route).model_fields.items()
        ]
        rows.append((f"[`{method}`](#{anchor})", _braces(takes), _braces(gives)))
    return Table(("method", "parameters", "result", "what for"), tuple(rows))


def _braces(names: Sequence[str]) -> str:
    return f"`{{{', '.join(names)}}}`"


def errors_table() -> Table:
    rows = tuple((f"`{kind}`", str(code)) for kind, code in CODES.items())
    return Table(("kind", "code", "meaning"), rows)


def table_of(name: str) -> Table:
    """Return the table for a marker of a page.

    Raises:
        KeyError: the code has nothing of this name.
    """
    what, _, rest = name.partition(" ")
    routes = {route.params.method: route for route in ROUTES.values()}
    makers: Mapping[str, Callable[[], Table]] = {
        "requests": requests_table,
        "errors": errors_table,
        "params": lambda: params_table(routes[rest].params),
        "result": lambda: result_table(result_of(routes[rest])),
        "object": lambda: object_table(OBJECTS[rest]),
        "events": lambda: events_table(rest.split()),
    }
    return makers[what]()


# --- the pages ------------------------------------------------------------------------------------------------


def read_pages() -> dict[str, str]:
    """Return the pages by name, in reading order."""
    return {name: (FOLDER / f"{name}.md").read_text(encoding="utf-8") for name in PAGES}


def written_tables(page: str) -> dict[str, str]:
    """Return the tables of a page by name, without their markers."""
    return {match[2]: match[3] for match in _MARKED.finditer(page)}


def renew_pages(pages: Mapping[str, str]) -> dict[str, str]:
    """Return the pages with their tables generated again."""
    page_of = {anchor: name for name, text in pages.items() for anchor in anchors(text)}
    return {name: _renew_page(name, text, page_of) for name, text in pages.items()}


def _renew_page(name: str, text: str, page_of: Mapping[str, str]) -> str:
    def link(match: re.Match[str]) -> str:
        page = page_of.get(match[1], name)
        return match[0] if page == name else f"]({page}.md#{match[1]})"

    def renew(match: re.Match[str]) -> str:
        table = table_of(match[2])
        linked = replace(
            table, rows=tuple(tuple(_ANCHOR.sub(link, cell) for cell in row) for row in table.rows)
        )
        return match[1] + render(linked, _kept(match[3], table.keys)) + match[4]

    return _MARKED.sub(renew, text)


def main() -> int:
    pages = renew_pages(read_pages())
    for name, text in pages.items():
        (FOLDER / f"{name}.md").write_text(text, encoding="utf-8")
    empty = [
        f"docs/protocol/{page}.md, table {name}: {' '.join(row[:-1])}"
        for page, text in pages.items()
        for name, body in written_tables(text).items()
        for row in written_rows(body)
        if not row[-1]
    ]
    for place in empty:
        print(f"fill in the last column: {place}")
    return 1 if empty else 0


if __name__ == "__main__":
    sys.exit(main())
