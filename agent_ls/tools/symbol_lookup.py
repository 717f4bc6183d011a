"""Find the position of a symbol by its name and its line, because models know names and lines, but not columns."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Iterator, Sequence
from typing import TypeVar

from pydantic import Field

from agent_ls.environments.effects import Effect, NoEffect, ReadEffect
from agent_ls.environments.errors import NoAnswerError, PathNotFoundError
from agent_ls.environments.language_host import (
    LanguageHost,
    SourcePosition,
    Symbol,
    code_points,
    utf16_units,
)
from agent_ls.patterns import regex
from agent_ls.text import decode, split_lines, strip_ending
from agent_ls.tools.base import Arguments, ToolContext, ToolError
from agent_ls.tools.not_found import file_not_found
from agent_ls.tools.paths import absolute, shown_path
from agent_ls.tools.summary import one_line

MAX_NAMED = 10  # maximum number of locations in an error message
_JOINTS = regex(r"\.|::|->|#")

T = TypeVar("T")


class SymbolArguments(Arguments):
    symbol: str = Field(
        min_length=1, max_length=300, description="The symbol's name, as written in the code."
    )
    file_path: str = Field(
        default="",
        description="A file in which the symbol occurs; default: the name is looked up in the workspace.",
    )
    line: int = Field(
        default=0,
        ge=0,
        description="The line on which the symbol occurs, from 1; default: its first occurrence in the file.",
    )


def lookup_effect(arguments: SymbolArguments, context: ToolContext) -> Effect:
    if not arguments.file_path:
        return NoEffect()
    return ReadEffect((absolute(arguments.file_path, context.environment),))


async def query_editor(query: Awaitable[T], instead: str) -> T:
    """Await the editor's response to a query.

    Raises:
        ToolError: the editor has no result. The message ends with `instead`, a hint for the model.
    """
    try:
        return await query
    except NoAnswerError as error:
        raise ToolError(f"{error} {instead}", kind=error.kind) from None


def grep_hint(symbol: str) -> str:
    return f"Use grep for {last_part(symbol)!r} instead."


async def find_symbol(arguments: SymbolArguments, host: LanguageHost, context: ToolContext) -> SourcePosition:
    """Return the position of the symbol.

    Raises:
        ToolError: the symbol does not occur, or is ambiguous. EnvError: the file may not be read.
    """
    if not arguments.file_path:
        return await _find_position_by_name(arguments.symbol, host, context)
    path = absolute(arguments.file_path, context.environment)
    lines = await _lines(path, context)
    if not arguments.line:
        for number, line in enumerate(lines):
            if (column := find_column(line, arguments.symbol)) is not None:
                return _to_position(path, number, line, column)
        raise _not_found_error(arguments.symbol, path, lines, context)
    if arguments.line > len(lines):
        raise ToolError(
            f"{shown_path(path, context.environment)} has only {len(lines)} lines, so it has no line {arguments.line}.",
            kind="validation",
        )
    line = lines[arguments.line - 1]
    column = find_column(line, arguments.symbol)
    if column is None:
        raise _not_found_error(arguments.symbol, path, lines, context, arguments.line)
    return _to_position(path, arguments.line - 1, line, column)


async def symbols_with_name(symbol: str, host: LanguageHost) -> Sequence[Symbol]:
    """Return the workspace symbols with exactly this name. For `a.b`, prefer symbols `b` that are inside `a`."""
    if "symbols" not in host.supported_queries():
        raise ToolError(
            "This editor cannot look up names. Give the file_path and line of a place where the symbol occurs. "
            f"{grep_hint(symbol)}",
            kind="no_answer",
        )
    name = last_part(symbol)
    found = await query_editor(host.symbols_named(name), grep_hint(symbol))
    exact = [one for one in found.symbols if one.name.partition("(")[0] == name]
    *above, _ = _JOINTS.split(_bare(symbol))
    inside = [one for one in exact if above and last_part(one.container or " ") == above[-1]]
    return inside or exact


def find_column(line: str, symbol: str, start: int = 0) -> int | None:
    """Return the column (in code points) at which the last part of the name occurs. Whole words are preferred."""
    name, last = _bare(symbol), last_part(symbol)
    for form in (rf"(?<!\w){re.escape(name)}(?!\w)", rf"(?<!\w){re.escape(last)}(?!\w)", re.escape(last)):
        if found := re.compile(form).search(line, start):
            return found.end() - len(last)
    return None


def last_part(symbol: str) -> str:
    return _JOINTS.split(_bare(symbol))[-1] or symbol


def _bare(symbol: str) -> str:
    return symbol.strip().removesuffix("()") or symbol


async def _find_position_by_name(symbol: str, host: LanguageHost, context: ToolContext) -> SourcePosition:
    found = [one for one in await symbols_with_name(symbol, host) if one.place.is_file]
    if not found:
        raise ToolError(
            f"The editor found no symbol {symbol!r} in the workspace. Give file_path and line of a position where "
            "the symbol occurs; find such a place with grep.",
            kind="not_found",
        )
    if len({(one.place.name, one.place.line) for one in found}) > 1:
        names = "\n".join(_describe_candidates(found, context))
        raise ToolError(
            f"There are several symbols {symbol!r}. Give file_path and line of the right symbol:\n{names}",
            kind="ambiguous",
        )
    place = found[0].place
    lines = await _lines(place.name, context)
    line = lines[place.line] if place.line < len(lines) else ""
    # The range that an editor reports may begin before the name, for example at `def` or at a comment above.
    column = find_column(line, symbol, code_points(line, place.character))
    return (
        _to_position(place.name, place.line, line, column)
        if column is not None
        else SourcePosition(place.name, place.line, place.character)
    )


def _describe_candidates(found: Sequence[Symbol], context: ToolContext) -> Iterator[str]:
    for one in found[:MAX_NAMED]:
        where = shown_path(one.place.name, context.environment)
        inside = f" in {one_line(one.container)}" if one.container else ""
        yield f"{one_line(where, 300)}:{one.place.line + 1}: {one.kind}{inside}"
    if len(found) > MAX_NAMED:
        yield f"[... and {len(found) - MAX_NAMED} more]"


async def _lines(path: str, context: ToolContext) -> list[str]:
    try:
        data = await context.environment.read_bytes(path)
    except PathNotFoundError:
        raise await file_not_found(path, context.environment) from None
    return [strip_ending(line) for line in split_lines(decode(data).text)]


def _to_position(path: str, number: int, line: str, column: int) -> SourcePosition:
    return SourcePosition(path, number, utf16_units(line[:column]))


def _not_found_error(
    symbol: str, path: str, lines: Sequence[str], context: ToolContext, line: int = 0
) -> ToolError:
    name = shown_path(path, context.environment)
    at = [str(number) for number, text in enumerate(lines, 1) if find_column(text, symbol) is not None]
    if not at:
        return ToolError(f"{symbol!r} does not occur in {name}. {grep_hint(symbol)}", kind="not_found")
    shown = ", ".join(at[:MAX_NAMED]) + (" …" if len(at) > MAX_NAMED else "")
    return ToolError(
        f"Line {line} of {name} has no {symbol!r}; it reads: {one_line(lines[line - 1], 200)}\n"
        f"It occurs at: {shown}.",
        kind="not_found",
    )
