"""Parameters and results of the requests `_agent-ls/*` and `_session/steering`: one class each, checked on arrival.

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
    """Parameters of a request. `method` is its name on the wire, `result` the class of its result."""

    method: ClassVar[str]
    result: ClassVar[type[AcpStruct]]


class SteeringResult(AcpStruct):
    outcome: Literal["injected", "startedNewTurn", "promptRequired", "failed"]


class Steering(ExtensionParams):
    """Give the running turn a message. `_meta.steering.idleBehavior` promptRequired: begin no turn where none runs."""

    method: ClassVar[str] = "_session/steering"
    result: ClassVar[type[AcpStruct]] = SteeringResult
    session_id: str
    prompt: list[dict[str, Any]]
    meta: dict[str, Any] | None = Field(None, alias="_meta")


class AcpHunk(AcpStruct):
    """A change that waits for a decision. Lines count from 0, `end` is exclusive."""

    id: str
    path: str
    state: str
    start: int
    end: int
    base_lines: tuple[str, ...]
    lines: tuple[str, ...]
    turn_id: str
    call_id: str


class AcpHunksResult(AcpStruct):
    hunks: tuple[AcpHunk, ...]


class AcpHunks(ExtensionParams):
    """The changes of a session that wait for a decision: all, or those of one file or turn."""

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
    """A decision about changes of a session: those named by `hunkIds`, else those of a file, a turn, or all."""

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
    """The messages that wait for the end of the turn, after at most one change of them."""

    method: ClassVar[str] = "_agent-ls/queue"
    result: ClassVar[type[AcpStruct]] = AcpQueueResult
    session_id: str
    remove: str | None = None
    start_now: str | None = None


class Nothing(AcpStruct):
    pass


class AcpUnsteer(ExtensionParams):
    """Take back a message that was given to the running turn, while the model has not read it. "": the last one."""

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
    """The permissions that the user granted and that hold in a session, after `remove` was taken back."""

    method: ClassVar[str] = "_agent-ls/rules"
    result: ClassVar[type[AcpStruct]] = AcpRulesResult
    session_id: str
    remove: str | None = None


class AcpTakeOver(ExtensionParams):
    """Make a session of another process this process's own; load it afterwards. `force`: also of an owner that does
    not answer. Ask the user first."""

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
    """The part of `agent-ls protocol --schema` about these requests."""
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
