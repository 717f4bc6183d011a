---@meta
-- Requests of the server to this client, with the types of their answers. Types only: this file is never loaded.
-- Written by `python -m tests.tools.wire_types` from the server's own types.

---@class agent_ls.wire.AskedParams
---@field save agent_ls.wire.AskedSave
---@field checkTime agent_ls.wire.AskedCheckTime
---@field editNotebook agent_ls.wire.AskedNotebookEdit
---@field terminalOpen agent_ls.wire.AskedTerminal
---@field terminalRuns agent_ls.wire.AskedTerminalRuns
---@field definition agent_ls.wire.AskedPosition
---@field references agent_ls.wire.AskedPosition
---@field symbols agent_ls.wire.AskedSymbols
---@field rename agent_ls.wire.AskedRename
---@field diagnostics agent_ls.wire.AskedDiagnostics
---@field hover agent_ls.wire.AskedPosition
---@field implementations agent_ls.wire.AskedPosition
---@field calls agent_ls.wire.AskedCalls
---@field actions agent_ls.wire.AskedActions
---@field actionEdits agent_ls.wire.AskedActionEdits

---@class agent_ls.wire.AskedResults
---@field save agent_ls.wire.Saved
---@field checkTime agent_ls.wire.Empty
---@field editNotebook agent_ls.wire.Empty
---@field terminalOpen agent_ls.wire.Empty
---@field terminalRuns agent_ls.wire.Empty
---@field definition agent_ls.wire.CodeLocations
---@field references agent_ls.wire.CodeLocations
---@field symbols agent_ls.wire.CodeSymbols
---@field rename agent_ls.wire.RenameEdits
---@field diagnostics agent_ls.wire.DiagnosedFiles
---@field hover agent_ls.wire.HoverTexts
---@field implementations agent_ls.wire.CodeLocations
---@field calls agent_ls.wire.CodeCalls
---@field actions agent_ls.wire.CodeActions
---@field actionEdits agent_ls.wire.ActionEdits

---@class agent_ls.wire.ActionEdits
---@field documents agent_ls.wire.DocumentEdits[]
---@field fileOperations? string[]
---@field command? string

---@class agent_ls.wire.AskedActionEdits
---@field uri string
---@field startLine integer
---@field startCharacter integer
---@field endLine integer
---@field endCharacter integer
---@field title string

---@class agent_ls.wire.AskedActions
---@field uri string
---@field startLine integer
---@field startCharacter integer
---@field endLine integer
---@field endCharacter integer

---@class agent_ls.wire.AskedCalls
---@field uri string
---@field line integer
---@field character integer
---@field direction "incoming"|"outgoing"

---@class agent_ls.wire.AskedCheckTime
---@field uris string[]

---@class agent_ls.wire.AskedDiagnostics
---@field uri? string

---@class agent_ls.wire.AskedNotebookEdit
---@field uri string
---@field cellCount integer
---@field texts agent_ls.wire.CellText[]
---@field splices agent_ls.wire.CellSplice[]

---@class agent_ls.wire.AskedPosition
---@field uri string
---@field line integer
---@field character integer

---@class agent_ls.wire.AskedRename
---@field uri string
---@field line integer
---@field character integer
---@field newName string

---@class agent_ls.wire.AskedSave
---@field documents agent_ls.wire.NamedDocument[]

---@class agent_ls.wire.AskedSymbols
---@field uri? string
---@field query? string

---@class agent_ls.wire.AskedTerminal
---@field terminalId string
---@field argv string[]
---@field cwd string
---@field title string

---@class agent_ls.wire.AskedTerminalRuns
---@field terminalId string
---@field callId string

---@class agent_ls.wire.CodeActions
---@field actions agent_ls.wire.CodeActionInfo[]

---@class agent_ls.wire.CodeCalls
---@field calls agent_ls.wire.FunctionCalls[]
---@field truncated? boolean

---@class agent_ls.wire.CodeLocations
---@field locations agent_ls.wire.CodeLocation[]
---@field truncated? boolean

---@class agent_ls.wire.CodeSymbols
---@field symbols agent_ls.wire.CodeSymbol[]
---@field truncated? boolean

---@class agent_ls.wire.DiagnosedFiles
---@field files agent_ls.wire.Diagnostics[]

---@class agent_ls.wire.HoverTexts
---@field texts string[]

---@class agent_ls.wire.RenameEdits
---@field documents agent_ls.wire.DocumentEdits[]
---@field fileOperations? string[]

---@class agent_ls.wire.Saved
---@field saved? string[]
---@field failed? agent_ls.wire.NotSaved[]
