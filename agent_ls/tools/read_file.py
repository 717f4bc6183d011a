"""read_file: return the text of a file with line numbers, or an image file as an image."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Self

from pydantic import Field, model_validator

from agent_ls.environments.base import sha256
from agent_ls.environments.effects import ReadEffect
from agent_ls.environments.errors import PathNotFoundError
from agent_ls.llm.messages import ImagePart
from agent_ls.notebook.cells import is_notebook
from agent_ls.patterns import regex
from agent_ls.text import DecodedText, TextLines, decode, looks_binary, number_lines, plural
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolError, ToolOutput
from agent_ls.tools.look import Look
from agent_ls.tools.not_found import file_not_found
from agent_ls.tools.notebooks import render_cells
from agent_ls.tools.paths import absolute, shown_path, touched_file
from agent_ls.tools.summary import one_line

DEFAULT_LIMIT_LINES = 2000  # enough for most files; longer ones are read in parts
IMAGE_MAX_BYTES = 3_750_000  # 5 MB as base64, the smallest limit among the providers

IMAGE_SIGNATURES = (
    (regex(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (regex(rb"\xff\xd8\xff"), "image/jpeg"),
    (regex(rb"GIF8[79]a"), "image/gif"),
    (regex(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
)
_UNDECODABLE = regex("[\ud800-\udfff]")


class ReadFileArguments(Arguments):
    file_path: str = Field(description="Path of the file, absolute or relative to the working directory.")
    offset: int = Field(default=1, ge=1, description="Line number to start from; the first line is 1.")
    limit: int = Field(default=DEFAULT_LIMIT_LINES, ge=1, description="The maximum number of lines.")
    end_line: int = Field(default=0, ge=0, description="The last line to return, if limit allows it.")

    @model_validator(mode="after")
    def _ends_behind_its_start(self) -> Self:
        if 0 < self.end_line < self.offset:
            raise ValueError(f"{self.parameter('end_line')} must not be less than {self.parameter('offset')}")
        return self

    @property
    def most_lines(self) -> int:
        """The maximum number of lines to return."""
        return min(self.limit, self.end_line - self.offset + 1) if self.end_line else self.limit


async def prepare(arguments: ReadFileArguments, context: ToolContext) -> Prepared:
    return prepare_part(arguments.file_path, context, lambda data, name: arguments)


def prepare_part(
    file_path: str, context: ToolContext, choose: Callable[[bytes, str], ReadFileArguments]
) -> Prepared:
    """Prepare a read of the part that `choose` returns for the file's bytes and shown name."""
    path = absolute(file_path, context.environment)

    async def run() -> ToolOutput:
        try:
            data = await context.environment.read_bytes(path)
        except PathNotFoundError:
            raise await file_not_found(path, context.environment) from None
        name = shown_path(path, context.environment)
        output = render_file(data, name, choose(data, name))
        context.reads.record(path, sha256(data), data)
        return output

    return Prepared(ReadEffect((path,)), run)


def render_file(data: bytes, name: str, arguments: ReadFileArguments) -> ToolOutput:
    """Render a file's bytes for the model.

    Raises:
        ToolError: the file is binary, the image is too large, or the offset is past the end of the file.
    """
    if media_type := image_type(data):
        return _image(data, media_type, name)
    if looks_binary(data):
        raise ToolError(
            f"Binary file: {name} ({len(data)} bytes) cannot be shown as text. If you need its content, use a "
            "command made for its format.",
            kind="binary_file",
        )
    if is_notebook(name) and data:
        return _notebook(data, name, arguments)
    text = _text(data, name, arguments)
    return ToolOutput(text, summary=plural(text.count("\n") + 1, "line"))


def image_type(data: bytes) -> str:
    """Return the media type of an image, detected by its first bytes; "" for data that models cannot read."""
    return next((media_type for signature, media_type in IMAGE_SIGNATURES if signature.match(data)), "")


def _image(data: bytes, media_type: str, name: str) -> ToolOutput:
    if len(data) > IMAGE_MAX_BYTES:
        raise ToolError(
            f"Image too large: {name} has {len(data)} bytes, the limit is {IMAGE_MAX_BYTES}. "
            f"Create a smaller copy with a command, and read the copy.",
            kind="too_large",
        )
    return ToolOutput(
        f"Image {name} ({media_type}, {len(data)} bytes).",
        images=(ImagePart(data=data, media_type=media_type),),
    )


def _notebook(data: bytes, name: str, arguments: ReadFileArguments) -> ToolOutput:
    """Render a notebook's cells; offset and limit count lines of the rendered text."""
    rendered = render_cells(data, name)
    lines = rendered.split("\n")
    start = arguments.offset - 1
    if start >= len(lines):
        raise _past_the_end(arguments, name, len(lines))
    part = lines[start : start + arguments.most_lines]
    notes = [_range_note(start, len(part), len(lines), arguments)] if len(part) < len(lines) else []
    text = _UNDECODABLE.sub("\ufffd", "\n".join(part))
    return ToolOutput("\n\n".join([text, *notes]), summary=lines[0])


def _past_the_end(arguments: ReadFileArguments, name: str, total: int) -> ToolError:
    word = arguments.parameter("offset")
    return ToolError(
        f"{word} {arguments.offset} is past the end: {name} has {plural(total, 'line')}. "
        f"Use {'an' if word == 'offset' else 'a'} {word} from 1 to {total}.",
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
        raise _past_the_end(arguments, name, total)
    shown = lines[start : start + arguments.most_lines]
    notes = []
    if len(shown) < total:
        notes.append(_range_note(start, len(shown), total, arguments))
    if not decoded.is_valid:
        notes.append(
            "[The file is not valid UTF-8. Bytes that could not be decoded are shown as \ufffd and will be kept; "
            "edit only lines without them.]"
        )
    if decoded.encoding != "utf-8" and not decoded.bom:
        notes.append(_encoding_note(decoded))
    body = _UNDECODABLE.sub("\ufffd", number_lines(shown, arguments.offset))
    return "\n\n".join([body, *notes])


def _encoding_note(decoded: DecodedText) -> str:
    if decoded.is_guessed:
        return (
            f"[The file is not UTF-8. It is shown as {decoded.encoding}, which is a guess, and it is also "
            "written in this encoding: check that non-ASCII letters are correct.]"
        )
    return f"[The file is {decoded.encoding}, as it declares; changes are written in the same encoding.]"


def _range_note(start: int, count: int, total: int, arguments: ReadFileArguments) -> str:
    end = start + count
    rest = f" Continue with {arguments.parameter('offset')}={end + 1}." if end < total else ""
    return f"[Lines {start + 1}-{end} of {total}.{rest}]"


READ_FILE = Tool(
    name="read_file",
    description=(
        "Read a file. Text is returned with line numbers, as `NUMBER | TEXT`; the number and the bar are not "
        "part of the file. Images (PNG, JPEG, GIF, WebP) are shown as images.\n\n"
        "You see the same text as the user, including unsaved changes in the editor. Without offset and limit, "
        "the first {DEFAULT_LIMIT_LINES} lines are returned; read long files in parts. Use glob to list a folder."
    ),
    category="read",
    arguments=ReadFileArguments,
    prepare=prepare,
    look=Look("read", "Reading", "Read"),
    summarize=lambda arguments: one_line(arguments.file_path),
    touches=touched_file,
    starts_early=True,
)
