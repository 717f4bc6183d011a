"""All custom methods with their parameters and results (wire names: docs/protocol/).

camelCase on the wire, snake_case here. Unknown fields are ignored, so that a newer client can be served. The server
sends two notifications: `agent/event` (the envelope of loop/events/codec.py, with a `uri` added to each `path` in
`data` and in its hunks), and `agent/hunksMoved` (a FileHunks).

A class is imported from its module at its first use, because a session needs few of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from agent_ls.server.protocol.base import (
    EVENT_METHOD as EVENT_METHOD,
    MOVED_METHOD as MOVED_METHOD,
    VERSION as VERSION,
    Access as Access,
    Empty as Empty,
    Mode as Mode,
    Params as Params,
    ReviewSetting as ReviewSetting,
    State as State,
    Wire as Wire,
)

if TYPE_CHECKING:
    from agent_ls.server.protocol.asked import (
        ASKED as ASKED,
    )
    from agent_ls.server.protocol.blame import (
        Blame as Blame,
        BlamedRange as BlamedRange,
        BlameOrigin as BlameOrigin,
        BlameResult as BlameResult,
    )
    from agent_ls.server.protocol.commits import (
        CommitMessage as CommitMessage,
        CommitMessageResult as CommitMessageResult,
    )
    from agent_ls.server.protocol.editor import (
        CommandInfo as CommandInfo,
        Commands as Commands,
        CommandsResult as CommandsResult,
        Complete as Complete,
        CompleteResult as CompleteResult,
        Completion as Completion,
        Diagnostic as Diagnostic,
        Diagnostics as Diagnostics,
        EditorSelection as EditorSelection,
        EditorState as EditorState,
        Memory as Memory,
        MemoryResult as MemoryResult,
        TextDocumentContent as TextDocumentContent,
        TextDocumentContentResult as TextDocumentContentResult,
    )
    from agent_ls.server.protocol.inputs import (
        CommandInput as CommandInput,
        CommitInput as CommitInput,
        DiagnosticsInput as DiagnosticsInput,
        DiffInput as DiffInput,
        FileInput as FileInput,
        FolderInput as FolderInput,
        ImageInput as ImageInput,
        InputPart as InputPart,
        PageInput as PageInput,
        ResourceInput as ResourceInput,
        SelectionInput as SelectionInput,
        SymbolInput as SymbolInput,
        TerminalTextInput as TerminalTextInput,
        TextInput as TextInput,
    )
    from agent_ls.server.protocol.language import (
        ActionEdits as ActionEdits,
        CodeActionInfo as CodeActionInfo,
        CodeActions as CodeActions,
        CodeCalls as CodeCalls,
        CodeEdit as CodeEdit,
        CodeLocation as CodeLocation,
        CodeLocations as CodeLocations,
        CodeSymbol as CodeSymbol,
        CodeSymbols as CodeSymbols,
        DiagnosedFiles as DiagnosedFiles,
        DocumentEdits as DocumentEdits,
        FunctionCalls as FunctionCalls,
        HoverTexts as HoverTexts,
        RenameEdits as RenameEdits,
    )
    from agent_ls.server.protocol.models import (
        CredentialResult as CredentialResult,
        ModelInfo as ModelInfo,
        Models as Models,
        ModelsResult as ModelsResult,
        ProviderInfo as ProviderInfo,
        SetCredential as SetCredential,
    )
    from agent_ls.server.protocol.review import (
        FileHunks as FileHunks,
        GuideMark as GuideMark,
        GuideRow as GuideRow,
        HunkCell as HunkCell,
        HunkInfo as HunkInfo,
        Hunks as Hunks,
        HunksResult as HunksResult,
        Looked as Looked,
        Review as Review,
        ReviewResult as ReviewResult,
    )
    from agent_ls.server.protocol.rules import (
        RemoveRule as RemoveRule,
        RemoveRuleResult as RemoveRuleResult,
        RuleInfo as RuleInfo,
        Rules as Rules,
        RulesResult as RulesResult,
        Trust as Trust,
        TrustedFolder as TrustedFolder,
        TrustResult as TrustResult,
    )
    from agent_ls.server.protocol.servers import (
        McpServerInfo as McpServerInfo,
        McpServers as McpServers,
        McpServersResult as McpServersResult,
        McpSwitch as McpSwitch,
    )
    from agent_ls.server.protocol.sessions import (
        BringChanges as BringChanges,
        BringChangesResult as BringChangesResult,
        BroughtFile as BroughtFile,
        CloseSession as CloseSession,
        DeleteSession as DeleteSession,
        DraftInfo as DraftInfo,
        Export as Export,
        ExportResult as ExportResult,
        Fork as Fork,
        History as History,
        HistoryResult as HistoryResult,
        NewSession as NewSession,
        OpenPart as OpenPart,
        Output as Output,
        OutputResult as OutputResult,
        OwnerInfo as OwnerInfo,
        Pending as Pending,
        Rename as Rename,
        Revert as Revert,
        RevertConflict as RevertConflict,
        RevertFile as RevertFile,
        RevertResult as RevertResult,
        SessionInfo as SessionInfo,
        SessionResult as SessionResult,
        Sessions as Sessions,
        SessionsResult as SessionsResult,
        Snapshot as Snapshot,
        Subscribe as Subscribe,
        SubscribeResult as SubscribeResult,
        TakeOver as TakeOver,
        Unsubscribe as Unsubscribe,
    )
    from agent_ls.server.protocol.terminals import (
        ClientAnswer as ClientAnswer,
        TerminalInfo as TerminalInfo,
        TerminalInput as TerminalInput,
        TerminalKill as TerminalKill,
        TerminalOutput as TerminalOutput,
        TerminalOutputResult as TerminalOutputResult,
        TerminalResize as TerminalResize,
        Terminals as Terminals,
        TerminalsResult as TerminalsResult,
    )
    from agent_ls.server.protocol.turns import (
        Abort as Abort,
        AcceptPlan as AcceptPlan,
        AcceptPlanResult as AcceptPlanResult,
        Answer as Answer,
        AnswerResult as AnswerResult,
        Approve as Approve,
        ApproveResult as ApproveResult,
        CommandReplacement as CommandReplacement,
        Compact as Compact,
        CompactResult as CompactResult,
        Configure as Configure,
        ConfigureResult as ConfigureResult,
        Draft as Draft,
        EditQueued as EditQueued,
        FollowUp as FollowUp,
        FollowUpResult as FollowUpResult,
        Interrupt as Interrupt,
        LimitChanges as LimitChanges,
        MoveQueued as MoveQueued,
        Queue as Queue,
        Steer as Steer,
        SteerResult as SteerResult,
        Submit as Submit,
        SubmitResult as SubmitResult,
        Unsteer as Unsteer,
    )

# The first module that has a name is used. `sessions` and `turns`, which every session needs, are first.
_MODULES: Final = (
    "sessions", "turns", "inputs", "review", "editor", "terminals", "rules", "models", "servers", "commits", "blame",
    "language", "asked",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name[:1].isupper():
        for module in _MODULES:
            if found := vars(import_module(f"{__name__}.{module}")).get(name):
                globals()[name] = found
                return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
