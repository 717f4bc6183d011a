"""read_file: text with line numbers, images as images (000 section 3.3, REQUIREMENTS T2)."""

from __future__ import annotations

import re

from pydantic import Field

from agent_ls.environments.base import sha256
from agent_ls.environments.effects import ReadEffect
from agent_ls.environments.errors import PathNotFoundError
from agent_ls.llm.messages import ImagePart
from agent_ls.notebook.cells import is_notebook
from agent_ls.text import TextLines, decode, looks_binary, numbered
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolError, ToolOutput
from agent_ls.tools.missing import file_not_found
from agent_ls.tools.notebooks import cells_text
from agent_ls.tools.paths import absolute, its_file, shown_path
from agent_ls.tools.summary import one_line

DEFAULT_LIMIT_LINES = 2000  # 000 section 3.3
IMAGE_MAX_BYTES = 3_750_000  # 5 MB as base64, the smallest limit among the providers

IMAGE_SIGNATURES = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
)
_UNDECODABLE = re.compile("[\ud800-\udfff]")


class ReadFileArguments(Arguments):
    file_path: str = Field(description="Path of the file, absolute or relative to the working directory.")
    offset: int = Field(default=1, ge=1, description="Line number to start from; the first line is 1.")
    limit: int = Field(default=DEFAULT_LIMIT_LINES, ge=1, description="The most lines to return.")


async def prepare(arguments: ReadFileArguments, context: ToolContext) -> Prepared:
    path = absolute(arguments.file_path, context.environment)

    async def run() -> ToolOutput:
        try:
            data = await context.environment.read_bytes(path)
        except PathNotFoundError:
            raise await file_not_found(path, context.environment) from None
        output = shown(data, shown_path(path, context.environment), arguments)
        context.reads.show(path, sha256(data), data)
        return output

    return Prepared(ReadEffect((path,)), run)


def shown(data: bytes, name: str, arguments: ReadFileArguments) -> ToolOutput:
    """A file's bytes as the model sees them.

    Raises:
        ToolError: binary, too large an image, or an offset past the end.
    """
    if media_type := _image_type(data):
        return _image(data, media_type, name)
    if looks_binary(data):
        raise ToolError(
            f"Binary file: {name} ({len(data)} bytes) cannot be shown as text. If its content matters, look at "
            f"it with a command made for its format.",
            kind="binary_file",
        )
    if is_notebook(name) and data:
        return _notebook(data, name, arguments)
    text = _text(data, name, arguments)
    return ToolOutput(text, summary=_count(text.count("\n") + 1, "line"))


def _image_type(data: bytes) -> str:
    return next((media_type for signature, media_type in IMAGE_SIGNATURES if signature.match(data)), "")


def _image(data: bytes, media_type: str, name: str) -> ToolOutput:
    if len(data) > IMAGE_MAX_BYTES:
        raise ToolError(
            f"Image too large: {name} has {len(data)} bytes, the limit is {IMAGE_MAX_BYTES}. "
            f"Write a smaller copy with a command and read that.",
            kind="too_large",
        )
    return ToolOutput(
        f"Image {name} ({media_type}, {len(data)} bytes).",
        images=(ImagePart(data=data, media_type=media_type),),
    )


def _notebook(data: bytes, name: str, arguments: ReadFileArguments) -> ToolOutput:
    """Its cells; offset and limit count the lines of what is shown."""
    told = cells_text(data, name)
    lines = told.split("\n")
    start = arguments.offset - 1
    if start >= len(lines):
        raise _past_the_end(arguments.offset, name, len(lines))
    part = lines[start : start + arguments.limit]
    notes = [_range_note(start, len(part), len(lines))] if len(part) < len(lines) else []
    text = _UNDECODABLE.sub("\ufffd", "\n".join(part))
    return ToolOutput("\n\n".join([text, *notes]), summary=lines[0])


def _past_the_end(offset: int, name: str, total: int) -> ToolError:
    return ToolError(
        f"offset {offset} is past the end: {name} has {_count(total, 'line')}. Use an offset from 1 to {total}.",
        kind="validation",
    )


def _text(data: bytes, name: str, arguments: ReadFileArguments) -> str:
    decoded = decode(data)
    lines = TextLines(decoded.text)
    total = len(lines)
    if not total:
        return f"The file {name} is empty."
    start = arguments.offset - 1
    if start >= total:
        raise _past_the_end(arguments.offset, name, total)
    shown = lines[start : start + arguments.limit]
    notes = []
    if len(shown) < total:
        notes.append(_range_note(start, len(shown), total))
    if not decoded.is_valid:
        notes.append(
            "[The file is not valid UTF-8. Bytes that could not be decoded are shown as \ufffd and will be kept; "
            "edit only lines without them.]"
        )
    body = _UNDECODABLE.sub("\ufffd", numbered(shown, arguments.offset))
    return "\n\n".join([body, *notes])


def _range_note(start: int, count: int, total: int) -> str:
    end = start + count
    rest = f" Continue with offset={end + 1}." if end < total else ""
    return f"[Lines {start + 1}-{end} of {total}.{rest}]"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def summarize(arguments: ReadFileArguments) -> str:
    return one_line(arguments.file_path)


READ_FILE = Tool(
    name="read_file",
    description=(
        "Read a file. Text comes back with line numbers, as `NUMBER | TEXT`; the number and the bar are not part "
        "of the file. Images (PNG, JPEG, GIF, WebP) are shown as images.\n\n"
        "You see the file as the user sees it, unsaved changes in the editor included. Without offset and limit "
        f"the first {DEFAULT_LIMIT_LINES} lines are returned; read long files in parts. To list a folder use glob."
    ),
    category="read",
    arguments=ReadFileArguments,
    prepare=prepare,
    summarize=summarize,
    touches=its_file,
    starts_early=True,
)
