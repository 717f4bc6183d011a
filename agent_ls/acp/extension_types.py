"""Parameters and results of the requests `_agent-ls/*` and `_session/steering`, each with a pydantic class.

Names and meanings are those of the `agent/*` messages (docs/protocol/requests.md), but files are absolute paths.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from pydantic.alias_generators import to_camel

REF = "#/acp/$defs/{model}"


class AcpStruct(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True, defer_build=True
    )


class ExtensionParams(AcpStruct):
    """Parameters of a request. `method` is the name of the request on the wire, `result` the class of its
    result.
    """

    method: ClassVar[str]
    result: ClassVar[type[AcpStruct]]


class SteeringResult(AcpStruct):
    outcome: Literal["injected", "startedNewTurn", "promptRequired", "failed"]


class Steering(ExtensionParams):
    """Send a message into the running turn. If no turn is running, the message starts a turn.

    If `_meta.steering.idleBehavior` is `promptRequired`, no turn is started, and the outcome is
    `promptRequired`.
    """

    method: ClassVar[str] = "_session/steering"
    result: ClassVar[type[AcpStruct]] = SteeringResult
    session_id: str
    prompt: list[dict[str, Any]]
    meta: dict[str, Any] | None = Field(None, alias="_meta")


class AcpHunk(AcpStruct):
    """A hunk that the user has neither kept nor undone yet. Line numbers count from 0, `end` is exclusive.

    `reason` says why the agent made it, in one line: the model's words at the call, else the user's message and the
    step. "" if not known, and in the result of a review. `looked`: the user has looked at exactly this text.
    """

    id: str
    path: str
    state: str
    start: int
    end: int
    base_lines: tuple[str, ...]
    lines: tuple[str, ...]
    turn_id: str
    call_id: str
    reason: str = ""
    looked: bool = False


class AcpHunksResult(AcpStruct):
    hunks: tuple[AcpHunk, ...]


class AcpHunks(ExtensionParams):
    """Return the undecided hunks of a session: all, or those of one file or turn."""

    method: ClassVar[str] = "_agent-ls/hunks"
    result: ClassVar[type[AcpStruct]] = AcpHunksResult
    session_id: str
    path: str | None = None
    turn_id: str | None = None


class LeftAlone(AcpStruct):
    id: str
    reason: str


class AcpReviewResult(AcpStruct):
    changed: tuple[AcpHunk, ...]
    refused: tuple[LeftAlone, ...] = ()


class AcpReview(ExtensionParams):
    """Keep or undo hunks of a session. `path` and `turnId` select the hunks of a file and of a turn.

    `hunkIds` selects some of the hunks that match; None selects all.
    """

    method: ClassVar[str] = "_agent-ls/review"
    result: ClassVar[type[AcpStruct]] = AcpReviewResult
    session_id: str
    verdict: Literal["keep", "undo"]
    hunk_ids: tuple[str, ...] | None = None
    path: str | None = None
    turn_id: str | None = None
    comment: str = ""
    confirm: bool = False


class QueuedMessage(AcpStruct):
    queued_id: str
    text: str


class AcpQueueResult(AcpStruct):
    queue: tuple[QueuedMessage, ...]


class AcpQueue(ExtensionParams):
    """Return the queued messages, which wait for the end of the turn.

    Before the messages are returned, `remove` removes one of them, or `startNow` starts one; a request sets at
    most one.
    """

    method: ClassVar[str] = "_agent-ls/queue"
    result: ClassVar[type[AcpStruct]] = AcpQueueResult
    session_id: str
    remove: str | None = None
    start_now: str | None = None


class Nothing(AcpStruct):
    pass


class AcpUnsteer(ExtensionParams):
    """Remove a steering message that the model has not read yet. `steerId` "" removes the latest one."""

    method: ClassVar[str] = "_agent-ls/unsteer"
    result: ClassVar[type[AcpStruct]] = Nothing
    session_id: str
    steer_id: str = ""


class AcpRule(AcpStruct):
    id: str
    label: str
    scope: Literal["turn", "session", "project", "user"]
    hits: int


class AcpRulesResult(AcpStruct):
    rules: tuple[AcpRule, ...]


class AcpRules(ExtensionParams):
    """Return the permission rules that apply to a session. `remove` is the id of a rule to remove first."""

    method: ClassVar[str] = "_agent-ls/rules"
    result: ClassVar[type[AcpStruct]] = AcpRulesResult
    session_id: str
    remove: str | None = None


class AcpTakeOver(ExtensionParams):
    """Take over a session that another process owns. The client loads the session afterwards.

    `force`: take the session over even if its owner does not answer. The client must ask the user first.
    """

    method: ClassVar[str] = "_agent-ls/takeOver"
    result: ClassVar[type[AcpStruct]] = Nothing
    session_id: str
    force: bool = False


ALL: tuple[type[ExtensionParams], ...] = (
    Steering,
    AcpHunks,
    AcpReview,
    AcpQueue,
    AcpUnsteer,
    AcpRules,
    AcpTakeOver,
)


def extension_schema() -> dict[str, Any]:
    """Return the part of `agent-ls protocol --schema` that describes these requests."""
    kinds: list[tuple[Any, Literal["validation"], TypeAdapter[Any]]] = []
    for params in ALL:
        kinds += [(params.method, "validation", TypeAdapter(params))]
        kinds += [(f"{params.method} result", "validation", TypeAdapter(params.result))]
    refs, definitions = TypeAdapter.json_schemas(kinds, by_alias=True, ref_template=REF)
    methods = {
        params.method: {
            "params": refs[params.method, "validation"],
            "result": refs[f"{params.method} result", "validation"],
        }
        for params in ALL
    }
    return {"methods": methods, "$defs": definitions["$defs"]}
