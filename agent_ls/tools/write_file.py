"""write_file: a whole file, or text at its end (000 section 3.3, REQUIREMENTS T3, X9)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from pydantic import Field

from agent_ls.environments.base import FileWrite
from agent_ls.environments.errors import PathNotFoundError
from agent_ls.text import decode, encode, line_ending, looks_binary, split_lines
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolOutput
from agent_ls.tools.freshness import demand_current
from agent_ls.tools.notebooks import demand_no_notebook
from agent_ls.tools.paths import absolute, its_file, shown_path
from agent_ls.tools.planned import as_decided, commit, effect_of, landed_notes, whole_file_change
from agent_ls.tools.summary import one_line


class WriteFileArguments(Arguments):
    file_path: str = Field(description="Path of the file, absolute or relative to the working directory.")
    content: str = Field(description="The whole text of the file; with append, the text to add at its end.")
    append: bool = Field(default=False, description="Add to the end of the file and keep what it holds.")


async def prepare(arguments: WriteFileArguments, context: ToolContext) -> Prepared:
    path = absolute(arguments.file_path, context.environment)
    name = shown_path(path, context.environment)
    current = await _current(path, context)
    demand_no_notebook(path, name, current)
    if current is not None and not arguments.append:
        demand_current(path, current, context)
    content = _encoded(arguments, current)
    if content == current:
        return Prepared(effect_of((), context.environment), _nothing_to_do(name))
    change = whole_file_change(name, current, content)
    write = FileWrite(path, content, current)

    async def run() -> ToolOutput:
        states = await commit((write,), context)
        if decided := as_decided(states, context):
            return decided
        notes = landed_notes((write,), states, context)
        return ToolOutput("\n".join([_told(arguments, name, current, content), *notes]), files=states)

    return Prepared(effect_of((change,), context.environment), run)


async def _current(path: str, context: ToolContext) -> bytes | None:
    try:
        return await context.environment.read_bytes(path)
    except PathNotFoundError:
        return None


def _encoded(arguments: WriteFileArguments, current: bytes | None) -> bytes:
    """In the encoding, with the BOM and with the line endings of the file that is there: a model sees none of them."""
    if not current or looks_binary(current):
        return (current or b"" if arguments.append else b"") + arguments.content.encode("utf-8")
    old = decode(current)
    text = arguments.content
    if _is_crlf(old.text) and "\r" not in text:
        text = text.replace("\n", "\r\n")
    return encode(replace(old, text=old.text + text if arguments.append else text))


def _is_crlf(text: str) -> bool:
    """All lines that end at all end in CRLF."""
    return {line_ending(line) for line in split_lines(text)} - {""} == {"\r\n"}


def _nothing_to_do(name: str) -> Callable[[], Awaitable[ToolOutput]]:
    async def run() -> ToolOutput:
        return ToolOutput(f"{name} already holds exactly this text. Nothing was written.")

    return run


def _told(arguments: WriteFileArguments, name: str, current: bytes | None, content: bytes) -> str:
    if current is None:
        return f"Created {name}: wrote {len(content)} bytes."
    if arguments.append:
        return f"Appended {len(content) - len(current)} bytes to {name}, which now has {len(content)}."
    return f"Wrote {len(content)} bytes to {name}, in place of the {len(current)} it had."


def summarize(arguments: WriteFileArguments) -> str:
    return one_line(arguments.file_path)


WRITE_FILE = Tool(
    name="write_file",
    description=(
        "Write a whole file; missing folders are created.\n\n"
        "For new files, and for files that change from top to bottom; otherwise make edits. An existing file is "
        "replaced only if you have read it as it is now. With append the text is added at the end, as it is."
    ),
    category="write",
    arguments=WriteFileArguments,
    prepare=prepare,
    summarize=summarize,
    touches=its_file,
)
