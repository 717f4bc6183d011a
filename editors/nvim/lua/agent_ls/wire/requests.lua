---@meta
-- Parameters of requests and notifications, by method. Types only: this file is never loaded.
-- Written by `python -m tests.tools.wire_types` from the server's own types.

---@class agent_ls.wire.Params
---@field ["agent/newSession"] agent_ls.wire.NewSession
---@field ["agent/sessions"] agent_ls.wire.Sessions
---@field ["agent/bringChanges"] agent_ls.wire.BringChanges
---@field ["agent/subscribe"] agent_ls.wire.Subscribe
---@field ["agent/history"] agent_ls.wire.History
---@field ["agent/draft"] agent_ls.wire.Draft
---@field ["agent/unsubscribe"] agent_ls.wire.Unsubscribe
---@field ["agent/configure"] agent_ls.wire.Configure
---@field ["agent/acceptPlan"] agent_ls.wire.AcceptPlan
---@field ["agent/abort"] agent_ls.wire.Abort
---@field ["agent/answer"] agent_ls.wire.Answer
---@field ["agent/rename"] agent_ls.wire.Rename
---@field ["agent/fork"] agent_ls.wire.Fork
---@field ["agent/takeOver"] agent_ls.wire.TakeOver
---@field ["agent/revert"] agent_ls.wire.Revert
---@field ["agent/closeSession"] agent_ls.wire.CloseSession
---@field ["agent/deleteSession"] agent_ls.wire.DeleteSession
---@field ["agent/export"] agent_ls.wire.Export
---@field ["agent/output"] agent_ls.wire.Output
---@field ["agent/submit"] agent_ls.wire.Submit
---@field ["agent/steer"] agent_ls.wire.Steer
---@field ["agent/unsteer"] agent_ls.wire.Unsteer
---@field ["agent/followUp"] agent_ls.wire.FollowUp
---@field ["agent/interrupt"] agent_ls.wire.Interrupt
---@field ["agent/queue"] agent_ls.wire.Queue
---@field ["agent/compact"] agent_ls.wire.Compact
---@field ["agent/approve"] agent_ls.wire.Approve
---@field ["agent/hunks"] agent_ls.wire.Hunks
---@field ["agent/looked"] agent_ls.wire.Looked
---@field ["agent/review"] agent_ls.wire.Review
---@field ["agent/rules"] agent_ls.wire.Rules
---@field ["agent/removeRule"] agent_ls.wire.RemoveRule
---@field ["agent/trust"] agent_ls.wire.Trust
---@field ["workspace/textDocumentContent"] agent_ls.wire.TextDocumentContent
---@field ["agent/terminals"] agent_ls.wire.Terminals
---@field ["agent/terminalKill"] agent_ls.wire.TerminalKill
---@field ["agent/terminalInput"] agent_ls.wire.TerminalInput
---@field ["agent/terminalResize"] agent_ls.wire.TerminalResize
---@field ["agent/terminalOutput"] agent_ls.wire.TerminalOutput
---@field ["agent/memory"] agent_ls.wire.Memory
---@field ["agent/editorState"] agent_ls.wire.EditorState
---@field ["agent/diagnostics"] agent_ls.wire.Diagnostics
---@field ["agent/clientAnswer"] agent_ls.wire.ClientAnswer
---@field ["agent/setCredential"] agent_ls.wire.SetCredential
---@field ["agent/models"] agent_ls.wire.Models
---@field ["agent/mcpServers"] agent_ls.wire.McpServers
---@field ["agent/mcpSwitch"] agent_ls.wire.McpSwitch
---@field ["agent/commands"] agent_ls.wire.Commands
---@field ["agent/complete"] agent_ls.wire.Complete
---@field ["agent/commitMessage"] agent_ls.wire.CommitMessage
---@field ["agent/blame"] agent_ls.wire.Blame

---@class agent_ls.wire.Abort
---@field sessionId string
---@field clientKey? string

---@class agent_ls.wire.AcceptPlan
---@field sessionId string
---@field clientKey string
---@field text string
---@field mode "ask"|"edits"

---@class agent_ls.wire.Answer
---@field sessionId string
---@field questionId string
---@field clientKey string
---@field answers? string[]
---@field declined? boolean

---@class agent_ls.wire.Approve
---@field sessionId string
---@field requestId string
---@field clientKey string
---@field decision "allow"|"deny"
---@field scope? "once"|"turn"|"session"|"project"|"user"
---@field ruleId? string
---@field reason? string
---@field replacement? agent_ls.wire.CommandReplacement

---@class agent_ls.wire.Blame
---@field uri string

---@class agent_ls.wire.BringChanges
---@field sessionId string
---@field clientKey string

---@class agent_ls.wire.ClientAnswer
---@field sessionId string
---@field requestId string
---@field result? table
---@field error? string

---@class agent_ls.wire.CloseSession
---@field sessionId string
---@field clientKey string

---@class agent_ls.wire.Commands
---@field sessionId? string

---@class agent_ls.wire.CommitMessage
---@field folder? string
---@field draft? string

---@class agent_ls.wire.Compact
---@field sessionId string
---@field clientKey string
---@field instructions? string

---@class agent_ls.wire.Complete
---@field workspaceFolder? string
---@field sessionId? string
---@field trigger "@"|"/"
---@field query string
---@field limit? integer

---@class agent_ls.wire.Configure
---@field sessionId string
---@field clientKey string
---@field provider? string
---@field model? string
---@field effort? string
---@field mode? "plan"|"ask"|"edits"|"full"
---@field review? "after"|"before"
---@field limits? agent_ls.wire.LimitChanges
---@field remember? boolean

---@class agent_ls.wire.DeleteSession
---@field sessionId string
---@field clientKey string
---@field force? boolean

---@class agent_ls.wire.Diagnostics
---@field uri string
---@field version? integer
---@field settled? boolean
---@field items agent_ls.wire.Diagnostic[]

---@class agent_ls.wire.Draft
---@field sessionId string
---@field text? string
---@field attachments? agent_ls.wire.InputPart[]

---@class agent_ls.wire.EditorState
---@field activeUri? string
---@field selection? agent_ls.wire.EditorSelection
---@field visibleUris? string[]
---@field unsynced? string[]

---@class agent_ls.wire.Export
---@field sessionId string
---@field format "markdown"|"jsonl"|"html"
---@field redact? boolean

---@class agent_ls.wire.FollowUp
---@field sessionId string
---@field clientKey string
---@field input agent_ls.wire.InputPart[]

---@class agent_ls.wire.Fork
---@field sessionId string
---@field clientKey string
---@field atTurnId? string

---@class agent_ls.wire.History
---@field sessionId string
---@field before? integer
---@field limit? integer

---@class agent_ls.wire.Hunks
---@field sessionId? string
---@field uri? string
---@field turnId? string
---@field guide? boolean

---@class agent_ls.wire.Interrupt
---@field sessionId string
---@field clientKey? string
---@field keepProcesses? boolean
---@field thenSubmit? agent_ls.wire.InputPart[]
---@field agentId? string

---@class agent_ls.wire.Looked
---@field hunkIds string[]

---@class agent_ls.wire.McpServers
---@field sessionId string

---@class agent_ls.wire.McpSwitch
---@field sessionId string
---@field clientKey string
---@field name string
---@field to "on"|"off"|"restart"

---@class agent_ls.wire.Memory
---@field workspaceFolder? string

---@class agent_ls.wire.Models
---@field look? boolean

---@class agent_ls.wire.NewSession
---@field clientKey string
---@field workspaceFolder? string
---@field provider? string
---@field model? string
---@field effort? string
---@field mode? "plan"|"ask"|"edits"|"full"
---@field review? "after"|"before"
---@field title? string
---@field worktree? "current"|"head"

---@class agent_ls.wire.Output
---@field sessionId string
---@field outputRef string
---@field offset? integer
---@field limit? integer

---@class agent_ls.wire.Queue
---@field sessionId string
---@field clientKey string
---@field edit? agent_ls.wire.EditQueued
---@field move? agent_ls.wire.MoveQueued
---@field remove? string
---@field startNow? string

---@class agent_ls.wire.RemoveRule
---@field clientKey string
---@field ruleId string
---@field sessionId? string
---@field workspaceFolder? string

---@class agent_ls.wire.Rename
---@field sessionId string
---@field clientKey string
---@field title string

---@class agent_ls.wire.Revert
---@field sessionId string
---@field clientKey string
---@field atTurnId string
---@field conversation? boolean
---@field files? "restore"|"keep"|"preview"
---@field uris? string[]
---@field force? boolean

---@class agent_ls.wire.Review
---@field clientKey string
---@field hunkIds? string[]
---@field uri? string
---@field turnId? string
---@field sessionId? string
---@field verdict "keep"|"undo"
---@field comment? string
---@field confirm? boolean
---@field lines? [integer, integer]
---@field replacement? string

---@class agent_ls.wire.Rules
---@field sessionId? string
---@field workspaceFolder? string

---@class agent_ls.wire.Sessions
---@field workspaceFolder? string
---@field cursor? string
---@field limit? integer
---@field query? string
---@field running? boolean

---@class agent_ls.wire.SetCredential
---@field clientKey string
---@field provider string
---@field secret? string

---@class agent_ls.wire.Steer
---@field sessionId string
---@field clientKey string
---@field input agent_ls.wire.InputPart[]
---@field expectedTurnId? string
---@field agentId? string

---@class agent_ls.wire.Submit
---@field sessionId string
---@field clientKey string
---@field input agent_ls.wire.InputPart[]
---@field whenBusy? "queue"|"steer"|"refuse"

---@class agent_ls.wire.Subscribe
---@field sessionId string
---@field since? integer
---@field maxEvents? integer

---@class agent_ls.wire.TakeOver
---@field sessionId string
---@field clientKey string
---@field force? boolean

---@class agent_ls.wire.TerminalInput
---@field sessionId string
---@field clientKey? string
---@field terminalId string
---@field data string

---@class agent_ls.wire.TerminalKill
---@field sessionId string
---@field clientKey? string
---@field terminalId string

---@class agent_ls.wire.TerminalOutput
---@field sessionId string
---@field terminalId string
---@field offset? integer

---@class agent_ls.wire.TerminalResize
---@field sessionId string
---@field clientKey? string
---@field terminalId string
---@field columns integer
---@field rows integer

---@class agent_ls.wire.Terminals
---@field sessionId string

---@class agent_ls.wire.TextDocumentContent
---@field uri string

---@class agent_ls.wire.Trust
---@field clientKey? string
---@field workspaceFolder? string
---@field decision? "trust"|"restrict"|"forget"

---@class agent_ls.wire.Unsteer
---@field sessionId string
---@field clientKey? string
---@field steerId string

---@class agent_ls.wire.Unsubscribe
---@field sessionId string
