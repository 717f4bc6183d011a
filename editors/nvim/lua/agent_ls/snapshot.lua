-- Applies events to the snapshot of a session. Pure. The rules are in docs/protocol/events.md: A recorded event is
-- applied if its seq follows the last one; a delta is applied if its offset is the length of its part. An event
-- with a smaller seq or offset is dropped. If a number is larger, the client has to subscribe again.
local reducers = require("agent_ls.reducers")
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
    proposed = {},
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

---Sets the turn and the agent of the event that is being applied; new items get these values.
---@param s agent_ls.Snapshot
---@param event agent_ls.wire.Event
local function set_now(s, event)
  s.now = { turn_id = event.turnId ~= "" and event.turnId or nil, agent_id = event.agentId ~= "" and event.agentId or nil }
end

---Returns the kind of part ("text") that belongs to an event kind ("text_delta", "text_start").
---@param kind string
---@return string
local function part_kind(kind) return (kind:gsub("_delta$", ""):gsub("_start$", "")) end

---@param s agent_ls.Snapshot
---@param event agent_ls.wire.Event
---@return agent_ls.Outcome
local function apply_delta(s, event)
  local kind = part_kind(event.kind)
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
  parts.append_text(s, kind, event.partId, event.data.text, name)
  return "applied"
end

---Applies one event. On "gap" the snapshot is unchanged, and the caller has to subscribe again from `last_seq`.
---@param s agent_ls.Snapshot
---@param event agent_ls.wire.Event
---@return agent_ls.Outcome
function M.apply(s, event)
  if event.kind == "access" then
    reducers.set_access(s, event.data)
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
  local known = reducers.by_kind[event.kind]
  if not known then
    return "skipped"
  end
  set_now(s, event)
  known(s, event.data, event)
  return "applied"
end

---Applies the answer of agent/subscribe: missed events, the text of parts that are still streamed, pending requests.
---@param s agent_ls.Snapshot
---@param result agent_ls.wire.SubscribeResult
---@return agent_ls.Outcome "gap" if the events do not continue this snapshot; then subscribe from 0
function M.apply_subscription(s, result)
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
    parts.reopen(s, part_kind(open.kind), open)
  end
  s.now = {}
  for _, request in ipairs(result.pending.approvals) do
    reducers.add_approval(s, request)
  end
  for _, question in ipairs(result.pending.questions) do
    reducers.add_question(s, question)
  end
  s.draft = result.draft
  return "applied"
end

---Adds a notice of the plugin (not of the session's log) at the end of the transcript.
---@param s agent_ls.Snapshot
---@param level "info"|"warn"|"error"
---@param text string
---@param hint string?
---@param actions string[]? names of remedies
function M.add_notice(s, level, text, hint, actions)
  local item = reducers.add_notice(s, level, text, hint, ("local:%d"):format(#s.items + 1))
  if actions then
    reducers.set_failure(s, item, actions)
  end
end

---Whether the session is read-only here, because another process owns it.
---@param s agent_ls.Snapshot
---@return boolean
function M.is_read_only(s) return s.session ~= nil and s.session.access == "readOnly" end

---Lists the pending approvals, oldest first; none if another editor owns the session, because only that editor
---answers them.
---@param s agent_ls.Snapshot
---@return agent_ls.Item[]
function M.pending_approvals(s)
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

---Lists the pending questions, oldest first.
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

---Marks running calls as changed, because their durations have changed.
---@param s agent_ls.Snapshot
function M.touch_running(s)
  for _, item in pairs(s.calls) do
    if item.status == "running" then
      parts.mark_changed(s, item)
    end
  end
end

---Returns the indexes of the items that have changed since the last call of this function, in order.
---@param s agent_ls.Snapshot
---@return integer[]
function M.take_changed(s)
  local out = vim.tbl_keys(s.touched)
  table.sort(out)
  s.touched = {}
  return out
end

---Whether there are proposed changes that this editor can decide.
---@param s agent_ls.Snapshot
---@return boolean
function M.has_proposals(s) return next(s.proposed) ~= nil and not M.is_read_only(s) end

---Returns the session's activity for the panel and the statusline.
---@param s agent_ls.Snapshot
---@return "working"|"waiting"|"idle"|"closed"
function M.describe_activity(s)
  if s.state == "CLOSED" then
    return "closed"
  end
  if s.state == "AWAITING_INPUT" or #M.pending_approvals(s) + #M.open_questions(s) > 0 then
    return "waiting"
  end
  if s.state == "PROCESSING" and M.has_proposals(s) then
    return "waiting"
  end
  return s.state == "PROCESSING" and "working" or "idle"
end

return M
