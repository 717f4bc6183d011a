"""write_file: write a whole file, or append text to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from pydantic import Field

from agent_ls.environments.base import FileWrite
from agent_ls.patch.errors import ENCODING_ADVICE
from agent_ls.text import (
    DecodedText,
    NotEncodableError,
    decode,
    encode_changed,
    line_ending,
    looks_binary,
    split_lines,
)
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolError, ToolOutput
from agent_ls.tools.file_commits import (
    commit_files,
    concurrent_edit_notes,
    describe_decision,
    read_to_change,
    whole_file_change,
    write_effect,
)
from agent_ls.tools.freshness import require_current
from agent_ls.tools.look import Look
from agent_ls.tools.notebooks import refuse_notebook
from agent_ls.tools.paths import absolute, shown_path, touched_file
from agent_ls.tools.summary import one_line


class WriteFileArguments(Arguments):
    file_path: str = Field(description="Path of the file, absolute or relative to the working directory.")
    content: str = Field(description="The whole text of the file; with append, the text to add at its end.")
    append: bool = Field(
        default=False, description="Add the text at the end of the file and keep its current content."
    )


async def prepare(arguments: WriteFileArguments, context: ToolContext) -> Prepared:
    path = absolute(arguments.file_path, context.environment)
    name = shown_path(path, context.environment)
    current = await read_to_change(path, context)
    refuse_notebook(path, name, current)
    if current is not None and not arguments.append:
        require_current(path, current, context)
    content = _encode_like(arguments, current)
    if content == current:
        return Prepared(write_effect((), context.environment), _nothing_to_do(name))
    change = whole_file_change(name, current, content)
    write = FileWrite(path, content, current)

    async def run() -> ToolOutput:
        states = await commit_files((write,), context)
        if decided := describe_decision(states, context):
            return decided
        notes = concurrent_edit_notes((write,), states, context)
        return ToolOutput(
            "\n".join([_render_result(arguments, name, current, content), *notes]), files=states
        )

    return Prepared(write_effect((change,), context.environment), run)


def _encode_like(arguments: WriteFileArguments, current: bytes | None) -> bytes:
    """Encode the content with the encoding, BOM and line endings of the existing file. Models do not see these."""
    if not current or looks_binary(current):
        new = (current or b"" if arguments.append else b"") + arguments.content.encode("utf-8")
        return new if looks_binary(new) else _encode(DecodedText(""), arguments.content)
    old = decode(current)
    text = arguments.content
    if _is_crlf(old.text) and "\r" not in text:
        text = text.replace("\n", "\r\n")
    return _encode(old, old.text + text if arguments.append else text)


def _encode(form: DecodedText, text: str) -> bytes:
    try:
        return encode_changed(form, text)
    except NotEncodableError as error:
        raise ToolError(f"Nothing was written: {error}.\n{ENCODING_ADVICE}", kind="validation") from None


def _is_crlf(text: str) -> bool:
    """Return whether all line endings are CRLF; False for a text without line endings."""
    return {line_ending(line) for line in split_lines(text)} - {""} == {"\r\n"}


def _nothing_to_do(name: str) -> Callable[[], Awaitable[ToolOutput]]:
    async def run() -> ToolOutput:
        return ToolOutput(f"{name} already has exactly this content. Nothing was written.")

    return run


def _render_result(arguments: WriteFileArguments, name: str, current: bytes | None, content: bytes) -> str:
    if current is None:
        return f"Created {name}: wrote {len(content)} bytes."
    if arguments.append:
        return f"Appended {len(content) - len(current)} bytes to {name}, which now has {len(content)}."
    return f"Wrote {len(content)} bytes to {name}, which replace the former {len(current)} bytes."


WRITE_FILE = Tool(
    name="write_file",
    description=(
        "Write a whole file; missing folders are created.\n\n"
        "Use it for new files and for complete rewrites; otherwise edit the file. An existing file is replaced "
        "only if you have read its current content. With append, the text is added at the end, exactly as given."
    ),
    category="write",
    arguments=WriteFileArguments,
    prepare=prepare,
    look=Look("edit", "Writing", "Wrote"),
    summarize=lambda arguments: one_line(arguments.file_path),
    touches=touched_file,
)
