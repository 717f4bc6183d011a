"""remember: add a note for later sessions to the project's memory file, as an edit like any other."""

from __future__ import annotations

from pydantic import Field

from agent_ls.environments.effects import NoEffect
from agent_ls.text import decode
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolOutput
from agent_ls.tools.file_commits import read_existing
from agent_ls.tools.paths import absolute
from agent_ls.tools.summary import one_line
from agent_ls.tools.write_file import WriteFileArguments, prepare as prepare_write

MEMORY_FILE = ".agent-ls/memory.md"
MAX_NOTE_CHARS = 500
_HEADING = (
    "# Memory\n\nNotes of the agent for later sessions in this project. Edit and delete them as you like.\n\n"
)


class RememberArguments(Arguments):
    note: str = Field(
        min_length=1,
        max_length=MAX_NOTE_CHARS,
        description="One fact in one or two sentences that are understood without this conversation.",
    )


async def prepare(arguments: RememberArguments, context: ToolContext) -> Prepared:
    row = f"- {' '.join(arguments.note.split())}"
    current = await read_existing(absolute(MEMORY_FILE, context.environment), context)
    text = None if current is None else decode(current).text
    if text is not None and row in text.splitlines():
        return Prepared(NoEffect(), _already_there)
    start = _HEADING if not text else "" if text.endswith(("\n", "\r")) else "\n"
    return await prepare_write(
        WriteFileArguments(file_path=MEMORY_FILE, content=f"{start}{row}\n", append=True), context
    )


async def _already_there() -> ToolOutput:
    return ToolOutput(f"{MEMORY_FILE} has this note already.")


REMEMBER = Tool(
    name="remember",
    description=(
        f"Add a note to {MEMORY_FILE}, which later sessions of this project begin with. Only for what the user asks "
        "you to keep, or what they had to correct; not for what the code or its documents say, and never for keys."
    ),
    category="write",
    arguments=RememberArguments,
    prepare=prepare,
    summarize=lambda arguments: one_line(arguments.note),
    touches=lambda arguments, environment: (absolute(MEMORY_FILE, environment),),
)
