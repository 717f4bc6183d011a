-- Sends the user's decisions about hunks to the server, and reports refused ones. Before a change that the user
-- has edited is undone, the user has to confirm.
local session = require("agent_ls.session")

local M = {}

---@alias agent_ls.Decision "keep"|"undo"

---@class agent_ls.Judgement details of a decision
---@field comment string? sent to the model
---@field lines integer[]? decide only about these new lines, [first, last); for a single hunk
---@field replacement string? text in place of the new lines; for a single hunk

---@param params table
local function send(params)
  -- The result is not applied here: the changed hunks also arrive as hunk_state events.
  session.review(params, function(result)
    for _, refused in ipairs(result.refused) do
      local words = refused.reason ~= "" and refused.reason or "One change could not be kept or undone."
      session.add_notice("warn", words)
    end
  end)
end

---Sends a decision about hunks. If it would undo edits of the user, asks the user first.
---@param hunks agent_ls.Hunk[]
---@param decision agent_ls.Decision
---@param more agent_ls.Judgement?
function M.judge(hunks, decision, more)
  local all_others = vim.iter(hunks):all(function(hunk) return session.is_owned_elsewhere(hunk.session_id) end)
  if #hunks > 0 and all_others then
    return session.warn_read_only("decided")
  end
  local ids = vim.tbl_map(function(hunk) return hunk.id end, hunks)
  local params = vim.tbl_extend("force", { hunkIds = ids, verdict = decision }, more or {})
  local edited = vim.tbl_filter(function(hunk) return hunk.state == "edited" end, hunks)
  if decision == "keep" or #edited == 0 then
    return send(params)
  end
  params.confirm = true
  require("agent_ls.review.undo_confirmation").ask_user(edited, function() send(params) end)
end

return M
