"""read_lines, head and tail: return a part of a file in the format of read_file."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from pydantic import Field, model_validator

from agent_ls.notebook.cells import is_notebook
from agent_ls.text import TextLines, decode, looks_binary
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext
from agent_ls.tools.look import Look
from agent_ls.tools.notebooks import render_cells
from agent_ls.tools.paths import touched_file
from agent_ls.tools.read_file import ReadFileArguments, prepare, prepare_part
from agent_ls.tools.summary import one_line

MAX_LINES = 2000  # equal to the default of read_file


class ReadLinesArguments(Arguments):
    file_path: str = Field(description="Path of the file, absolute or relative to the working directory.")
    first_line: int = Field(ge=1, description="The first line to return; the file begins with line 1.")
    last_line: int = Field(ge=1, description=f"The last line to return; at most {MAX_LINES} lines.")

    @model_validator(mode="after")
    def _are_in_order(self) -> Self:
        if self.last_line < self.first_line:
            raise ValueError("last_line is before first_line")
        return self


class LineCountArguments(Arguments):
    file_path: str = Field(description="Path of the file, absolute or relative to the working directory.")
    lines: int = Field(default=20, ge=1, le=MAX_LINES, description="How many lines to return.")


async def prepare_read_lines(arguments: ReadLinesArguments, context: ToolContext) -> Prepared:
    wanted = ReadFileArguments(
        file_path=arguments.file_path,
        offset=arguments.first_line,
        end_line=arguments.last_line,
        limit=MAX_LINES,
    )
    return await prepare(wanted, context)


async def prepare_head(arguments: LineCountArguments, context: ToolContext) -> Prepared:
    return await prepare(ReadFileArguments(file_path=arguments.file_path, limit=arguments.lines), context)


async def prepare_tail(arguments: LineCountArguments, context: ToolContext) -> Prepared:
    def choose(data: bytes, name: str) -> ReadFileArguments:
        start = max(1, _count_lines(data, name) - arguments.lines + 1)
        return ReadFileArguments(file_path=arguments.file_path, offset=start, limit=arguments.lines)

    return prepare_part(arguments.file_path, context, choose)


def _count_lines(data: bytes, name: str) -> int:
    """Return the number of lines that read_file counts; 0 for a file that read_file does not return as text."""
    if looks_binary(data):
        return 0
    if is_notebook(name) and data:
        return len(render_cells(data, name).split("\n"))
    return len(TextLines(decode(data).text))


READ_LINES = Tool(
    name="read_lines",
    description="Read a range of lines of a file, with line numbers and unsaved changes of the user.",
    category="read",
    arguments=ReadLinesArguments,
    prepare=prepare_read_lines,
    look=Look("read", "Reading", "Read"),
    summarize=lambda arguments: one_line(
        f"{arguments.file_path}, lines {arguments.first_line} to {arguments.last_line}"
    ),
    touches=touched_file,
    starts_early=True,
)

HEAD = Tool(
    name="head",
    description="Read the first lines of a file, with line numbers and unsaved changes of the user.",
    category="read",
    arguments=LineCountArguments,
    prepare=prepare_head,
    look=Look("read", "Reading", "Read"),
    summarize=lambda arguments: one_line(arguments.file_path),
    touches=touched_file,
    starts_early=True,
)

TAIL = replace(
    HEAD,
    name="tail",
    description="Read the last lines of a file, with line numbers and unsaved changes of the user.",
    prepare=prepare_tail,
)
