---@meta
-- Messages of agent/event, and their data by kind. Types only: this file is never loaded.
-- Written by `python -m tests.tools.wire_types` from the server's own types.

---@class agent_ls.wire.Event
---@field kind string
---@field data table
---@field sessionId string
---@field seq? integer
---@field timestamp string
---@field turnId? string
---@field agentId? string
---@field after? integer
---@field partId? string
---@field offset? integer

---@class agent_ls.wire.EventData
---@field session_start agent_ls.wire.SessionStart
---@field session_end agent_ls.wire.SessionEnd
---@field state agent_ls.wire.StateChanged
---@field user_input agent_ls.wire.UserInput
---@field processing_end agent_ls.wire.ProcessingEnd
---@field assistant_text_start agent_ls.wire.AssistantTextStart
---@field assistant_text_end agent_ls.wire.AssistantTextEnd
---@field reasoning_start agent_ls.wire.ReasoningStart
---@field reasoning_end agent_ls.wire.ReasoningEnd
---@field tool_call_start agent_ls.wire.ToolCallStart
---@field tool_call_end agent_ls.wire.ToolCallEnd
---@field steering_queued agent_ls.wire.SteeringQueued
---@field steering_removed agent_ls.wire.SteeringRemoved
---@field steering_injected agent_ls.wire.SteeringInjected
---@field queue agent_ls.wire.QueueChanged
---@field queue_splice agent_ls.wire.QueueSpliced
---@field plan agent_ls.wire.PlanChanged
---@field turn_limit agent_ls.wire.TurnLimit
---@field loop_detection agent_ls.wire.LoopDetection
---@field usage agent_ls.wire.UsageReport
---@field compaction agent_ls.wire.Compaction
---@field cache_lost agent_ls.wire.CacheLost
---@field file_change agent_ls.wire.FileChange
---@field diagnostics agent_ls.wire.EditDiagnosed
---@field save_requested agent_ls.wire.SaveRequested
---@field hunk_state agent_ls.wire.HunkStateChanged
---@field approval_requested agent_ls.wire.ApprovalRequested
---@field approval_resolved agent_ls.wire.ApprovalResolved
---@field question_asked agent_ls.wire.QuestionAsked
---@field question_answered agent_ls.wire.QuestionAnswered
---@field rule_removed agent_ls.wire.RuleRemoved
---@field terminal_open agent_ls.wire.TerminalOpen
---@field terminal_waiting agent_ls.wire.TerminalWaiting
---@field terminal_exit agent_ls.wire.TerminalExit
---@field subagent agent_ls.wire.SubagentChanged
---@field turn_facts agent_ls.wire.TurnFacts
---@field retry agent_ls.wire.Retry
---@field warning agent_ls.wire.Warning
---@field error agent_ls.wire.Error
---@field reverted agent_ls.wire.Reverted
---@field title agent_ls.wire.Title
---@field missing agent_ls.wire.MissingData
---@field client_request agent_ls.wire.ClientRequestData
---@field access agent_ls.wire.AccessData
---@field assistant_text_delta agent_ls.wire.DeltaData
---@field reasoning_delta agent_ls.wire.DeltaData
---@field tool_call_args_delta agent_ls.wire.DeltaData
---@field tool_call_output_delta agent_ls.wire.DeltaData

---@class agent_ls.wire.AccessData
---@field access "owner"|"readOnly"
---@field owner? agent_ls.wire.OwnerInfo

---@class agent_ls.wire.ApprovalRequested
---@field requestId string
---@field callId string
---@field tool string
---@field summary string
---@field reason string
---@field effect agent_ls.wire.Effect
---@field digest string
---@field rules agent_ls.wire.RuleOffer[]
---@field agentId string
---@field cause "mode"|"outside"|"sensitive"|"danger"|"unclear"|"network"|"sandbox"|"trust"|"tool"|"hook"

---@class agent_ls.wire.ApprovalResolved
---@field requestId string
---@field decision "allow"|"deny"
---@field scope string
---@field decidedBy string
---@field reason string
---@field ruleId string
---@field clientKey string
---@field command string

---@class agent_ls.wire.AssistantTextEnd
---@field partId string
---@field text string
---@field interrupted boolean
---@field reasoning string

---@class agent_ls.wire.AssistantTextStart
---@field partId string

---@class agent_ls.wire.CacheLost
---@field reason "model"|"tools"|"documents"|"instructions"|"compaction"|"provider"
---@field message string
---@field tokens integer

---@class agent_ls.wire.ClientRequestData
---@field requestId string
---@field clientId string
---@field what string
---@field params table
---@field deadlineMs integer

---@class agent_ls.wire.Compaction
---@field compactionId string
---@field status "started"|"done"|"failed"|"interrupted"
---@field trigger "auto"|"request"|"overflow"
---@field strategy "summarize"|"dropOldest"|"slidingWindow"
---@field tokensBefore integer
---@field tokensAfter integer
---@field removed integer
---@field kept integer
---@field summary string
---@field message string
---@field clientKey string

---@class agent_ls.wire.DeltaData
---@field text string
---@field name? string

---@class agent_ls.wire.EditDiagnosed
---@field callId string
---@field files agent_ls.wire.DiagnosedFile[]

---@class agent_ls.wire.Error
---@field message string
---@field errorKind string
---@field hint string
---@field retryable boolean
---@field action ""|"setKey"|"retry"|"continue"|"manageTrust"|"chooseModel"

---@class agent_ls.wire.FileChange
---@field callId string
---@field path string
---@field action "create"|"modify"|"delete"
---@field added integer
---@field removed integer
---@field diff string
---@field hunks agent_ls.wire.Hunk[]
---@field copyOf string
---@field uri string

---@class agent_ls.wire.HunkStateChanged
---@field path string
---@field hunks agent_ls.wire.Hunk[]
---@field by "user"|"editor"|"agent"|"look"
---@field comment string
---@field uri string

---@class agent_ls.wire.LoopDetection
---@field message string

---@class agent_ls.wire.MissingData

---@class agent_ls.wire.PlanChanged
---@field explanation string
---@field items agent_ls.wire.PlanItem[]

---@class agent_ls.wire.ProcessingEnd
---@field reason "completed"|"interrupted"|"limit"|"error"|"aborted"|"refused"

---@class agent_ls.wire.QuestionAnswered
---@field questionId string
---@field answers string[]
---@field declined boolean
---@field decidedBy string
---@field clientKey string

---@class agent_ls.wire.QuestionAsked
---@field questionId string
---@field callId string
---@field question string
---@field choices string[]
---@field multiple boolean
---@field purpose "question"|"limit"

---@class agent_ls.wire.QueueChanged
---@field items agent_ls.wire.QueueItem[]

---@class agent_ls.wire.QueueSpliced
---@field at integer
---@field removed integer
---@field items agent_ls.wire.QueueItem[]

---@class agent_ls.wire.ReasoningEnd
---@field partId string
---@field text string
---@field interrupted boolean

---@class agent_ls.wire.ReasoningStart
---@field partId string

---@class agent_ls.wire.Retry
---@field attempt integer
---@field delayMs integer
---@field errorKind string
---@field message string

---@class agent_ls.wire.Reverted
---@field revertId string
---@field atTurnId string
---@field conversation boolean
---@field turns string[]
---@field restoredTurns string[]
---@field files agent_ls.wire.RevertedFile[]

---@class agent_ls.wire.RuleRemoved
---@field ruleId string

---@class agent_ls.wire.SaveRequested
---@field callId string
---@field paths string[]

---@class agent_ls.wire.SessionEnd
---@field state "IDLE"|"PROCESSING"|"AWAITING_INPUT"|"CLOSED"
---@field reason "completed"|"interrupted"|"limit"|"error"|"aborted"|"refused"|"suspended"

---@class agent_ls.wire.SessionStart
---@field provider string
---@field model string
---@field workingDirectory string
---@field resumed boolean
---@field isWalkthrough boolean

---@class agent_ls.wire.StateChanged
---@field state "IDLE"|"PROCESSING"|"AWAITING_INPUT"|"CLOSED"

---@class agent_ls.wire.SteeringInjected
---@field steerId string
---@field text string

---@class agent_ls.wire.SteeringQueued
---@field steerId string
---@field text string
---@field clientKey string

---@class agent_ls.wire.SteeringRemoved
---@field steerId string

---@class agent_ls.wire.SubagentChanged
---@field agentId string
---@field status "running"|"completed"|"failed"
---@field callId string
---@field task string
---@field model string
---@field workingDir string
---@field reason ""|"limit"|"refused"|"error"|"interrupted"|"closed"|"stopped"
---@field output string
---@field turnsUsed integer
---@field agentKind string

---@class agent_ls.wire.TerminalExit
---@field terminalId string
---@field exitCode? integer

---@class agent_ls.wire.TerminalOpen
---@field terminalId string
---@field callId string
---@field title string
---@field background boolean

---@class agent_ls.wire.TerminalWaiting
---@field terminalId string
---@field callId string
---@field waiting boolean

---@class agent_ls.wire.Title
---@field title string

---@class agent_ls.wire.ToolCallEnd
---@field callId string
---@field name string
---@field output string
---@field summary string
---@field isError boolean
---@field errorKind string
---@field durationMs integer
---@field outputChars integer
---@field outputRef string
---@field exitCode? integer
---@field modelChars? integer
---@field index? integer
---@field inputSummary string
---@field outputBytes? integer
---@field changes agent_ls.wire.StateChange[]

---@class agent_ls.wire.ToolCallStart
---@field callId string
---@field index integer
---@field name string
---@field arguments string
---@field summary string
---@field look "read"|"search"|"edit"|"move"|"delete"|"execute"|"fetch"|"think"|"other"
---@field doing string
---@field done string

---@class agent_ls.wire.TurnFacts
---@field text string
---@field files integer
---@field checks agent_ls.wire.CheckRun[]
---@field otherCommands integer
---@field newProblems? integer
---@field fixedProblems? integer

---@class agent_ls.wire.TurnLimit
---@field limit string
---@field count integer
---@field message string

---@class agent_ls.wire.UsageReport
---@field call agent_ls.wire.Usage
---@field total agent_ls.wire.Usage
---@field contextTokens integer
---@field contextWindowTokens integer
---@field callCostUsd? number
---@field totalCostUsd? number
---@field context agent_ls.wire.ContextParts
---@field calibration number
---@field durationMs? integer
---@field firstOutputMs? integer
---@field estimated boolean

---@class agent_ls.wire.UserInput
---@field text string
---@field clientKey string
---@field queuedId string

---@class agent_ls.wire.Warning
---@field message string
---@field code string
---@field action ""|"setKey"|"retry"|"continue"|"manageTrust"|"chooseModel"
