"""Tools of gemini-cli that differ from our tools not only in their names."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pydantic import Field, model_validator

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext
from agent_ls.tools.grep import GrepArguments
from agent_ls.tools.look import Look
from agent_ls.tools.paths import absolute
from agent_ls.tools.summary import one_line
from agent_ls.tools.write_file import WriteFileArguments, prepare as prepare_write

MEMORY_FILE = "GEMINI.md"


class GeminiGrepArguments(GrepArguments):
    exclude_pattern: str = Field(
        default="", description="Leave out files that match this pattern, for example `*.min.js`."
    )
    names_only: bool = Field(default=False, description="Return only the paths of the files.")
    case_sensitive: bool = Field(default=True, description="False ignores case.")

    @model_validator(mode="before")
    @classmethod
    def _as_ours(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        ours = dict(values)
        if values.get("names_only") is True:
            ours["output_mode"] = "files_with_matches"
        if values.get("case_sensitive") is False:
            ours["case_insensitive"] = True
        if isinstance(excluded := values.get("exclude_pattern"), str) and excluded.strip():
            included = next((key for key in ("include", "glob_filter") if ours.get(key)), "glob_filter")
            ours[included] = f"{ours.get(included) or ''} !{excluded.strip().removeprefix('!')}".strip()
            ours["exclude_pattern"] = ""
        return ours


def build_gemini_grep(tool: Tool[Any]) -> Tool[Any]:
    return replace(tool, arguments=GeminiGrepArguments)


class MemoryArguments(Arguments):
    fact: str = Field(
        min_length=1,
        max_length=1_000,
        description="One fact to remember in later sessions, as a sentence that is clear without context.",
    )


async def _remember(arguments: MemoryArguments, context: ToolContext) -> Prepared:
    """Prepare an edit that appends a line to the project's GEMINI.md. The user reviews it like any other edit."""
    line = f"\n- {one_line(arguments.fact, 1_000)}\n"
    written = WriteFileArguments(file_path=MEMORY_FILE, content=line, append=True)
    return await prepare_write(written, context)


def _memory(arguments: MemoryArguments, environment: ExecutionEnvironment) -> tuple[str, ...]:
    return (absolute(MEMORY_FILE, environment),)


save_memory: Tool[Any] = Tool(
    name="save_memory",
    description=f"Add a fact for later sessions at the end of the project's {MEMORY_FILE}.",
    category="write",
    arguments=MemoryArguments,
    prepare=_remember,
    look=Look("edit", "Remembering", "Remembered"),
    summarize=lambda arguments: one_line(arguments.fact),
    touches=_memory,
)
