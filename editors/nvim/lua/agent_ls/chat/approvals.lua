-- The user's answers to what the agent asks leave for. It decides nothing: what was asked is answered by its id.
local float = require("agent_ls.float")
local log = require("agent_ls.log")
local questions = require("agent_ls.chat.questions")
local session = require("agent_ls.session")
local snapshot = require("agent_ls.snapshot")

local M = {}

---A press that comes so soon after the last one is of a key that is held, or was struck twice: it answers nothing.
M.repeat_ms = 250

local last_press_ms = -math.huge

---@param item agent_ls.Item?
---@return agent_ls.Item? item that waits: the one given, else the oldest
local function waiting(item)
  local is_ours = not snapshot.is_read_only(session.snapshot())
  if is_ours and item and item.kind == "approval" and item.status == "pending" then
    return item
  end
  local oldest = snapshot.pending(session.snapshot())[1]
  if not is_ours then
    session.say_others("answered")
  elseif not oldest then
    log.notify("Nothing waits for approval.")
  end
  return oldest
end

---A question that is meant: the one under the cursor, or the only thing that waits.
---@param item agent_ls.Item?
---@return agent_ls.Item?
local function question(item)
  local on_approval = item and item.kind == "approval" and item.status == "pending"
  local nothing_else = #snapshot.pending(session.snapshot()) == 0
  local on_question = item and item.kind == "question" and item.status == "pending"
  return not on_approval and (on_question or nothing_else) and questions.waiting(item) or nil
end

---For a key: what `answer` does, once per press. A held key must not allow what nobody has read.
---@param answer fun(item: agent_ls.Item?)
---@return fun(item: agent_ls.Item?)
function M.once_per_press(answer)
  return function(item)
    local now_ms = vim.uv.hrtime() / 1e6
    local is_repeat = now_ms - last_press_ms < M.repeat_ms
    last_press_ms = now_ms
    if not is_repeat then
      answer(item)
    end
  end
end

---@param item agent_ls.Item? what the cursor is on
function M.allow(item)
  local asked_question = question(item)
  if asked_question then
    return questions.answer(asked_question)
  end
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
  local effect = asked.request.effect or {}
  local command = effect.command
  if not command or effect.inputOf then
    return log.notify("Only a command can be changed; allow this, or deny it with a reason.")
  end
  if command:find("\n") then
    local options = { title = "run instead", filetype = "sh", footer = "<C-s> or :w runs it · q leaves" }
    return float.write(vim.split(command, "\n"), options, function(lines)
      local text = table.concat(lines, "\n")
      if vim.trim(text) ~= "" then
        session.approve(asked, { decision = "allow", command = text ~= command and text or nil })
      end
    end)
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
  local asked_question = question(item)
  if asked_question then
    return questions.decline(asked_question)
  end
  local asked = waiting(item)
  if not asked then
    return
  end
  local answer = function(text)
    if text then
      session.approve(asked, { decision = "deny", reason = text })
    end
  end
  local is_trust = (asked.request.effect or {}).folder ~= nil
  if is_trust or (reason and reason ~= "") then
    return answer(reason or "")
  end
  vim.ui.input({ prompt = "Deny; reason for the model (may be empty): " }, answer)
end

return M
