-- Reducers: functions that apply the events of a session to its snapshot, one for each kind of event. Pure.
-- snapshot.lua calls them, and checks the order of the events (seq, offsets).
local parts = require("agent_ls.parts")
local protocol = require("agent_ls.protocol")
local remedies = require("agent_ls.remedies")
local tool_words = require("agent_ls.tool_words")
local words = require("agent_ls.shared_words")

local M = {}

local add, call, touch = parts.add_item, parts.ensure_call, parts.mark_changed

---@param s agent_ls.Snapshot
---@param level "info"|"warn"|"error"
---@param text string
---@param hint string?
---@param id string
function M.add_notice(s, level, text, hint, id)
  return add(s, { kind = "notice", id = id, level = level, text = text, hint = hint ~= "" and hint or nil })
end

---Sets the newest error that the user can act on. A nil item clears it, because the user has continued.
---@param s agent_ls.Snapshot
---@param item agent_ls.Item?
---@param actions string[]? names of remedies
function M.set_failure(s, item, actions)
  touch(s, s.failure)
  s.failure = nil
  if item and actions then
    item.actions, s.failure = actions, item
    touch(s, item)
  end
end

---@param s agent_ls.Snapshot
---@param raw agent_ls.wire.Hunk
---@return agent_ls.Hunk
local function set_hunk(s, raw)
  local hunk = protocol.hunk_of_event(raw)
  s.hunks[hunk.id] = hunk
  s.proposed[hunk.id] = hunk.state == "proposed" or nil
  touch(s, s.hunk_item[hunk.id])
  return hunk
end

---@param s agent_ls.Snapshot
---@param data agent_ls.wire.ApprovalRequested
function M.add_approval(s, data)
  if s.requests[data.requestId] then
    return
  end
  s.requests[data.requestId] = add(s, {
    kind = "approval",
    id = data.requestId,
    request = data,
    summary = data.summary,
    status = "pending",
    call = s.calls[data.callId],
  })
  local asking = s.calls[data.callId]
  if asking then
    asking.decision = s.requests[data.requestId]
    touch(s, asking)
  end
end

---@param s agent_ls.Snapshot
---@param data agent_ls.wire.QuestionAsked
function M.add_question(s, data)
  if s.questions[data.questionId] then
    return
  end
  s.questions[data.questionId] = add(s, {
    kind = "question",
    id = data.questionId,
    text = data.question,
    choices = data.choices,
    multiple = data.multiple,
    is_limit = data.purpose == "limit",
    status = "pending",
  })
end

---Adds a file change to the list of files that its turn has changed.
---@param s agent_ls.Snapshot
---@param turn_id string
---@param item agent_ls.Item of kind file
---@param copy_of string path of the file in the worktree that the change replaces in the list, or ""
local function add_to_turn_files(s, turn_id, item, copy_of)
  local files = vim.tbl_filter(function(file) return file.path ~= copy_of end, s.turn_files[turn_id] or {})
  s.turn_files[turn_id] = files
  local before = vim.iter(files):find(function(file) return file.uri == item.uri end)
  if not before then
    before = { path = item.path, uri = item.uri, action = item.action, added = 0, removed = 0 }
    table.insert(files, before)
  elseif not (before.action == "create" and item.action == "modify") then
    before.action = item.action
  end
  before.added, before.removed = before.added + item.added, before.removed + item.removed
end

---Ends of turns that are shown with a text, even if the turn changed no file.
local SHOWN_ENDS = { interrupted = true, aborted = true, error = true }

---Whether the last item of the turn is an error, which already says that the turn ended and what to do.
---@param s agent_ls.Snapshot
---@return boolean
local function ends_with_error(s)
  local last = s.items[#s.items]
  if last and last.kind == "end" then
    last = s.items[#s.items - 1]
  end
  return last ~= nil and last.kind == "notice" and last.level == "error"
end

---@type table<string, fun(s: agent_ls.Snapshot, data: table, event: agent_ls.wire.Event)>
local by_kind = {}
M.by_kind = by_kind

function by_kind.session_start(s, data, event)
  local session = s.session or { id = event.sessionId, title = "" }
  session.provider, session.model, session.isWalkthrough = data.provider, data.model, data.isWalkthrough
  s.session, s.state = session, "IDLE"
  if not data.resumed then
    return
  end
  local last = s.items[#s.items]
  if last and last.id == s.closed_notice then
    last.text, last.hint = "Session resumed.", nil
    touch(s, last)
  else
    M.add_notice(s, "info", "Session resumed.", nil, "resumed:" .. event.seq)
  end
end

---Describes the editor or process that owns a session which this editor can only read.
---@param owner agent_ls.wire.OwnerInfo?
---@return string
function M.describe_owner(owner)
  if not owner then
    return "The editor that had this session has ended, or another editor takes the session over."
  end
  local program = owner.program ~= "" and owner.program or "Another editor"
  return ("%s (process %d on %s) has this session open, so it is read-only here."):format(program, owner.pid, owner.host)
end

---Sets the owner of the session, and whether this editor may change it. The event is not in the session's log,
---because its content differs between editors.
---@param s agent_ls.Snapshot
---@param data agent_ls.wire.AccessData
function M.set_access(s, data)
  local session = s.session or {}
  local was = session.access
  session.access, session.owner = data.access, data.owner
  s.session = session
  for _, item in pairs(s.requests) do
    touch(s, item) -- redraw, because only the owner can answer the request
  end
  for _, item in pairs(s.questions) do
    touch(s, item)
  end
  s.owner_notices = (s.owner_notices or 0) + 1
  local id = ("access:%d"):format(s.owner_notices)
  if data.access == "readOnly" then
    M.add_notice(s, "warn", M.describe_owner(data.owner), ":AgentLs takeover moves the session to this editor.", id)
  elseif was == "readOnly" then
    M.add_notice(s, "info", "This editor now owns the session.", nil, id)
  end
end

function by_kind.session_end(s, data, event)
  s.state = data.state
  if (s.session or {}).access ~= "readOnly" and not ends_with_error(s) then
    local hint = "Send a message or use :AgentLs resume to continue."
    s.closed_notice = M.add_notice(s, "info", "Session closed.", hint, "end:" .. event.seq).id
  end
end

function by_kind.state(s, data) s.state = data.state end

function by_kind.title(s, data)
  s.session = s.session or {}
  s.session.title = data.title
end

function by_kind.user_input(s, data, event)
  s.plan = nil
  M.set_failure(s, nil)
  add(s, { kind = "user", id = "user:" .. event.seq, text = data.text, turn_id = event.turnId })
end

function by_kind.turn_facts(s, data) s.facts = data end

---Adds an end item if the turn changed or checked files, or did not complete.
function by_kind.processing_end(s, data, event)
  local turn_id, facts = event.turnId or "", s.facts
  s.facts = nil
  local files = s.turn_files[turn_id] or {}
  s.turn_files[turn_id] = nil
  local is_shown = SHOWN_ENDS[data.reason] and not (data.reason == "error" and ends_with_error(s))
  local text = is_shown and words.END_WORDS[data.reason] or nil
  if text or facts or #files > 0 then
    s.ends[turn_id] = add(s, {
      kind = "end",
      id = "stop:" .. event.seq,
      turn_id = turn_id,
      reason = data.reason,
      text = text,
      files = files,
      facts = facts,
    })
  end
end

function by_kind.assistant_text_start(s, data) parts.ensure_text_part(s, data.partId, "text") end

function by_kind.assistant_text_end(s, data) parts.end_part(s, data, "text") end

function by_kind.reasoning_start(s, data) parts.ensure_text_part(s, data.partId, "reasoning") end

function by_kind.reasoning_end(s, data) parts.end_part(s, data, "reasoning") end

function by_kind.tool_call_start(s, data)
  local item = call(s, data.callId, data.name)
  item.summary, item.status = data.summary, "running"
  item.look, item.doing, item.done = data.look or "other", data.doing, data.done -- older servers and logs lack them
  local arguments = parts.new_part(data.arguments)
  item.arguments.lines, item.arguments.length = arguments.lines, arguments.length
  item.arguments.open = false
  touch(s, item)
end

---Groups a read-only call with the read-only calls directly before it.
---@param s agent_ls.Snapshot
---@param item agent_ls.Item
local function join_group(s, item)
  if item.status ~= "done" or not tool_words.is_read_only(item) then
    return
  end
  local before = s.items[item.index - 1]
  local group = before and before.group
  if group and before.agent_id == item.agent_id and before.turn_id == item.turn_id then
    table.insert(group, item)
    item.group = group
  else
    item.group = { item }
  end
  -- Calls run in parallel, so the next call may have ended before this one.
  local after = s.items[item.index + 1]
  if after and after.group and after.agent_id == item.agent_id and after.group ~= item.group then
    for _, other in ipairs(after.group) do
      table.insert(item.group, other)
      other.group = item.group
    end
  end
  vim.iter(item.group):each(function(other) touch(s, other) end)
end

function by_kind.tool_call_end(s, data)
  local item = call(s, data.callId, data.name)
  item.status, item.result = data.isError and "failed" or "done", data
  item.arguments.open, item.part.open = false, false
  item.part.lines, item.part.length = vim.split(data.output, "\n", { plain = true }), parts.code_points(data.output)
  touch(s, item)
  join_group(s, item)
end

function by_kind.steering_queued(s, data)
  local fields = { kind = "steer", id = data.steerId, steer_id = data.steerId, text = data.text }
  fields.status = "waiting"
  s.steers[data.steerId] = add(s, fields)
end

function by_kind.steering_injected(s, data)
  local item = s.steers[data.steerId]
  if not item then
    item = add(s, { kind = "steer", id = data.steerId, steer_id = data.steerId, text = data.text })
    s.steers[data.steerId] = item
  end
  item.status = "injected"
  touch(s, item)
end

function by_kind.steering_removed(s, data)
  local item = s.steers[data.steerId]
  if item then
    item.status = "removed"
    touch(s, item)
  end
end

function by_kind.queue(s, data) s.queue = data.items end

function by_kind.queue_splice(s, data)
  s.queue = vim.list_extend(
    vim.list_extend(vim.list_slice(s.queue, 1, data.at), data.items),
    vim.list_slice(s.queue, data.at + data.removed + 1)
  )
end

---Adds a plan after the user's last message. Later versions of the plan replace it there.
function by_kind.plan(s, data, event)
  if s.now.agent_id then
    return -- a subagent's plan; the panel shows the main agent's plan only
  end
  local item = s.plan
  if not item or #data.items == 0 then
    s.plan = nil
    if #data.items == 0 then
      return
    end
    item = add(s, { kind = "plan", id = "plan:" .. event.seq })
    s.plan = item
  end
  item.steps, item.text = data.items, data.explanation
  touch(s, item)
end

function by_kind.turn_limit(s, data, event) M.add_notice(s, "warn", data.message, nil, "limit:" .. event.seq) end

function by_kind.loop_detection(s, data, event) M.add_notice(s, "warn", data.message, nil, "loop:" .. event.seq) end

function by_kind.warning(s, data, event) M.add_notice(s, "warn", data.message, nil, "warning:" .. event.seq) end

function by_kind.error(s, data, event)
  local item = M.add_notice(s, "error", data.message, remedies.choose_hint(data.action, data.hint), "error:" .. event.seq)
  M.set_failure(s, item, remedies.find(data.action, data.errorKind))
end

function by_kind.retry(s, data, event)
  local last = s.items[#s.items]
  local item = last and last.kind == "retry" and last
    or add(s, { kind = "retry", id = "retry:" .. event.seq })
  item.attempt, item.delay_ms, item.text = data.attempt, data.delayMs, data.message
  touch(s, item)
end

function by_kind.question_asked(s, data) M.add_question(s, data) end

function by_kind.question_answered(s, data)
  local item = s.questions[data.questionId]
  if item then
    item.status, item.answers = data.declined and "declined" or "answered", data.answers
    touch(s, item)
  end
end

---Ignored, because rules are shown by `:AgentLs rules`, not in the transcript.
function by_kind.rule_removed() end

function by_kind.cache_lost() end

---Ignored, because the output of the call contains the diagnostics.
function by_kind.diagnostics() end

---Ignored, because Neovim shows whether a buffer is modified.
function by_kind.save_requested() end

---Adds or updates the entry of a subagent. The entry hides the subagent's items until the user expands it.
function by_kind.subagent(s, data)
  local item = s.agents[data.agentId]
  if not item then
    item = add(s, { kind = "subagent", id = data.agentId })
    s.agents[data.agentId] = item
  end
  item.status, item.text, item.reason, item.output = data.status, data.task, data.reason, data.output
  item.model, item.turns = data.model, data.turnsUsed
  touch(s, item)
end

function by_kind.compaction(s, data)
  local item = s.compactions[data.compactionId]
  if not item then
    item = add(s, { kind = "compaction", id = "compaction:" .. data.compactionId })
    s.compactions[data.compactionId] = item
  end
  item.status, item.text, item.summary = data.status, data.message, data.summary
  touch(s, item)
end

---Marks rolled-back items, which remain readable but are no longer sent to the model.
function by_kind.reverted(s, data, event)
  local out = {}
  for _, turn_id in ipairs(data.conversation and data.turns or {}) do
    out[turn_id] = true
  end
  for _, turn_id in ipairs(data.conversation and data.restoredTurns or {}) do
    out[turn_id] = false
  end
  for _, item in ipairs(s.items) do
    if out[item.turn_id] ~= nil then
      item.is_out = out[item.turn_id] or nil
      touch(s, item)
    end
  end
  s.plan = data.conversation and nil or s.plan
  add(s, { kind = "reverted", id = "reverted:" .. event.seq, data = data, turn_id = data.revertId })
end

---Sets the token usage of the main agent and the cost of the whole session. Subagents have their own context windows.
function by_kind.usage(s, data)
  local before = s.now.agent_id and s.usage
  s.usage = {
    input = data.total.inputTokens,
    output = data.total.outputTokens,
    context = before and before.context or data.contextTokens,
    window = before and before.window or data.contextWindowTokens,
    parts = before and before.parts or data.context,
    cost = data.totalCostUsd,
  }
end

function by_kind.file_change(s, data, event)
  local item = add(s, {
    kind = "file",
    id = ("file:%d"):format(#s.items + 1),
    path = data.path,
    uri = data.uri,
    action = data.action,
    added = data.added,
    removed = data.removed,
    diff = data.diff,
    hunk_ids = {},
    call = s.calls[data.callId],
  })
  if item.call then
    item.call.changes = item.call.changes or {}
    table.insert(item.call.changes, item)
    touch(s, item.call)
  end
  add_to_turn_files(s, event.turnId or "", item, data.copyOf)
  for i, raw in ipairs(data.hunks) do
    local hunk = set_hunk(s, raw)
    item.hunk_ids[i] = hunk.id
    s.hunk_item[hunk.id] = item
  end
end

function by_kind.hunk_state(s, data)
  for _, raw in ipairs(data.hunks) do
    touch(s, s.ends[set_hunk(s, raw).turn_id])
  end
end

function by_kind.approval_requested(s, data) M.add_approval(s, data) end

function by_kind.approval_resolved(s, data)
  local item = s.requests[data.requestId]
  if not item then
    return
  end
  item.status, item.reason = data.decision, data.reason ~= "" and data.reason or nil
  item.scope, item.decided_by = data.scope, data.decidedBy
  touch(s, item)
  if item.call then
    touch(s, item.call)
    vim.iter(item.call.changes or {}):each(function(change) touch(s, change) end)
  end
end

function by_kind.terminal_open(s, data)
  s.terminals[data.terminalId] = {
    id = data.terminalId,
    call_id = data.callId,
    title = data.title,
    background = data.background,
    running = true,
  }
  table.insert(s.terminal_order, data.terminalId)
  local item = s.calls[data.callId]
  if item then
    item.terminal_id, item.background = data.terminalId, data.background
    touch(s, item)
  end
end

function by_kind.terminal_waiting(s, data)
  local terminal = s.terminals[data.terminalId]
  if terminal then
    terminal.waiting = data.waiting or nil
    local item = s.calls[terminal.call_id]
    if item then
      item.waiting = terminal.waiting
      touch(s, item)
    end
  end
end

function by_kind.terminal_exit(s, data)
  by_kind.terminal_waiting(s, { terminalId = data.terminalId, waiting = false })
  local terminal = s.terminals[data.terminalId]
  if terminal then
    terminal.running, terminal.exit_code = false, data.exitCode
    touch(s, s.calls[terminal.call_id])
  end
end

return M
