"""remember: add a note for later sessions to the memory file of the project or of the user, by an ordinary edit."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.effects import NoEffect
from agent_ls.text import decode
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolOutput
from agent_ls.tools.file_commits import read_existing
from agent_ls.tools.look import Look
from agent_ls.tools.paths import absolute
from agent_ls.tools.summary import one_line
from agent_ls.tools.write_file import WriteFileArguments, prepare as prepare_write

MEMORY_FILE = ".agent-ls/memory.md"
MAX_NOTE_CHARS = 500
_HEADING = (
    "# Memory\n\nNotes of the agent for later sessions in {where}. Edit and delete them as you like.\n\n"
)
_DESCRIPTION = (
    f"Add a note to {MEMORY_FILE}, which later sessions of this project read at their start. Use it "
    "only for facts that the user asks you to remember or had to correct, not for facts in the code or its "
    "documents, and never for keys."
)
_FOR_USER = (
    " With scope `user` the note is added to the user's own memory, which sessions of all projects read "
    "at their start."
)


class RememberArguments(Arguments):
    note: str = Field(
        min_length=1,
        max_length=MAX_NOTE_CHARS,
        description="One fact in one or two sentences that are clear without this conversation.",
    )


class ScopedArguments(RememberArguments):
    scope: Literal["project", "user"] = Field(
        default="project",
        description="`user` only if the user asks for all projects, or says it about themselves.",
    )


def remember_tool(user_file: str = "") -> Tool[RememberArguments]:
    """Return the tool. `user_file` is the absolute path of the user's memory file, "" for none."""

    def file_of(arguments: RememberArguments) -> str:
        is_users = isinstance(arguments, ScopedArguments) and arguments.scope == "user"
        return user_file if is_users else MEMORY_FILE

    async def prepare(arguments: RememberArguments, context: ToolContext) -> Prepared:
        path = file_of(arguments)
        row = f"- {' '.join(arguments.note.split())}"
        current = await read_existing(absolute(path, context.environment), context)
        text = None if current is None else decode(current).text
        if text is not None and row in text.splitlines():
            return Prepared(NoEffect(), _report_existing)
        heading = _HEADING.format(where="this project" if path == MEMORY_FILE else "all projects")
        start = heading if not text else "" if text.endswith(("\n", "\r")) else "\n"
        return await prepare_write(
            WriteFileArguments(file_path=path, content=f"{start}{row}\n", append=True), context
        )

    def touches(arguments: RememberArguments, environment: ExecutionEnvironment) -> tuple[str, ...]:
        return (absolute(file_of(arguments), environment),)

    return Tool(
        name=NAME,
        description=_DESCRIPTION + (_FOR_USER if user_file else ""),
        category="write",
        arguments=ScopedArguments if user_file else RememberArguments,
        prepare=prepare,
        look=Look("edit", "Remembering", "Remembered"),
        summarize=lambda arguments: one_line(arguments.note),
        touches=touches,
    )


async def _report_existing() -> ToolOutput:
    return ToolOutput("The memory already has this note.")


NAME = "remember"
REMEMBER = remember_tool()
