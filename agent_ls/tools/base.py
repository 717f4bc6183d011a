"""A tool: its definition, how it prepares an effect, and what it answers.

A call runs in two steps, so that a person can be shown the exact effect before it happens:

    prepared = await tool.prepare(arguments, context)     # looks, computes, changes nothing
    ... approval of prepared.effect ...
    output = await prepared.run()                         # does it

When a person was asked, dispatch prepares once more and compares digests before it runs (the world may have
moved while he thought). Tools raise ToolError, or let an EnvError through; both become error results.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from agent_ls.environments.base import (
    Attribution,
    ExecutionEnvironment,
    FileState,
    OutputSink,
    TerminalWatcher,
)
from agent_ls.environments.effects import Effect
from agent_ls.llm.messages import ImagePart
from agent_ls.llm.requests import Usage

_SURROGATE = re.compile("[\ud800-\udfff]")

ReadFirst: TypeAlias = Literal["overwrite", "edit", "all"]
Category: TypeAlias = Literal["read", "write", "admin"]


class Arguments(BaseModel):
    """Base of every tool's arguments: frozen, unknown names refused; its JSON Schema is what the model sees.

    null for an optional argument is the same as leaving it out: models trained on strict schemas send it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)

    @model_validator(mode="before")
    @classmethod
    def _leave_out_nulls(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        optional = {
            key
            for name, field in cls.model_fields.items()
            if not field.is_required()
            for key in (name, field.alias)
        }
        return {name: value for name, value in values.items() if value is not None or name not in optional}

    @field_validator("*", mode="after")
    @classmethod
    def _is_whole_text(cls, value: Any) -> Any:
        held = (*value, *value.values()) if isinstance(value, dict) else value
        texts = held if isinstance(held, (tuple, list)) else (held,)
        if any(isinstance(text, str) and _SURROGATE.search(text) for text in texts):
            raise ValueError("holds half of a surrogate pair, which no file and no command can take")
        return value


class ToolError(Exception):
    """A tool's failure, in words that a model can act on.

    `kind` is one of 000 appendix B in snake case (`file_not_found`, `edit_conflict`, `shell_exit`,
    `shell_timeout`, `permission_denied`, `validation`, `unknown_tool`) or a tool's own.
    `output` is what there was before it failed.
    """

    def __init__(self, message: str, *, kind: str = "tool_error", output: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.output = output


PlanStatus: TypeAlias = Literal["pending", "active", "done"]


@dataclass(frozen=True, slots=True)
class PlanItem:
    text: str
    status: PlanStatus


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of a task as they are now; at most one is active. `explanation`: why they changed, "" for nothing."""

    explanation: str
    items: tuple[PlanItem, ...]


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a call gave. `text` is whole: truncation for the model is the loop's affair.

    `is_error` marks a result such as a non-zero exit, which is told with its output. `files` are the files
    changed. `exit_code` is set for commands. `summary` is one line for people (E5), "" for the first of `text`.
    `plan` takes the place of the session's plan.
    `process_id` is that of a background process which the call has started. `usage` is what a model was asked on the
    way, which counts as the session's.
    """

    text: str
    is_error: bool = False
    error_kind: str = ""
    images: tuple[ImagePart, ...] = ()
    files: tuple[FileState, ...] = ()
    exit_code: int | None = None
    summary: str = ""
    plan: Plan | None = None
    process_id: str = ""
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class ShellLimits:
    """Command timeouts in milliseconds (000 section 5.4)."""

    default_timeout_ms: int = 10_000
    max_timeout_ms: int = 600_000


class ReadHistory(Protocol):
    """What the model has been shown of each file in this session (X9): absolute path -> sha256.

    The bytes are kept besides, as far as the implementation likes (SEMANTICS 12.2 compares them, and tells the
    model what changed); the digest alone is enough to be safe.
    """

    def shown(self, path: str) -> str | None: ...

    def show(self, path: str, digest: str, content: bytes | None = None) -> None: ...

    def remembered(self, path: str) -> bytes | None:
        """The bytes last shown, None when they are not kept (a resumed session, a large file)."""
        ...


@dataclass(frozen=True, slots=True)
class AgentTask:
    """What a subagent is to do (000 section 7.2).

    `working_dir` "" is its parent's, `model` "" its parent's, `max_turns` (model calls) 0 no limit. `with_history`: it
    begins with what its parent has seen and said so far.
    """

    task: str
    working_dir: str = ""
    model: str = ""
    max_turns: int = 0
    with_history: bool = False


@dataclass(frozen=True, slots=True)
class AgentState:
    """A subagent as it is now. `output` is its last text, or what went wrong; `reason` as in SubagentChanged."""

    id: str
    status: Literal["running", "completed", "failed"]
    reason: str = ""
    output: str = ""
    turns_used: int = 0


class SubagentSpawner(Protocol):
    """SEAM: who starts agents for the model, and knows those that it has started. All of it raises ToolError."""

    async def spawn(self, task: AgentTask, call_id: str) -> AgentState:
        """Returns at once; the agent works beside its parent and ends with its parent's turn at the latest."""
        ...

    def send(self, agent_id: str, message: str) -> AgentState:
        """To one that runs for its next model call; one that has ended begins again with it."""
        ...

    async def wait(self, agent_id: str) -> AgentState:
        """Until it has ended; or until the user steers, then it is still running."""
        ...

    async def close(self, agent_id: str) -> AgentState: ...


class NoSubagents:
    """ADAPTER SubagentSpawner of who may start none."""

    async def spawn(self, task: AgentTask, call_id: str) -> AgentState:
        raise ToolError("No agents can be started here: do the task yourself.", kind="permission_denied")

    def send(self, agent_id: str, message: str) -> AgentState:
        raise self._unknown(agent_id)

    async def wait(self, agent_id: str) -> AgentState:
        raise self._unknown(agent_id)

    async def close(self, agent_id: str) -> AgentState:
        raise self._unknown(agent_id)

    def _unknown(self, agent_id: str) -> ToolError:
        return ToolError(f"No agent {agent_id!r} was started here.", kind="unknown_agent")


@dataclass(frozen=True, slots=True)
class Question:
    """`choices` may be empty: then any words answer it, as they do beside choices. `purpose` limit: of the loop."""

    text: str
    choices: tuple[str, ...] = ()
    multiple: bool = False
    purpose: Literal["question", "limit"] = "question"


@dataclass(frozen=True, slots=True)
class Reply:
    """`declined`: nobody answered, or would not."""

    answers: tuple[str, ...]
    declined: bool = False


class Questions(Protocol):
    """SEAM: who asks the user."""

    async def ask(self, question: Question, call_id: str) -> Reply:
        """May wait for as long as a person takes; cancellation is the interrupt.

        Raises:
            ToolError: nobody can be asked.
        """
        ...


class NoQuestions:
    """ADAPTER Questions of who has nobody to ask."""

    async def ask(self, question: Question, call_id: str) -> Reply:
        raise ToolError(
            "Nobody can be asked here: decide, and say what you took for granted.", kind="unsupported"
        )


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool is given. It has no other way to the world.

    `refuse_ambiguous`: a change that fits loosely at several places is refused, where else the first is taken.
    `read_first`: which changes of a file demand that the model has read it. Those that overwrite it as a whole always
    do; `edit`: and edit_file; `all`: and patches, though what they quote proves the reading.
    `terminal` is told of the terminal that a command of this call runs in.
    """

    environment: ExecutionEnvironment
    attribution: Attribution
    on_output: OutputSink
    reads: ReadHistory
    shell_limits: ShellLimits = field(default_factory=ShellLimits)
    refuse_ambiguous: bool = False
    subagents: SubagentSpawner = field(default_factory=NoSubagents)
    questions: Questions = field(default_factory=NoQuestions)
    read_first: ReadFirst = "edit"
    terminal: TerminalWatcher | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call that is ready. `run` may be awaited once; it raises ToolError or EnvError."""

    effect: Effect
    run: Callable[[], Awaitable[ToolOutput]]


A = TypeVar("A", bound=Arguments)
Prepare: TypeAlias = Callable[[A, ToolContext], Awaitable[Prepared]]


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    """A tool as registered.

    `summarize` gives the one line that people see of a call (command, path, pattern; E5), at most 100
    characters. `category`: read has no effect, write changes files, admin runs commands. `terminal` ends the
    loop. `arguments` is the frozen model that the JSON of a call must fit. `known_as` is our name of a tool that goes
    by its model family's own (P7), "" where `name` is that. `touches` gives the files and folders (absolute) that a
    call with these arguments is about, as far as they alone tell: calls whose paths lie apart need not wait for each
    other (L10). Without it a call is about everything. `starts_early`: it only looks, at this machine and not further,
    so that it may run while the model still speaks (L11).
    """

    name: str
    description: str
    category: Category
    arguments: type[A]
    prepare: Prepare[A]
    summarize: Callable[[A], str]
    terminal: bool = False
    known_as: str = ""
    touches: Callable[[A, ExecutionEnvironment], Sequence[str]] | None = None
    starts_early: bool = False

    @property
    def kind(self) -> str:
        """Our name of it."""
        return self.known_as or self.name
