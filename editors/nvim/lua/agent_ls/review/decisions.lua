-- Sends decisions by hunk id. Undoing a change in which the user has typed needs a confirmation; refusals are shown.
local session = require("agent_ls.session")

local M = {}

---@alias agent_ls.Decision "keep"|"undo"

---@class agent_ls.Judgement details of a decision
---@field comment string? sent to the model
---@field lines integer[]? [first, last) of the new lines of the one hunk
---@field replacement string? kept in place of the new lines of the one hunk

---@param params table
local function send(params)
  -- The changed hunks arrive as hunk_state events, for all views.
  session.review(params, function(result)
    for _, refused in ipairs(result.refused) do
      session.say("warn", refused.reason ~= "" and refused.reason or "A change was left unchanged.")
    end
  end)
end

---Sends a decision about hunks. Asks first before it undoes edits of the user.
---@param hunks agent_ls.Hunk[]
---@param decision agent_ls.Decision
---@param more agent_ls.Judgement?
function M.judge(hunks, decision, more)
  local all_others = vim.iter(hunks):all(function(hunk) return session.is_others(hunk.session_id) end)
  if #hunks > 0 and all_others then
    return session.say_others("decided")
  end
  local ids = vim.tbl_map(function(hunk) return hunk.id end, hunks)
  local params = vim.tbl_extend("force", { hunkIds = ids, verdict = decision }, more or {})
  local edited = vim.tbl_filter(function(hunk) return hunk.state == "edited" end, hunks)
  if decision == "keep" or #edited == 0 then
    return send(params)
  end
  params.confirm = true
  require("agent_ls.review.confirm").ask_user(edited, function() send(params) end)
end

return M
