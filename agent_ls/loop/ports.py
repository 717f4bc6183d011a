"""The objects that the agents of one session share: interfaces to services outside the loop, and common
state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.loop.answer_limit import AnswerLimit
from agent_ls.loop.budget import InputBudget, Spending
from agent_ls.loop.calls.approval import Approver
from agent_ls.loop.calls.hooks import NO_HOOKS, Hooks
from agent_ls.loop.calls.log_guard import LogGuard
from agent_ls.loop.calls.redaction import Known, none_known
from agent_ls.loop.calls.terminals import SessionTerminals
from agent_ls.loop.ids import SessionId
from agent_ls.loop.model.call_ids import CallIds
from agent_ls.loop.model.other_models import NO_OTHER_MODELS, OtherModels
from agent_ls.loop.seams import (
    NO_NESTED_DOCUMENTS,
    BasePrompt,
    Clock,
    EditorContext,
    ModelClient,
    NestedDocuments,
    NoEditorContext,
    NoReviews,
    NoticeBoard,
    PromptSource,
    Recorder,
    Reviews,
)
from agent_ls.loop.turn_facts import JudgeCheck, no_checks
from agent_ls.tools.base import NoQuestions, QuestionAsker


@dataclass(frozen=True, slots=True)
class Ports:
    """The interfaces that a session uses to reach services outside the loop.

    The session replaces `questions` with its own implementation. `secrets` returns the secret keys to redact.
    `ended` returns and removes messages about background processes that have ended since the last call.
    `pinned` returns texts that a compaction must keep. `judge_check` says which commands check the project.
    `answer_limit` is how long a question to the user waits.
    """

    client: ModelClient
    environment: ExecutionEnvironment
    approver: Approver
    recorder: Recorder
    clock: Clock
    notices: NoticeBoard
    prompts: PromptSource = field(default_factory=BasePrompt)
    editor_context: EditorContext = field(default_factory=NoEditorContext)
    reviews: Reviews = field(default_factory=NoReviews)
    questions: QuestionAsker = field(default_factory=NoQuestions)
    secrets: Known = none_known
    ended: Callable[[], Sequence[str]] = tuple
    pinned: Callable[[], Sequence[str]] = tuple
    hooks: Hooks = NO_HOOKS
    documents: NestedDocuments = NO_NESTED_DOCUMENTS
    models: OtherModels = NO_OTHER_MODELS
    judge_check: JudgeCheck = no_checks
    answer_limit: AnswerLimit = field(default_factory=AnswerLimit)


@dataclass(frozen=True, slots=True)
class Shared:
    """Objects that all agents of one session share."""

    session_id: SessionId
    call_ids: CallIds
    spending: Spending
    budget: InputBudget
    terminals: SessionTerminals
    log_guard: LogGuard
