-- The user's answers to approval requests.
local float = require("agent_ls.float")
local log = require("agent_ls.log")
local questions = require("agent_ls.chat.questions")
local session = require("agent_ls.session")
local snapshot = require("agent_ls.snapshot")

local M = {}

---A key press within this time after the last one is ignored, because it comes from a held or bouncing key.
M.repeat_ms = 250

local last_press_ms = -math.huge

---Finds the approval to answer: the given item if it is a pending approval, else the oldest pending one. Notifies the
---user if there is none.
---@param item agent_ls.Item?
---@return agent_ls.Item?
local function find_pending(item)
  local is_ours = not snapshot.is_read_only(session.snapshot())
  if is_ours and item and item.kind == "approval" and item.status == "pending" then
    return item
  end
  local oldest = snapshot.pending_approvals(session.snapshot())[1]
  if not is_ours then
    session.warn_read_only("answered")
  elseif not oldest then
    log.notify("No request waits for your approval.")
  end
  return oldest
end

---Finds the question that the key answers: the one under the cursor, or the oldest if no approval is pending. Returns
---nil if the key answers an approval.
---@param item agent_ls.Item? under the cursor
---@return agent_ls.Item?
local function find_question(item)
  local on_approval = item and item.kind == "approval" and item.status == "pending"
  local nothing_else = #snapshot.pending_approvals(session.snapshot()) == 0
  local on_question = item and item.kind == "question" and item.status == "pending"
  return not on_approval and (on_question or nothing_else) and questions.find_pending(item) or nil
end

---Wraps a key's handler so that it runs once per press. A held key must not allow requests that the user has not
---read.
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

local MAX_EXAMPLES = 2 -- example commands that a rule would allow, and as many that it would not allow

---Describes a rule in one line of a menu, with example commands.
---@param rule agent_ls.wire.RuleOffer
---@return string
local function rule_words(rule)
  local words = { require("agent_ls.chat.render_changes").rule_label(rule) }
  for _, examples in ipairs({ { "would also allow: ", rule.allows or {} }, { "would still need approval: ", rule.stillAsked or {} } }) do
    if #examples[2] > 0 then
      words[#words + 1] = examples[1] .. table.concat(vim.list_slice(examples[2], 1, MAX_EXAMPLES), ", ")
    end
  end
  return table.concat(words, "; ")
end

---Returns whether the user has seen all of the request. If not, scrolls to it, or on in it; the user then has to press
---the key again.
---@param asked agent_ls.Item
---@return boolean
local function is_in_sight(asked)
  local shown = require("agent_ls.chat.view").show_asked(asked)
  if shown == nil then
    log.notify("The request is now in view: read it, then press the key again.")
  elseif shown == "part" then
    log.notify("The request goes on: read it to its end, then press the key again.")
  end
  return shown == "end"
end

---Allows a pending request once. If `find_question` returns a question, lets the user answer that instead.
---@param item agent_ls.Item? under the cursor
function M.allow(item)
  local asked_question = find_question(item)
  if asked_question then
    return questions.answer(asked_question)
  end
  local asked = find_pending(item)
  if asked and is_in_sight(asked) then
    session.approve(asked, { decision = "allow" })
  end
end

---Allows a pending request and creates one of the rules that the server offers.
---@param item agent_ls.Item?
function M.allow_rule(item)
  local asked = find_pending(item)
  if not asked or not is_in_sight(asked) then
    return
  end
  local rules = asked.request.rules or {}
  local choose = function(rule)
    if rule then
      session.approve(asked, { decision = "allow", scope = rule.scope, rule_id = rule.id })
    end
  end
  if #rules == 0 then
    return log.notify("agent-ls offers no rule to allow this request from now on. Allow it once, or deny it.")
  end
  local has_examples = #(rules[1].allows or {}) + #(rules[1].stillAsked or {}) > 0
  if #rules == 1 and not has_examples then
    return choose(rules[1])
  end
  require("agent_ls.menu").select(rules, { prompt = "Allow from now on", format_item = rule_words }, choose)
end

---Lets the user edit a command, and allows the edited one. If the user cancels or empties the prompt, the request stays
---pending.
---@param item agent_ls.Item?
function M.edit(item)
  local asked = find_pending(item)
  if not asked then
    return
  end
  local effect = asked.request.effect or {}
  local command = effect.command
  if not command or effect.inputOf then
    return log.notify("Only a command can be changed; allow this request, or deny the request with a reason.")
  end
  if command:find("\n") then
    local options = { title = "run instead", filetype = "sh", footer = "<C-s> or :w runs the command · q closes" }
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

---Denies a request with a reason for the model. If the user cancels the prompt, the request stays pending.
---@param item agent_ls.Item?
---@param reason string? the user is asked for it if nil
function M.deny(item, reason)
  local asked_question = find_question(item)
  if asked_question then
    return questions.decline(asked_question)
  end
  local asked = find_pending(item)
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
