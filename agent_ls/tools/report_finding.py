"""report_finding: add a problem in some lines of a file, found by a code review, to the list for the user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from pydantic import AliasChoices, Field, model_validator

from agent_ls.environments.effects import ReadEffect
from agent_ls.text import decode, looks_binary, split_lines
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolError, ToolOutput
from agent_ls.tools.look import Look
from agent_ls.tools.paths import absolute, shown_path, touched_file
from agent_ls.tools.summary import one_line

MAX_MESSAGE_CHARS = 2_000
MAX_FIX_CHARS = 8_000

Severity: TypeAlias = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class ReportedFinding:
    """A finding in lines [start, end), counted from 0, of the file at the absolute `path`.

    `text` is the content of the file that was reviewed. The model writes `message` and `fix`; `fix` may be "".
    """

    session_id: str
    path: str
    start: int
    end: int
    severity: Severity
    message: str
    fix: str
    text: str


class FindingSink(Protocol):
    """Interface for the list of findings that the user sees."""

    def report(self, finding: ReportedFinding) -> bool:
        """Add a finding. Return False if the same finding is already listed.

        Raises:
            ToolError: there are too many findings.
        """
        ...


class ReportFindingArguments(Arguments):
    file_path: str = Field(
        validation_alias=AliasChoices("file_path", "path"),
        description="The file, absolute or relative to the working directory.",
    )
    start_line: int = Field(ge=1, description="The first line concerned, from 1.")
    end_line: int = Field(ge=1, description="The last line concerned, inclusive. As few lines as possible.")
    severity: Severity = Field(
        description="error: the code is wrong; warning: the code fails in some cases; info: worth checking."
    )
    message: str = Field(
        min_length=1,
        max_length=MAX_MESSAGE_CHARS,
        description="The problem, when it occurs, and why. Plain text.",
    )
    suggested_fix: str = Field(
        default="", max_length=MAX_FIX_CHARS, description="The suggested change, in words or code."
    )

    @model_validator(mode="after")
    def _is_in_order(self) -> ReportFindingArguments:
        if self.end_line < self.start_line:
            raise ValueError("end_line is before start_line")
        return self


def report_finding_tool(sink: FindingSink) -> Tool[ReportFindingArguments]:
    """Return the tool. `sink` receives the findings."""

    async def prepare(arguments: ReportFindingArguments, context: ToolContext) -> Prepared:
        path = absolute(arguments.file_path, context.environment)

        async def run() -> ToolOutput:
            data = await context.environment.read_bytes(path)
            name = shown_path(path, context.environment)
            if looks_binary(data):
                raise ToolError(f"{name} is binary and has no lines. Name a text file.", kind="binary_file")
            text = decode(data).text
            count = len(split_lines(text))
            if arguments.end_line > max(count, 1):
                raise ToolError(
                    f"{name} has {count} lines, and end_line is {arguments.end_line}. Read the file again.",
                    kind="validation",
                )
            finding = ReportedFinding(
                context.attribution.session_id,
                path,
                arguments.start_line - 1,
                arguments.end_line,
                arguments.severity,
                arguments.message.strip(),
                arguments.suggested_fix.strip(),
                text,
            )
            place = f"{name}:{arguments.start_line}"
            if not sink.report(finding):
                return ToolOutput(f"This finding at {place} is already listed.")
            return ToolOutput(
                f"The user sees the finding at {place}.", summary=one_line(arguments.message, 80)
            )

        return Prepared(ReadEffect((path,)), run)

    return Tool(
        name="report_finding",
        description=(
            "Report one problem that a review has found, with its lines. The user sees the problem at these "
            "lines in the editor, and can request a fix. Make one call for each problem; do not repeat the "
            "problems in your answer."
        ),
        category="read",
        arguments=ReportFindingArguments,
        prepare=prepare,
        look=Look("other", "Reporting", "Reported"),
        summarize=lambda arguments: one_line(
            f"{arguments.severity} {arguments.file_path}:{arguments.start_line} {arguments.message}"
        ),
        touches=touched_file,
    )
