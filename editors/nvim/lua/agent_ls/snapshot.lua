-- Folds events into one session snapshot. Pure: no buffer, no window, no clock, no connection.
-- Rules (PROTOCOL, Events): a recorded event is applied when its seq is the last one plus 1, a delta when its
-- offset is the length of its part; smaller ones are dropped; a gap of either asks for a new subscription.
local folds = require("agent_ls.folds")
local parts = require("agent_ls.parts")

local M = {}

---@alias agent_ls.Outcome "applied"|"dropped"|"gap"|"skipped"

---@return agent_ls.Snapshot
function M.new()
  return {
    session = nil,
    state = "IDLE",
    last_seq = 0,
    items = {},
    parts = {},
    part_item = {},
    calls = {},
    requests = {},
    steers = {},
    queue = {},
    hunks = {},
    hunk_item = {},
    terminals = {},
    terminal_order = {},
    turn_files = {},
    ends = {},
    usage = nil,
    questions = {},
    agents = {},
    compactions = {},
    now = {},
    touched = {},
  }
end

---What the entries that an event makes belong to.
---@param s agent_ls.Snapshot
---@param event agent_ls.wire.Event
local function set_now(s, event)
  s.now = { turn_id = event.turnId ~= "" and event.turnId or nil, agent_id = event.agentId ~= "" and event.agentId or nil }
end

---@param kind string of a delta, or of an open part
---@return string what kind of part it is
local function stem(kind) return (kind:gsub("_delta$", ""):gsub("_start$", "")) end

---@param s agent_ls.Snapshot
---@param event agent_ls.wire.Event
---@return agent_ls.Outcome
local function apply_delta(s, event)
  local kind = stem(event.kind)
  if not parts.part_of[kind] then
    return "skipped"
  end
  local known = s.parts[event.partId]
  if event.after > s.last_seq or event.offset > (known and known.length or 0) then
    return "gap"
  end
  if known and (not known.open or event.offset < known.length) then
    return "dropped"
  end
  set_now(s, event)
  local name = kind == "tool_call_args" and event.data.name or nil
  parts.extend(s, kind, event.partId, event.data.text, name)
  return "applied"
end

---Applies one message. On "gap" nothing was changed: subscribe again from `last_seq`.
---@param s agent_ls.Snapshot
---@param event agent_ls.wire.Event
---@return agent_ls.Outcome
function M.apply(s, event)
  if event.kind == "access" then
    folds.access(s, event.data)
    return "applied"
  end
  if not event.seq then
    return apply_delta(s, event)
  end
  if event.seq <= s.last_seq then
    return "dropped"
  end
  if event.seq > s.last_seq + 1 then
    return "gap"
  end
  s.last_seq = event.seq
  local known = folds.fold[event.kind]
  if not known then
    return "skipped"
  end
  set_now(s, event)
  known(s, event.data, event)
  return "applied"
end

---Takes in the answer of agent/subscribe: what was missed, the text so far of open parts, what waits for the user.
---@param s agent_ls.Snapshot
---@param result agent_ls.wire.SubscribeResult
---@return agent_ls.Outcome "gap" when the events do not follow on what is here: begin anew from 0
function M.subscribed(s, result)
  if result.lastSeq < s.last_seq then
    return "gap"
  end
  for _, event in ipairs(result.events) do
    if M.apply(s, event) == "gap" then
      return "gap"
    end
  end
  s.session = vim.tbl_extend("force", s.session or {}, result.session)
  s.session.owner = result.session.owner
  s.state = result.session.state
  for _, open in ipairs(result.openParts) do
    parts.reopen(s, stem(open.kind), open)
  end
  s.now = {}
  for _, request in ipairs(result.pending.approvals) do
    folds.ask(s, request)
  end
  for _, question in ipairs(result.pending.questions) do
    folds.ask_question(s, question)
  end
  s.draft = result.draft
  return "applied"
end

---A sentence of our own (not of the session's log) at the end of the transcript.
---@param s agent_ls.Snapshot
---@param level "info"|"warn"|"error"
---@param text string
---@param hint string?
function M.add_notice(s, level, text, hint)
  folds.notice(s, level, text, hint, ("local:%d"):format(#s.items + 1))
end

---Whether another process owns the session: it can be read here, not changed.
---@param s agent_ls.Snapshot
---@return boolean
function M.is_read_only(s) return s.session ~= nil and s.session.access == "readOnly" end

---The approvals that wait, oldest first; of another editor's session they are not for this user to answer.
---@param s agent_ls.Snapshot
---@return agent_ls.Item[]
function M.pending(s)
  local out = {}
  if M.is_read_only(s) then
    return out
  end
  for _, item in pairs(s.requests) do
    if item.status == "pending" then
      out[#out + 1] = item
    end
  end
  table.sort(out, function(a, b) return a.index < b.index end)
  return out
end

---The questions that wait, oldest first.
---@param s agent_ls.Snapshot
---@return agent_ls.Item[]
function M.open_questions(s)
  if M.is_read_only(s) then
    return {}
  end
  local out = vim.tbl_filter(function(item) return item.status == "pending" end, vim.tbl_values(s.questions))
  table.sort(out, function(a, b) return a.index < b.index end)
  return out
end

---The indexes of the items that changed since the last call, in order.
---@param s agent_ls.Snapshot
---@return integer[]
function M.drain(s)
  local out = vim.tbl_keys(s.touched)
  table.sort(out)
  s.touched = {}
  return out
end

---What the session does, in the words that the panel and the statusline share.
---@param s agent_ls.Snapshot
---@return "working"|"waiting"|"idle"|"closed"
function M.activity(s)
  if s.state == "CLOSED" then
    return "closed"
  end
  if s.state == "AWAITING_INPUT" or #M.pending(s) + #M.open_questions(s) > 0 then
    return "waiting"
  end
  return s.state == "PROCESSING" and "working" or "idle"
end

return M
