-- Sends verdicts by id. What the user has typed in is undone only after a question; what is refused is said.
local session = require("agent_ls.session")

local M = {}

---@alias agent_ls.Verdict "keep"|"undo"

---@class agent_ls.Judgement more about a verdict
---@field comment string? told to the model
---@field lines integer[]? [first, last) of the new lines of the one hunk
---@field replacement string? kept in place of the new lines of the one hunk

---@param params table
local function send(params)
  -- What changed comes as hunk_state events, to all who look at these hunks.
  session.review(params, function(result)
    for _, refused in ipairs(result.refused) do
      session.say("warn", refused.reason ~= "" and refused.reason or "A change was left as it is.")
    end
  end)
end

---@param hunks agent_ls.Hunk[]
---@param verdict agent_ls.Verdict
---@param more agent_ls.Judgement?
function M.judge(hunks, verdict, more)
  local all_others = vim.iter(hunks):all(function(hunk) return session.is_others(hunk.session_id) end)
  if #hunks > 0 and all_others then
    return session.say_others("decided")
  end
  local ids = vim.tbl_map(function(hunk) return hunk.id end, hunks)
  local params = vim.tbl_extend("force", { hunkIds = ids, verdict = verdict }, more or {})
  local edited = vim.tbl_filter(function(hunk) return hunk.state == "edited" end, hunks)
  if verdict == "keep" or #edited == 0 then
    return send(params)
  end
  params.confirm = true
  require("agent_ls.review.confirm").ask(edited, function() send(params) end)
end

return M
