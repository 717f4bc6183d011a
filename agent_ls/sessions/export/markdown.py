"""Pure: a transcript as Markdown.

Text from the user, the model and tools is not trusted. This text is put into quotes and code fences that it
cannot close.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agent_ls.display.words import item_line
from agent_ls.loop.events.items import (
    Body,
    ChangedFile,
    Item,
    Notice,
    SaidItem,
    SteerMessage,
    ToolUse,
    TurnEnd,
    UserMessage,
)
from agent_ls.patterns import regex
from agent_ls.text import format_code_block, to_display_line

_REFERENCE = regex(r"[@#](?=\w)|:(?=//)|\bGH(?=-\d)", re.IGNORECASE)
_TICKS = regex(r"`+")
_MARKUP = regex(r"([\\`*_\[\]<>#|~&])")


def markdown(
    title: str, facts: Sequence[tuple[str, str]], items: Sequence[Item], changes: Sequence[str] = ()
) -> str:
    """Return the transcript. `facts` are listed at the top of the document; `items` are ordered from old to
    new. `changes` are the lines of the list of changes at its end.
    """
    lines = [f"# {words(title) or 'Session'}", ""]
    lines += [f"- {name}: {code(value)}" for name, value in facts]
    for item in items:
        lines += ["", *_item(item.body, item.timestamp)]
    if changes:
        lines += ["", "## Changes in reading order", "", *changes]
    return "\n".join(lines) + "\n"


def format_quote(text: str) -> Iterator[str]:
    """Return the lines as a block quote. A fence, comment or list that begins inside the quote ends with it."""
    return (f"> {line}" if line else ">" for line in _lines(text))


def code(text: str) -> str:
    """Return one line as inline code, delimited by more backticks than any run inside."""
    line = " ".join(text.split())
    ticks = "`" * (1 + max(map(len, _TICKS.findall(line)), default=0))
    pad = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def _item(body: Body, timestamp: str) -> Iterator[str]:
    match body:
        case UserMessage(text=text):
            yield from (f"## You, {words(timestamp)}", "", *format_quote(text))
        case SteerMessage(text=text, status=status):
            yield from (f"### You, during the turn ({status})", "", *format_quote(text))
        case SaidItem(kind=kind, text=text, interrupted=interrupted):
            name = "Agent" if kind == "text" else "Reasoning"
            yield from (f"### {name}{' (interrupted)' if interrupted else ''}", "", *format_quote(text))
        case ToolUse():
            yield from _tool(body)
        case ChangedFile(change=change) if not change.copy_of:
            yield f"### Changed: {code(change.path)} ({change.action}, +{change.added} -{change.removed})"
            if change.diff:
                yield from ("", _block(change.diff, "diff"))
        case Notice(level=level, text=text, hint=hint):
            yield f"**{level.capitalize()}:** {words(text)}{f' ({words(hint)})' if hint else ''}"
        case TurnEnd(files=files, facts=facts):
            yield from _line(body)
            if files:
                yield ""
            for file in files:
                yield f"- {code(file.path)} ({file.action}, +{file.added} -{file.removed})"
            if facts:
                yield from ("", words(facts.text))
        case _:
            yield from _line(body)


def _line(body: Body) -> Iterator[str]:
    if line := item_line(body):
        said = code(line.text) if line.is_code else words(line.text)
        status = f" **{words(line.status)}**" if line.status else ""
        yield f"*{words(line.label)}:* {said}{status}{f': {words(line.more)}' if line.more else ''}"


def _block(text: str, info: str = "") -> str:
    return format_code_block("\n".join(_lines(text)), info)


def _tool(body: ToolUse) -> Iterator[str]:
    yield from (f"### Tool {code(body.name)}: {code(body.summary)} ({body.status})", "")
    yield _block(body.arguments, "json")
    if body.result and body.result.output:
        yield from ("", _block(body.result.output))


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n").split("\n")


def inert(text: str) -> str:
    """Return the words of a model so that they refer to nothing where they are posted: in the description of a pull
    request or a commit, `fixes #12` would close an issue, and `@name` would call somebody.
    """
    return _REFERENCE.sub("\\g<0>\u200b", text)


def words(text: str) -> str:
    """Return the text as one line with its Markdown characters escaped."""
    return _MARKUP.sub(r"\\\1", to_display_line(text, max_chars=2_000))
