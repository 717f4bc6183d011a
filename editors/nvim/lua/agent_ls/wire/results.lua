---@meta
-- Answers, by method. Types only: this file is never loaded.
-- Written by `python -m tests.tools.wire_types` from the server's own types.

---@class agent_ls.wire.Results
---@field ["agent/newSession"] agent_ls.wire.SessionResult
---@field ["agent/sessions"] agent_ls.wire.SessionsResult
---@field ["agent/bringChanges"] agent_ls.wire.BringChangesResult
---@field ["agent/subscribe"] agent_ls.wire.SubscribeResult
---@field ["agent/history"] agent_ls.wire.HistoryResult
---@field ["agent/draft"] agent_ls.wire.Empty
---@field ["agent/unsubscribe"] agent_ls.wire.Empty
---@field ["agent/configure"] agent_ls.wire.ConfigureResult
---@field ["agent/acceptPlan"] agent_ls.wire.AcceptPlanResult
---@field ["agent/abort"] agent_ls.wire.Empty
---@field ["agent/answer"] agent_ls.wire.AnswerResult
---@field ["agent/rename"] agent_ls.wire.SessionResult
---@field ["agent/fork"] agent_ls.wire.SessionResult
---@field ["agent/takeOver"] agent_ls.wire.SessionResult
---@field ["agent/revert"] agent_ls.wire.RevertResult
---@field ["agent/closeSession"] agent_ls.wire.Empty
---@field ["agent/deleteSession"] agent_ls.wire.Empty
---@field ["agent/export"] agent_ls.wire.ExportResult
---@field ["agent/output"] agent_ls.wire.OutputResult
---@field ["agent/submit"] agent_ls.wire.SubmitResult
---@field ["agent/steer"] agent_ls.wire.SteerResult
---@field ["agent/unsteer"] agent_ls.wire.Empty
---@field ["agent/followUp"] agent_ls.wire.FollowUpResult
---@field ["agent/interrupt"] agent_ls.wire.Empty
---@field ["agent/queue"] agent_ls.wire.Empty
---@field ["agent/compact"] agent_ls.wire.CompactResult
---@field ["agent/approve"] agent_ls.wire.ApproveResult
---@field ["agent/hunks"] agent_ls.wire.HunksResult
---@field ["agent/looked"] agent_ls.wire.Empty
---@field ["agent/review"] agent_ls.wire.ReviewResult
---@field ["agent/rules"] agent_ls.wire.RulesResult
---@field ["agent/removeRule"] agent_ls.wire.RemoveRuleResult
---@field ["agent/trust"] agent_ls.wire.TrustResult
---@field ["workspace/textDocumentContent"] agent_ls.wire.TextDocumentContentResult
---@field ["agent/terminals"] agent_ls.wire.TerminalsResult
---@field ["agent/terminalKill"] agent_ls.wire.Empty
---@field ["agent/terminalInput"] agent_ls.wire.Empty
---@field ["agent/terminalResize"] agent_ls.wire.Empty
---@field ["agent/terminalOutput"] agent_ls.wire.TerminalOutputResult
---@field ["agent/memory"] agent_ls.wire.MemoryResult
---@field ["agent/editorState"] agent_ls.wire.Empty
---@field ["agent/diagnostics"] agent_ls.wire.Empty
---@field ["agent/clientAnswer"] agent_ls.wire.Empty
---@field ["agent/setCredential"] agent_ls.wire.CredentialResult
---@field ["agent/models"] agent_ls.wire.ModelsResult
---@field ["agent/mcpServers"] agent_ls.wire.McpServersResult
---@field ["agent/mcpSwitch"] agent_ls.wire.Empty
---@field ["agent/commands"] agent_ls.wire.CommandsResult
---@field ["agent/complete"] agent_ls.wire.CompleteResult
---@field ["agent/commitMessage"] agent_ls.wire.CommitMessageResult
---@field ["agent/blame"] agent_ls.wire.BlameResult

---@class agent_ls.wire.AcceptPlanResult
---@field session agent_ls.wire.SessionInfo
---@field turnId string

---@class agent_ls.wire.AnswerResult
---@field answers string[]
---@field declined boolean
---@field decidedBy string

---@class agent_ls.wire.ApproveResult
---@field decision "allow"|"deny"
---@field decidedBy string

---@class agent_ls.wire.BlameResult
---@field ranges agent_ls.wire.BlamedRange[]
---@field origins agent_ls.wire.BlameOrigin[]
---@field version? integer

---@class agent_ls.wire.BringChangesResult
---@field files agent_ls.wire.BroughtFile[]

---@class agent_ls.wire.CommandsResult
---@field commands agent_ls.wire.CommandInfo[]

---@class agent_ls.wire.CommitMessageResult
---@field message string
---@field staged boolean

---@class agent_ls.wire.CompactResult
---@field compactionId string

---@class agent_ls.wire.CompleteResult
---@field items agent_ls.wire.Completion[]

---@class agent_ls.wire.ConfigureResult
---@field session agent_ls.wire.SessionInfo
---@field appliesFrom "now"|"nextCall"|"nextTurn"

---@class agent_ls.wire.CredentialResult
---@field ok true

---@class agent_ls.wire.Empty

---@class agent_ls.wire.ExportResult
---@field text string

---@class agent_ls.wire.FollowUpResult
---@field queuedId string

---@class agent_ls.wire.HistoryResult
---@field items agent_ls.wire.Item[]
---@field more boolean

---@class agent_ls.wire.HunksResult
---@field files agent_ls.wire.FileHunks[]
---@field guide? agent_ls.wire.GuideRow[]

---@class agent_ls.wire.McpServersResult
---@field servers agent_ls.wire.McpServerInfo[]
---@field problems string[]

---@class agent_ls.wire.MemoryResult
---@field project string
---@field user string

---@class agent_ls.wire.ModelsResult
---@field defaultProvider string
---@field defaultMode "plan"|"ask"|"edits"|"full"
---@field providers agent_ls.wire.ProviderInfo[]
---@field models agent_ls.wire.ModelInfo[]

---@class agent_ls.wire.OutputResult
---@field text string
---@field totalChars integer
---@field nextOffset? integer

---@class agent_ls.wire.RemoveRuleResult
---@field removed integer

---@class agent_ls.wire.RevertResult
---@field session agent_ls.wire.SessionInfo
---@field revertId string
---@field inputText string
---@field turns string[]
---@field restoredTurns string[]
---@field files agent_ls.wire.RevertFile[]

---@class agent_ls.wire.ReviewResult
---@field changed agent_ls.wire.HunkInfo[]
---@field refused agent_ls.wire.ReviewResult.refused[]

---@class agent_ls.wire.RulesResult
---@field rules agent_ls.wire.RuleInfo[]

---@class agent_ls.wire.SessionResult
---@field session agent_ls.wire.SessionInfo

---@class agent_ls.wire.SessionsResult
---@field sessions agent_ls.wire.SessionInfo[]
---@field nextCursor? string

---@class agent_ls.wire.SteerResult
---@field steerId string

---@class agent_ls.wire.SubmitResult
---@field turnId? string
---@field queuedId? string
---@field steerId? string

---@class agent_ls.wire.SubscribeResult
---@field clientId string
---@field session agent_ls.wire.SessionInfo
---@field events agent_ls.wire.Event[]
---@field lastSeq integer
---@field openParts agent_ls.wire.OpenPart[]
---@field pending agent_ls.wire.Pending
---@field snapshot? agent_ls.wire.Snapshot
---@field draft? agent_ls.wire.DraftInfo

---@class agent_ls.wire.TerminalOutputResult
---@field text string
---@field nextOffset integer
---@field running boolean
---@field exitCode? integer

---@class agent_ls.wire.TerminalsResult
---@field terminals agent_ls.wire.TerminalInfo[]

---@class agent_ls.wire.TextDocumentContentResult
---@field text string

---@class agent_ls.wire.TrustResult
---@field workspaceFolder string
---@field trust "trusted"|"restricted"|"unknown"
---@field folders agent_ls.wire.TrustedFolder[]
