"""create_file and append_file: two tools that replace write_file, and never replace existing text."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolError
from agent_ls.tools.look import Look
from agent_ls.tools.not_found import file_not_found
from agent_ls.tools.paths import absolute, shown_path, touched_file
from agent_ls.tools.summary import one_line
from agent_ls.tools.write_file import WriteFileArguments, prepare


class NewTextArguments(Arguments):
    file_path: str = Field(description="Path of the file, absolute or relative to the working directory.")
    content: str = Field(description="The text to write.")


async def prepare_create(arguments: NewTextArguments, context: ToolContext) -> Prepared:
    path = absolute(arguments.file_path, context.environment)
    if await context.environment.file_exists(path):
        name = shown_path(path, context.environment)
        raise ToolError(f"{name} exists already. Edit this file, or give another path.", kind="edit_conflict")
    return await prepare(
        WriteFileArguments(file_path=arguments.file_path, content=arguments.content), context
    )


async def prepare_append(arguments: NewTextArguments, context: ToolContext) -> Prepared:
    path = absolute(arguments.file_path, context.environment)
    if not await context.environment.file_exists(path):
        raise await file_not_found(path, context.environment)
    wanted = WriteFileArguments(file_path=arguments.file_path, content=arguments.content, append=True)
    return await prepare(wanted, context)


CREATE_FILE = Tool(
    name="create_file",
    description="Create a file that does not exist yet; missing folders are created.",
    category="write",
    arguments=NewTextArguments,
    prepare=prepare_create,
    look=Look("edit", "Creating", "Created"),
    summarize=lambda arguments: one_line(arguments.file_path),
    touches=touched_file,
)

APPEND_FILE = replace(
    CREATE_FILE,
    name="append_file",
    description="Add text at the end of an existing file, exactly as given.",
    prepare=prepare_append,
    look=Look("edit", "Appending to", "Appended to"),
)
