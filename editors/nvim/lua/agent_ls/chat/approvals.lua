-- The user's answers to what the agent asks leave for. It decides nothing: what was asked is answered by its id.
local log = require("agent_ls.log")
local session = require("agent_ls.session")
local snapshot = require("agent_ls.snapshot")

local M = {}

---@param item agent_ls.Item?
---@return agent_ls.Item? item that waits: the one given, else the oldest
local function waiting(item)
  if item and item.kind == "approval" and item.status == "pending" then
    return item
  end
  local oldest = snapshot.pending(session.snapshot())[1]
  if not oldest then
    log.notify("Nothing waits for approval.")
  end
  return oldest
end

---@param item agent_ls.Item? what the cursor is on
function M.allow(item)
  local asked = waiting(item)
  if asked then
    session.approve(asked, { decision = "allow" })
  end
end

---@param item agent_ls.Item?
function M.allow_rule(item)
  local asked = waiting(item)
  if not asked then
    return
  end
  local rules = asked.request.rules or {}
  local choose = function(rule)
    if rule then
      session.approve(asked, { decision = "allow", scope = rule.scope, rule_id = rule.id })
    end
  end
  if #rules == 0 then
    return log.notify("No rule is offered for this; allow it once, or deny it.")
  end
  if #rules == 1 then
    return choose(rules[1])
  end
  vim.ui.select(rules, {
    prompt = "Allow from now on",
    format_item = function(rule) return ("%s (this %s)"):format(rule.label, rule.scope) end,
  }, choose)
end

---Allows a command with words of the user's own in it; leaving the prompt, or emptying it, answers nothing.
---@param item agent_ls.Item?
function M.edit(item)
  local asked = waiting(item)
  if not asked then
    return
  end
  local command = (asked.request.effect or {}).command
  if not command then
    return log.notify("Only a command can be changed; allow this, or deny it with a reason.")
  end
  if command:find("\n") then
    return log.notify("This command has several lines; deny it and say what to run instead.")
  end
  vim.ui.input({ prompt = "Run instead: ", default = command }, function(text)
    if text and vim.trim(text) ~= "" then
      session.approve(asked, { decision = "allow", command = text ~= command and text or nil })
    end
  end)
end

---Asks for a reason, which the model is told; leaving that prompt denies nothing.
---@param item agent_ls.Item?
---@param reason string? not asked for when given
function M.deny(item, reason)
  local asked = waiting(item)
  if not asked then
    return
  end
  local answer = function(text)
    if text then
      session.approve(asked, { decision = "deny", reason = text })
    end
  end
  if reason and reason ~= "" then
    return answer(reason)
  end
  vim.ui.input({ prompt = "Deny; reason for the model (may be empty): " }, answer)
end

return M
