-- Fires `User` autocommands, for example for a statusline, a spinner or a sound in the user's configuration. They are
-- fired only for new events, not for events that are replayed when a session is opened.
local log = require("agent_ls.log")
local session = require("agent_ls.session")

local M = {}

---@param name string
---@param data table
local function fire(name, data)
  vim.api.nvim_exec_autocmds("User", { pattern = "AgentLs" .. name, modeline = false, data = data })
end

---By kind of event: functions that return the name of the autocommand and its `data`.
---@type table<string, fun(data: table): string?, table?>
local NAMES = {
  user_input = function(data) return "TurnStart", { text = data.text } end,
  processing_end = function(data) return "TurnEnd", { reason = data.reason } end,
  approval_requested = function(data)
    return "ApprovalWanted", { request_id = data.requestId, tool = data.tool, summary = data.summary }
  end,
  approval_resolved = function(data)
    return "ApprovalAnswered", { request_id = data.requestId, decision = data.decision }
  end,
  question_asked = function(data) return "QuestionAsked", { question = data.question } end,
  error = function(data) return "Error", { message = data.message } end,
}

local HUNK_EVENTS = { hunk_state = true, file_change = true }

---@param change agent_ls.Change
local function tell(change)
  if change.files or change.forgotten or change.event and HUNK_EVENTS[change.event.kind] then
    local count = require("agent_ls.review.actions").count_open()
    fire("HunksChanged", { session_id = change.session_id, count = count })
  end
  local name, data
  if change.event and NAMES[change.event.kind] then
    name, data = NAMES[change.event.kind](change.event.data)
  elseif change.switched then
    name, data = "SessionChanged", {}
  end
  if name and data then
    data.session_id = change.session_id
    fire(name, data)
  end
end

function M.setup() session.listen(log.guard("running a User autocommand", tell)) end

return M
