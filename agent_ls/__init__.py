"""agent-ls: a coding agent inside a language server (LSP).

The package is also a library (docs/library.md): `open_session` opens a session, and `tool` turns a function into a
tool. Each name is imported from its module when it is first used, so that importing the package takes almost no time.
"""

from __future__ import annotations

from importlib import import_module

from agent_ls._version import __version__ as __version__

TYPE_CHECKING = False  # not imported from `typing`, because that import would delay the start

if TYPE_CHECKING:
    from agent_ls.environments.base import ExecutionEnvironment as ExecutionEnvironment
    from agent_ls.environments.basic import BasicEnvironment as BasicEnvironment
    from agent_ls.environments.local import LocalEnvironment as LocalEnvironment
    from agent_ls.environments.memory import MemoryEnvironment as MemoryEnvironment
    from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment as ForwardingEnvironment
    from agent_ls.environments.wrappers.logging import LoggingEnvironment as LoggingEnvironment
    from agent_ls.environments.wrappers.read_only import ReadOnlyEnvironment as ReadOnlyEnvironment
    from agent_ls.library.blocking import (
        iterate_sync as iterate_sync,
        run_sync as run_sync,
    )
    from agent_ls.library.blocking_session import (
        BlockingSession as BlockingSession,
        open_session_sync as open_session_sync,
    )
    from agent_ls.library.errors import TurnFailedError as TurnFailedError
    from agent_ls.library.opening import SessionOpening as SessionOpening, open_session as open_session
    from agent_ls.library.replies import (
        Answerer as Answerer,
        Approver as Approver,
        ChangeReviewer as ChangeReviewer,
        LimitExtender as LimitExtender,
    )
    from agent_ls.library.scripted_model import (
        ScriptedAnswer as ScriptedAnswer,
        ScriptedModel as ScriptedModel,
    )
    from agent_ls.library.session import AgentSession as AgentSession
    from agent_ls.library.stored import (
        SessionEntry as SessionEntry,
        SessionHistory as SessionHistory,
        SessionMatch as SessionMatch,
        delete_session as delete_session,
        list_sessions as list_sessions,
        read_patch as read_patch,
        read_session as read_session,
        search_sessions as search_sessions,
    )
    from agent_ls.library.streams import EventStream as EventStream
    from agent_ls.library.tools import tool as tool
    from agent_ls.llm.adapter import BlockingAdapter as BlockingAdapter, ProviderAdapter as ProviderAdapter
    from agent_ls.llm.errors import ConfigurationError as ConfigurationError
    from agent_ls.llm.generate import (
        build_request as build_request,
        generate as generate,
        generate_object as generate_object,
        retry as retry,
        stream as stream,
        stream_object as stream_object,
    )
    from agent_ls.llm.messages import ImagePart as ImagePart
    from agent_ls.llm.requests import Usage as Usage
    from agent_ls.loop.calls.approval import (
        ApprovalAnswer as ApprovalAnswer,
        BadReplacementError as BadReplacementError,
        UnknownApprovalError as UnknownApprovalError,
    )
    from agent_ls.loop.errors import (
        CompactionOffError as CompactionOffError,
        NothingToCompactError as NothingToCompactError,
        RollBackStoppedError as RollBackStoppedError,
        SessionBusyError as SessionBusyError,
        SessionClosedError as SessionClosedError,
        SessionError as SessionError,
    )
    from agent_ls.loop.events.tool_records import (
        CallError as CallError,
        RecordedChange as RecordedChange,
        ToolRecord as ToolRecord,
    )
    from agent_ls.loop.events.types import (
        ApprovalRequested as ApprovalRequested,
        ApprovalResolved as ApprovalResolved,
        AssistantTextEnd as AssistantTextEnd,
        AssistantTextStart as AssistantTextStart,
        CacheLost as CacheLost,
        CheckRun as CheckRun,
        Compaction as Compaction,
        ContextParts as ContextParts,
        Delta as Delta,
        DiagnosedFile as DiagnosedFile,
        EditDiagnosed as EditDiagnosed,
        Error as Error,
        FileChange as FileChange,
        Hunk as Hunk,
        HunkStateChanged as HunkStateChanged,
        LoopDetection as LoopDetection,
        PlanChanged as PlanChanged,
        PlanItem as PlanItem,
        ProcessingEnd as ProcessingEnd,
        QuestionAnswered as QuestionAnswered,
        QuestionAsked as QuestionAsked,
        QueueChanged as QueueChanged,
        QueueItem as QueueItem,
        QueueSpliced as QueueSpliced,
        ReasoningEnd as ReasoningEnd,
        ReasoningStart as ReasoningStart,
        Retry as Retry,
        Reverted as Reverted,
        RevertedFile as RevertedFile,
        RuleOffer as RuleOffer,
        RuleRemoved as RuleRemoved,
        SaveRequested as SaveRequested,
        SessionEnd as SessionEnd,
        SessionEvent,
        SessionStart as SessionStart,
        StateChange as StateChange,
        StateChanged as StateChanged,
        SteeringInjected as SteeringInjected,
        SteeringQueued as SteeringQueued,
        SteeringRemoved as SteeringRemoved,
        SubagentChanged as SubagentChanged,
        TerminalExit as TerminalExit,
        TerminalOpen as TerminalOpen,
        TerminalWaiting as TerminalWaiting,
        Title as Title,
        ToolCallEnd as ToolCallEnd,
        ToolCallStart as ToolCallStart,
        TurnFacts as TurnFacts,
        TurnLimit as TurnLimit,
        UsageReport as UsageReport,
        UserInput as UserInput,
        Warning as Warning,
    )
    from agent_ls.loop.questions import (
        BadAnswerError as BadAnswerError,
        UnknownQuestionError as UnknownQuestionError,
    )
    from agent_ls.policy.situation import Mode as Mode
    from agent_ls.profiles.base import ProviderProfile as ProviderProfile
    from agent_ls.profiles.create import (
        ModelNeededError as ModelNeededError,
        UnknownProviderError as UnknownProviderError,
        create_profile as create_profile,
    )
    from agent_ls.review.rewind import ConflictRange as ConflictRange
    from agent_ls.services.errors import (
        AppError as AppError,
        BadChoiceError as BadChoiceError,
        SessionOpenHereError as SessionOpenHereError,
        SessionOwnedError as SessionOwnedError,
        UnappliedChangesError as UnappliedChangesError,
        UnknownSessionError as UnknownSessionError,
        UnreadableSessionError as UnreadableSessionError,
    )
    from agent_ls.sessions.rollback import RollbackFile as RollbackFile, RollbackResult as RollbackResult
    from agent_ls.sessions.workspaces.worktree import WorktreeFile as WorktreeFile
    from agent_ls.tools.base import Tool as Tool, ToolOutput as ToolOutput
    from agent_ls.tools.registry import ToolRegistry as ToolRegistry

    Event = SessionEvent

_PLACES = {
    name: module
    for module, names in {
        "environments.base": "ExecutionEnvironment",
        "environments.basic": "BasicEnvironment",
        "environments.local": "LocalEnvironment",
        "environments.memory": "MemoryEnvironment",
        "environments.wrappers.forwarding": "ForwardingEnvironment",
        "environments.wrappers.logging": "LoggingEnvironment",
        "environments.wrappers.read_only": "ReadOnlyEnvironment",
        "library.blocking": "iterate_sync run_sync",
        "library.blocking_session": "BlockingSession open_session_sync",
        "library.errors": "TurnFailedError",
        "library.opening": "open_session SessionOpening",
        "library.replies": "Answerer Approver ChangeReviewer LimitExtender",
        "library.scripted_model": "ScriptedAnswer ScriptedModel",
        "library.session": "AgentSession",
        "library.stored": (
            "delete_session list_sessions read_patch read_session search_sessions SessionEntry SessionHistory "
            "SessionMatch"
        ),
        "library.streams": "EventStream",
        "library.tools": "tool",
        "llm.adapter": "BlockingAdapter ProviderAdapter",
        "llm.errors": "ConfigurationError",
        "llm.generate": "build_request generate generate_object retry stream stream_object",
        "llm.messages": "ImagePart",
        "llm.requests": "Usage",
        "loop.calls.approval": "ApprovalAnswer BadReplacementError UnknownApprovalError",
        "loop.errors": """
            CompactionOffError NothingToCompactError RollBackStoppedError SessionBusyError SessionClosedError
            SessionError
        """,
        "loop.events.tool_records": "CallError RecordedChange ToolRecord",
        "loop.events.types": """
            ApprovalRequested ApprovalResolved AssistantTextEnd AssistantTextStart CacheLost CheckRun
            Compaction ContextParts Delta DiagnosedFile EditDiagnosed Error FileChange Hunk
            HunkStateChanged LoopDetection PlanChanged PlanItem ProcessingEnd QuestionAnswered
            QuestionAsked QueueChanged QueueItem QueueSpliced ReasoningEnd ReasoningStart Retry Reverted
            RevertedFile RuleOffer RuleRemoved SaveRequested SessionEnd SessionStart StateChange StateChanged
            SteeringInjected SteeringQueued SteeringRemoved SubagentChanged TerminalExit TerminalOpen
            TerminalWaiting Title ToolCallEnd ToolCallStart TurnFacts TurnLimit UsageReport UserInput
            Warning
        """,
        "loop.questions": "BadAnswerError UnknownQuestionError",
        "policy.situation": "Mode",
        "profiles.base": "ProviderProfile",
        "profiles.create": "create_profile ModelNeededError UnknownProviderError",
        "review.rewind": "ConflictRange",
        "services.errors": """
            AppError BadChoiceError SessionOpenHereError SessionOwnedError UnappliedChangesError
            UnknownSessionError UnreadableSessionError
        """,
        "sessions.rollback": "RollbackFile RollbackResult",
        "sessions.workspaces.worktree": "WorktreeFile",
        "tools.base": "Tool ToolOutput",
        "tools.registry": "ToolRegistry",
    }.items()
    for name in names.split()
}

__all__ = sorted([*_PLACES, "Event", "__version__"])


if not TYPE_CHECKING:  # a type checker would take a misspelt name for Any

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})

    def __getattr__(name: str) -> object:
        if name == "Event":
            return import_module("agent_ls.loop.events.types").SessionEvent
        if place := _PLACES.get(name):
            return getattr(import_module(f"agent_ls.{place}"), name)
        raise AttributeError(f"module 'agent_ls' has no attribute {name!r}")
