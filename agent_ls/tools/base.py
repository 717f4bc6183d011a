"""The interface of tools: definition, arguments, preparation of an effect, and output.

A call runs in two steps, so that the exact effect can be displayed to the user before it happens:

    prepared = await tool.prepare(arguments, context)     # reads and computes, changes nothing
    ... approval of prepared.effect ...
    output = await prepared.run()                         # makes the change

After an approval, the dispatcher prepares the call again and compares the digests of both effects, because files may
have changed while the user decided. Tools raise ToolError, and do not catch EnvError. Both become error results.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeAlias, TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, field_validator, model_validator
from pydantic.fields import FieldInfo

from agent_ls.environments.base import (
    NOTHING_DROPPED,
    Attribution,
    DroppedOutput,
    ExecutionEnvironment,
    FileState,
    OutputSink,
    TerminalWatcher,
)
from agent_ls.environments.effects import Effect
from agent_ls.llm.messages import ImagePart, JsonObject
from agent_ls.llm.requests import FreeText, Usage
from agent_ls.patterns import regex
from agent_ls.tools.look import UNKNOWN, Look

_SURROGATE = regex("[\ud800-\udfff]")

ReadFirst: TypeAlias = Literal["overwrite", "edit", "all"]
Category: TypeAlias = Literal["read", "write", "admin"]


class Arguments(BaseModel):
    """Base of all tool arguments: frozen, unknown names are refused. Its JSON Schema is sent to the model.

    null for an optional argument means that it is absent: models trained on strict schemas send null.
    `derived_key` is the key in schemas.json for the schema of a class that is created at run time; "" for other
    classes.
    """

    # Validators are built when a tool is first called, because a session calls only a few of the tools.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=False, defer_build=True)
    derived_key: ClassVar[str] = ""

    @model_validator(mode="before")
    @classmethod
    def _leave_out_nulls(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        optional = {
            key
            for name, field in cls.model_fields.items()
            if not field.is_required()
            for key in _names_of(name, field)
        }
        return {name: value for name, value in values.items() if value is not None or name not in optional}

    @classmethod
    def parameter(cls, name: str) -> str:
        """Return the name under which the model knows the argument `name`."""
        return _names_of(name, cls.model_fields[name])[0]

    @field_validator("*", mode="after")
    @classmethod
    def _is_whole_text(cls, value: Any) -> Any:
        held = (*value, *value.values()) if isinstance(value, dict) else value
        texts = held if isinstance(held, (tuple, list)) else (held,)
        if any(isinstance(text, str) and _SURROGATE.search(text) for text in texts):
            raise ValueError("contains a lone surrogate, which is not possible in files and commands")
        return value


def _names_of(name: str, field: FieldInfo) -> Sequence[str]:
    """Return all accepted names of an argument. The first one is the name in the schema."""
    match field.validation_alias:
        case AliasChoices(choices=choices):
            return [choice for choice in choices if isinstance(choice, str)]
        case str() as alias:
            return [alias]
        case _:
            return [name]


class ToolError(Exception):
    """A tool's failure, with a message that tells the model what to do.

    `kind` is `file_not_found`, `edit_conflict`, `shell_exit`, `shell_timeout`, `permission_denied`,
    `validation`, `unknown_tool` or a tool's own kind. `output` is the output before the failure.
    """

    def __init__(self, message: str, *, kind: str = "tool_error", output: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.output = output


PlanStatus: TypeAlias = Literal["pending", "active", "done"]


@dataclass(frozen=True, slots=True)
class PlanStep:
    text: str
    status: PlanStatus


@dataclass(frozen=True, slots=True)
class Plan:
    """The model's plan for a task. At most one step is active.

    `explanation` is the reason for a change of the steps, "" for none.
    """

    explanation: str
    items: tuple[PlanStep, ...]


@dataclass(frozen=True, slots=True)
class ProcessChange:
    """A background process that a call started or ended, by its id in the environment."""

    change: Literal["started", "ended"]
    process_id: str


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The result of a call. `text` is complete; the agent loop truncates it for the model.

    `is_error` marks a failure that has an output, such as a non-zero exit code. `files` are the changed files.
    `exit_code` is set for commands. `summary` is one line for display; "" means the first line of `text`. `plan`
    replaces the session's plan. `process_id` is the background process that the call started. `usage` is the model
    usage of the call, which is added to the session's usage. `processes` are the background processes that the call
    started or ended. `dropped` is the part of a command's output that is not in `text`, because it was too long.
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
    processes: tuple[ProcessChange, ...] = ()
    dropped: DroppedOutput = NOTHING_DROPPED


@dataclass(frozen=True, slots=True)
class ShellLimits:
    """Command timeouts in milliseconds."""

    default_timeout_ms: int = 10_000
    max_timeout_ms: int = 600_000


class ReadHistory(Protocol):
    """The files that the model has read in this session: absolute path -> sha256 digest.

    The digest detects a change. Some contents are stored too, to report to the model what changed.
    """

    def digest_of(self, path: str) -> str | None: ...

    def record(self, path: str, digest: str, content: bytes | None = None) -> None: ...

    def content_of(self, path: str) -> bytes | None:
        """Return the content that was last read, None if it is not stored (a resumed session, a large file)."""
        ...


@dataclass(frozen=True, slots=True)
class AgentTask:
    """The task of a subagent.

    `working_dir` "" and `model` "" mean the parent's value. `max_turns` limits the subagent's model calls; 0 sets no
    limit. `with_history`: the subagent starts with a copy of the parent's conversation. `kind` is the name of a kind
    of subagent that the user has defined in a file; `instructions` is the text of that file. `keeps_tool` returns
    whether the subagent has a tool of the parent; None: it has all tools.
    """

    task: str
    working_dir: str = ""
    model: str = ""
    max_turns: int = 0
    with_history: bool = False
    kind: str = ""
    instructions: str = ""
    keeps_tool: Callable[[Tool[Any]], bool] | None = None


@dataclass(frozen=True, slots=True)
class AgentState:
    """The current state of a subagent. `output` is the subagent's last text or its error.

    `reason` has the same values as SubagentChanged.reason.
    """

    id: str
    status: Literal["running", "completed", "failed"]
    reason: str = ""
    output: str = ""
    turns_used: int = 0


def no_report(state: AgentState) -> str:
    """Return what the parent reads in place of the report of a subagent that has written none."""
    if state.status != "completed":
        return "(it wrote nothing)"
    return "(It ended without a report. If you need one, send it a message that asks for it.)"


class SubagentSpawner(Protocol):
    """Interface for starting and controlling subagents. All methods raise ToolError."""

    async def spawn(self, task: AgentTask, call_id: str) -> AgentState:
        """Start an agent and return at once. The agent runs in parallel, at most until its parent's turn ends."""
        ...

    def send(self, agent_id: str, message: str) -> AgentState:
        """Send a message to an agent. A running agent gets the message before its next model call.

        An agent that has ended starts again with the message.
        """
        ...

    async def wait(self, agent_id: str) -> AgentState:
        """Wait until the agent has ended, or until the user sends a steering message while the agent still runs."""
        ...

    async def close(self, agent_id: str) -> AgentState: ...


class NoSubagents:
    """A SubagentSpawner that refuses to start agents."""

    async def spawn(self, task: AgentTask, call_id: str) -> AgentState:
        raise ToolError(
            "Agents cannot be started in this session: do the task yourself.", kind="permission_denied"
        )

    def send(self, agent_id: str, message: str) -> AgentState:
        raise self._unknown(agent_id)

    async def wait(self, agent_id: str) -> AgentState:
        raise self._unknown(agent_id)

    async def close(self, agent_id: str) -> AgentState:
        raise self._unknown(agent_id)

    def _unknown(self, agent_id: str) -> ToolError:
        return ToolError(f"No agent {agent_id!r} was started in this session.", kind="unknown_agent")


@dataclass(frozen=True, slots=True)
class Question:
    """A question with `choices`. The user may give any other answer too.

    `purpose` "limit": the question is whether to continue at a limit, or without a log.
    """

    text: str
    choices: tuple[str, ...] = ()
    multiple: bool = False
    purpose: Literal["question", "limit"] = "question"


@dataclass(frozen=True, slots=True)
class QuestionReply:
    """The user's answers to a question. `declined`: the user did not answer. `by` is "headless" if there is no
    user.
    """

    answers: tuple[str, ...]
    declined: bool = False
    by: str = ""


class QuestionAsker(Protocol):
    """Interface for asking the user."""

    async def ask(self, question: Question, call_id: str) -> QuestionReply:
        """Ask the user, and wait for the answer without a time limit. An interrupt cancels this call.

        Raises:
            ToolError: no user can be asked.
        """
        ...


class NoQuestions:
    """A QuestionAsker for sessions without a user."""

    async def ask(self, question: Question, call_id: str) -> QuestionReply:
        raise ToolError(
            "There is no user to ask in this session: decide yourself, and state your assumption.",
            kind="unsupported",
        )


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The objects that a tool gets. A tool accesses files, commands and the user only through these objects.

    `refuse_ambiguous`: refuse a change that matches loosely at several positions, instead of using the first
    position. `read_first` says which changes require that the model has read the file. Overwriting a whole file always
    requires it. `edit` requires it for edit_file too. `all` requires it for patches too, although patches quote
    lines of the file. `terminal` is notified of the terminal in which a command of this call runs.
    """

    environment: ExecutionEnvironment
    attribution: Attribution
    on_output: OutputSink
    reads: ReadHistory
    shell_limits: ShellLimits = field(default_factory=ShellLimits)
    refuse_ambiguous: bool = False
    subagents: SubagentSpawner = field(default_factory=NoSubagents)
    questions: QuestionAsker = field(default_factory=NoQuestions)
    read_first: ReadFirst = "edit"
    terminal: TerminalWatcher | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A prepared call. `run` may be awaited once; it raises ToolError or EnvError."""

    effect: Effect
    run: Callable[[], Awaitable[ToolOutput]]


A = TypeVar("A", bound=Arguments)
Prepare: TypeAlias = Callable[[A, ToolContext], Awaitable[Prepared]]


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    """A tool as registered.

    `summarize` returns one line for display (command, path, pattern), at most 100 characters. `category`:
    `read` has no effect, `write` changes files, `admin` runs commands. `terminal`: a successful call ends the
    turn. `arguments` is the pydantic model of the call's JSON. If a model family knows the tool under another
    name, `name` is that name and `known_as` is the name in agent-ls; otherwise `known_as` is "". `touches`
    returns the absolute paths of the files and folders that a call concerns. Calls with unrelated paths run
    in parallel; without `touches`, a call is related to every path. `starts_early`: the tool only reads on
    this machine, so it may run while the model is still writing its answer. `schema` is sent to the model
    instead of the schema of `arguments`, for a tool that another program defines. `look` says how clients show calls.
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
    free_text: FreeText | None = None
    schema: JsonObject | None = None
    look: Look = UNKNOWN

    @property
    def kind(self) -> str:
        """The name of the tool in agent-ls, even if the model knows the tool under another name."""
        return self.known_as or self.name
