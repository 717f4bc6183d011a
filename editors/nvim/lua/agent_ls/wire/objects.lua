---@meta
-- Objects inside messages. Types only: this file is never loaded.
-- Written by `python -m tests.tools.wire_types` from the server's own types.

---@alias agent_ls.wire.Effect agent_ls.wire.NoEffect|agent_ls.wire.ReadEffect|agent_ls.wire.WriteEffect|agent_ls.wire.CommandEffect|agent_ls.wire.ProcessEffect|agent_ls.wire.TrustEffect|agent_ls.wire.FetchEffect|agent_ls.wire.CallEffect|agent_ls.wire.ServerEffect

---@alias agent_ls.wire.InputPart agent_ls.wire.TextInput|agent_ls.wire.FileInput|agent_ls.wire.SelectionInput|agent_ls.wire.ImageInput|agent_ls.wire.FolderInput|agent_ls.wire.DiagnosticsInput|agent_ls.wire.CommandInput|agent_ls.wire.ResourceInput|agent_ls.wire.SymbolInput|agent_ls.wire.DiffInput|agent_ls.wire.CommitInput|agent_ls.wire.TerminalTextInput|agent_ls.wire.PageInput

---@class agent_ls.wire.BlameOrigin
---@field sessionId string
---@field turnId string
---@field callId string
---@field message string
---@field model string
---@field time string
---@field decision ""|"kept"|"pending"|"edited"

---@class agent_ls.wire.BlamedRange
---@field range [integer, integer]
---@field author "user"|"agent"|"unknown"
---@field origin? integer

---@class agent_ls.wire.BroughtFile
---@field uri string
---@field state "brought"|"proposed"|"left"
---@field reason string

---@class agent_ls.wire.CallEffect
---@field type "CallEffect"
---@field tool string
---@field text string
---@field category "read"|"write"|"admin"
---@field definition string
---@field argv string[]
---@field workingDir string
---@field envVars [string, string][]
---@field server? string
---@field title? string
---@field about? string
---@field change? string
---@field annotated? ""|"read"|"safe"
---@field hosts? string[]
---@field readsRule? string

---@class agent_ls.wire.CellSplice
---@field start integer
---@field was string[]
---@field cells agent_ls.wire.NewCell[]

---@class agent_ls.wire.CellText
---@field index integer
---@field uri string
---@field was string
---@field text string

---@class agent_ls.wire.CheckRun
---@field callId string
---@field command string
---@field result "passed"|"failed"|"unclear"|"running"|"stopped"
---@field exitCode? integer
---@field durationMs? integer
---@field changedFiles integer

---@class agent_ls.wire.CodeActionInfo
---@field title string
---@field kind? string
---@field preferred? boolean
---@field disabled? string

---@class agent_ls.wire.CodeEdit
---@field startLine integer
---@field startCharacter? integer
---@field endLine integer
---@field endCharacter? integer
---@field newText string

---@class agent_ls.wire.CodeLocation
---@field startLine integer
---@field startCharacter? integer
---@field endLine integer
---@field endCharacter? integer
---@field uri string

---@class agent_ls.wire.CodeSymbol
---@field startLine integer
---@field startCharacter? integer
---@field endLine integer
---@field endCharacter? integer
---@field uri string
---@field name string
---@field kind integer
---@field container? string
---@field depth? integer

---@class agent_ls.wire.CommandEffect
---@field type "CommandEffect"
---@field command string
---@field workingDir string
---@field envVars [string, string][]
---@field background boolean
---@field inputOf? string
---@field outsideSandbox? boolean

---@class agent_ls.wire.CommandInfo
---@field name string
---@field description string
---@field argumentHint? string

---@class agent_ls.wire.CommandInput
---@field type "command"
---@field name string
---@field arguments? string

---@class agent_ls.wire.CommandReplacement
---@field command? string

---@class agent_ls.wire.CommitInput
---@field type "commit"
---@field revision string

---@class agent_ls.wire.Completion
---@field kind "file"|"folder"|"command"|"problems"|"selection"|"resource"|"symbol"|"diff"|"commit"|"terminal"|"page"
---@field label string
---@field detail? string
---@field part agent_ls.wire.InputPart

---@class agent_ls.wire.ContextParts
---@field system integer
---@field tools integer
---@field documents integer
---@field history integer
---@field toolOutput integer

---@class agent_ls.wire.DiagnosedFile
---@field path string
---@field problems integer
---@field isSettled boolean
---@field introduced string[]
---@field fixed string[]
---@field uri string

---@class agent_ls.wire.Diagnostic
---@field startLine integer
---@field startCharacter? integer
---@field endLine integer
---@field endCharacter? integer
---@field severity? integer
---@field message string
---@field source? string
---@field code? string|integer

---@class agent_ls.wire.DiagnosticsInput
---@field type "diagnostics"
---@field uri? string

---@class agent_ls.wire.DiffInput
---@field type "diff"
---@field staged? boolean

---@class agent_ls.wire.DocumentEdits
---@field uri string
---@field version? integer
---@field edits agent_ls.wire.CodeEdit[]

---@class agent_ls.wire.DraftInfo
---@field text string
---@field attachments agent_ls.wire.InputPart[]

---@class agent_ls.wire.EditQueued
---@field queuedId string
---@field input agent_ls.wire.InputPart[]
---@field keepImages? boolean

---@class agent_ls.wire.EditorSelection
---@field startLine integer
---@field startCharacter? integer
---@field endLine integer
---@field endCharacter? integer

---@class agent_ls.wire.FetchEffect
---@field type "FetchEffect"
---@field url string
---@field privateAddress string

---@class agent_ls.wire.FileHunks
---@field uri string
---@field baseHash string
---@field version? integer
---@field hunks agent_ls.wire.HunkInfo[]

---@class agent_ls.wire.FileInput
---@field type "file"
---@field uri string

---@class agent_ls.wire.FileSum
---@field path string
---@field action "create"|"modify"|"delete"
---@field added integer
---@field removed integer
---@field uri string

---@class agent_ls.wire.FolderInput
---@field type "folder"
---@field uri string

---@class agent_ls.wire.FunctionCalls
---@field startLine integer
---@field startCharacter? integer
---@field endLine integer
---@field endCharacter? integer
---@field uri string
---@field name string
---@field kind integer
---@field container? string
---@field depth? integer
---@field lines? integer[]

---@class agent_ls.wire.GuideMark
---@field kind "untested"|"newProblem"|"sensitive"|"signature"|"yourText"
---@field text string

---@class agent_ls.wire.GuideRow
---@field kind "change"|"renames"|"whiteSpace"|"generated"
---@field title string
---@field hunkIds string[]
---@field state "notLooked"|"looked"|"kept"|"undone"
---@field marks agent_ls.wire.GuideMark[]
---@field unknown ("untested"|"newProblem"|"sensitive"|"signature"|"yourText")[]

---@class agent_ls.wire.Hunk
---@field id string
---@field sessionId string
---@field turnId string
---@field callId string
---@field path string
---@field what "content"|"create"|"delete"
---@field state "proposed"|"pending"|"kept"|"undone"|"edited"|"stale"|"gone"
---@field baseStart integer
---@field baseEnd integer
---@field start integer
---@field end integer
---@field baseLines string[]
---@field lines string[]
---@field link string
---@field laterTurns string[]
---@field looked boolean
---@field uri string

---@class agent_ls.wire.HunkCell
---@field cell integer
---@field uri? string
---@field version? integer
---@field range [integer, integer]
---@field oldLines string[]
---@field newLines string[]

---@class agent_ls.wire.HunkInfo
---@field id string
---@field sessionId string
---@field turnId string
---@field callId string
---@field what "content"|"create"|"delete"
---@field state "proposed"|"pending"|"kept"|"undone"|"edited"|"stale"|"gone"
---@field oldRange [integer, integer]
---@field newRange [integer, integer]
---@field oldLines string[]
---@field newLines string[]
---@field link? string
---@field laterTurnIds? string[]
---@field cells? agent_ls.wire.HunkCell[]
---@field looked? boolean
---@field reason? string

---@class agent_ls.wire.ImageInput
---@field type "image"
---@field mediaType string
---@field data string

---@class agent_ls.wire.Item
---@field id string
---@field seq integer
---@field turnId string
---@field timestamp string
---@field kind "user"|"steer"|"text"|"reasoning"|"tool"|"file"|"approval"|"question"|"subagent"|"retry"|"notice"|"end"|"reverted"
---@field text? string
---@field agentId? string
---@field steerId? string
---@field status? "waiting"|"injected"|"removed"|"running"|"done"|"failed"|"pending"|"allow"|"deny"|"pending"|"answered"|"declined"|"running"|"completed"|"failed"
---@field partId? string
---@field interrupted? boolean
---@field callId? string
---@field name? string
---@field summary? string
---@field arguments? string
---@field result? agent_ls.wire.ToolCallEnd
---@field terminalId? string
---@field background? boolean
---@field look? "read"|"search"|"edit"|"move"|"delete"|"execute"|"fetch"|"think"|"other"
---@field doing? string
---@field done? string
---@field path? string
---@field action? "create"|"modify"|"delete"|string
---@field added? integer
---@field removed? integer
---@field diff? string
---@field hunks? agent_ls.wire.Hunk[]
---@field copyOf? string
---@field uri? string
---@field request? agent_ls.wire.ApprovalRequested
---@field reason? string|""|"limit"|"refused"|"error"|"interrupted"|"closed"|"stopped"|"completed"|"interrupted"|"limit"|"error"|"aborted"|"refused"
---@field scope? string
---@field decidedBy? string
---@field command? string
---@field asked? agent_ls.wire.QuestionAsked
---@field answers? string[]
---@field task? string
---@field model? string
---@field workingDir? string
---@field output? string
---@field turnsUsed? integer
---@field agentKind? string
---@field attempt? integer
---@field delayMs? integer
---@field level? "info"|"warn"|"error"
---@field hint? string
---@field files? agent_ls.wire.FileSum[]|agent_ls.wire.RevertedFile[]
---@field facts? agent_ls.wire.TurnFacts
---@field revertId? string
---@field atTurnId? string
---@field conversation? boolean
---@field turns? string[]
---@field restoredTurns? string[]

---@class agent_ls.wire.LimitChanges
---@field tokensPerInput? integer
---@field tokensPerSession? integer
---@field costUsdPerInput? number
---@field costUsdPerSession? number
---@field secondsPerInput? number
---@field secondsPerSession? number

---@class agent_ls.wire.McpServerInfo
---@field name string
---@field state "off"|"unapproved"|"denied"|"starting"|"running"|"restarting"|"login"|"failed"|"stopped"
---@field source "user"|"client"|"settings"|"project"
---@field file? string
---@field target string
---@field title string
---@field era "modern"|"legacy"|""
---@field tools string[]
---@field prompts string[]
---@field resources integer
---@field error? string

---@class agent_ls.wire.ModelInfo
---@field provider string
---@field id string
---@field name string
---@field contextTokens? integer
---@field maxOutputTokens? integer
---@field efforts string[]
---@field isDefault boolean
---@field inputPrice? number
---@field outputPrice? number
---@field images boolean
---@field address? string

---@class agent_ls.wire.MoveQueued
---@field queuedId string
---@field before? string

---@class agent_ls.wire.NamedCell
---@field uri string
---@field version integer

---@class agent_ls.wire.NamedDocument
---@field uri string
---@field version integer
---@field cells? agent_ls.wire.NamedCell[]

---@class agent_ls.wire.NewCell
---@field kind "code"|"markdown"|"raw"
---@field language string
---@field text string
---@field id? string

---@class agent_ls.wire.NoEffect
---@field type "NoEffect"

---@class agent_ls.wire.NotSaved
---@field uri string
---@field reason? string

---@class agent_ls.wire.OpenPart
---@field partId string
---@field kind string
---@field text string
---@field name string
---@field agentId? string

---@class agent_ls.wire.OwnerInfo
---@field pid integer
---@field host string
---@field program string

---@class agent_ls.wire.PageInput
---@field type "page"
---@field url string

---@class agent_ls.wire.Pending
---@field approvals agent_ls.wire.ApprovalRequested[]
---@field questions agent_ls.wire.QuestionAsked[]
---@field hunks agent_ls.wire.FileHunks[]

---@class agent_ls.wire.PlanItem
---@field text string
---@field status "pending"|"active"|"done"

---@class agent_ls.wire.PlannedWrite
---@field path string
---@field action "create"|"modify"|"delete"|"move"
---@field diff string
---@field changeKey string

---@class agent_ls.wire.ProcessEffect
---@field type "ProcessEffect"
---@field processId string
---@field action "list"|"read"|"write"|"kill"

---@class agent_ls.wire.ProviderInfo
---@field id string
---@field name string
---@field hasKey boolean
---@field keyVariable string
---@field problem? string

---@class agent_ls.wire.QueueItem
---@field queuedId string
---@field text string
---@field clientKey string
---@field images integer

---@class agent_ls.wire.ReadEffect
---@field type "ReadEffect"
---@field paths string[]

---@class agent_ls.wire.ResourceInput
---@field type "resource"
---@field server string
---@field uri string

---@class agent_ls.wire.RevertConflict
---@field start integer
---@field end integer
---@field reason string

---@class agent_ls.wire.RevertFile
---@field path string
---@field uri string
---@field action "create"|"modify"|"delete"
---@field state "planned"|"restored"|"conflict"|"unknown"
---@field diff string
---@field reason string
---@field conflicts agent_ls.wire.RevertConflict[]

---@class agent_ls.wire.RevertedFile
---@field path string
---@field action "create"|"modify"|"delete"
---@field state "restored"|"conflict"|"unknown"
---@field uri string

---@class agent_ls.wire.ReviewResult.refused
---@field id string
---@field reason string

---@class agent_ls.wire.RuleInfo
---@field id string
---@field label string
---@field scope "turn"|"session"|"project"|"user"
---@field workspace? string
---@field hits integer
---@field created? string
---@field used? string

---@class agent_ls.wire.RuleOffer
---@field id string
---@field label string
---@field scope "turn"|"session"|"project"|"user"
---@field allows string[]
---@field stillAsked string[]

---@class agent_ls.wire.SelectionInput
---@field type "selection"
---@field uri string
---@field startLine integer
---@field endLine integer
---@field text string

---@class agent_ls.wire.ServerEffect
---@field type "ServerEffect"
---@field name string
---@field config string
---@field file string
---@field command string
---@field url string
---@field variables string[]
---@field isFetched boolean

---@class agent_ls.wire.SessionInfo
---@field id string
---@field title string
---@field state "IDLE"|"PROCESSING"|"AWAITING_INPUT"|"CLOSED"
---@field provider string
---@field model string
---@field effort? string
---@field mode "plan"|"ask"|"edits"|"full"
---@field review "after"|"before"
---@field workspaceFolder string
---@field created string
---@field updated string
---@field lastSeq integer
---@field live boolean
---@field access "owner"|"readOnly"
---@field owner? agent_ls.wire.OwnerInfo
---@field isWalkthrough boolean
---@field worktree? string
---@field activity "closed"|"idle"|"working"|"waiting"
---@field costUsd? number
---@field queue agent_ls.wire.SessionInfo.queue[]
---@field steering agent_ls.wire.SessionInfo.steering[]

---@class agent_ls.wire.SessionInfo.queue
---@field queuedId string
---@field text string
---@field images integer

---@class agent_ls.wire.SessionInfo.steering
---@field steerId string
---@field text string

---@class agent_ls.wire.Snapshot
---@field items agent_ls.wire.Item[]
---@field more boolean
---@field usage? agent_ls.wire.UsageReport
---@field plan? agent_ls.wire.PlanChanged

---@class agent_ls.wire.StateChange
---@field change "file_moved"|"folder_created"|"process_started"|"process_ended"
---@field subject string
---@field source string

---@class agent_ls.wire.SymbolInput
---@field type "symbol"
---@field name string
---@field uri string
---@field startLine? integer
---@field endLine? integer

---@class agent_ls.wire.TerminalInfo
---@field terminalId string
---@field callId string
---@field command string
---@field background boolean
---@field pid? integer
---@field exitCode? integer
---@field startedMs integer
---@field waiting boolean

---@class agent_ls.wire.TerminalTextInput
---@field type "terminal"
---@field name string
---@field text? string

---@class agent_ls.wire.TextInput
---@field type "text"
---@field text string

---@class agent_ls.wire.TrustEffect
---@field type "TrustEffect"
---@field folder string
---@field owner string

---@class agent_ls.wire.TrustedFolder
---@field path string
---@field owner string
---@field trust "trusted"|"restricted"
---@field decided string

---@class agent_ls.wire.Usage
---@field inputTokens integer
---@field outputTokens integer
---@field reasoningTokens? integer
---@field cacheReadTokens? integer
---@field cacheWriteTokens? integer
---@field reportedCostUsd? number

---@class agent_ls.wire.WriteEffect
---@field type "WriteEffect"
---@field files agent_ls.wire.PlannedWrite[]
