-- What each kind of event does to a snapshot. Pure; the rules of order (seq, offsets) are snapshot.lua's.
local parts = require("agent_ls.parts")
local protocol = require("agent_ls.protocol")

local M = {}

local add, call, touch = parts.add, parts.call, parts.touch

---@param s agent_ls.Snapshot
---@param level "info"|"warn"|"error"
---@param text string
---@param hint string?
---@param id string
function M.notice(s, level, text, hint, id)
  return add(s, { kind = "notice", id = id, level = level, text = text, hint = hint ~= "" and hint or nil })
end

---@param s agent_ls.Snapshot
---@param raw agent_ls.wire.Hunk
---@return agent_ls.Hunk
local function set_hunk(s, raw)
  local hunk = protocol.hunk_of_event(raw)
  s.hunks[hunk.id] = hunk
  touch(s, s.hunk_item[hunk.id])
  return hunk
end

---@param s agent_ls.Snapshot
---@param data agent_ls.wire.ApprovalRequested
function M.ask(s, data)
  if s.requests[data.requestId] then
    return
  end
  s.requests[data.requestId] = add(s, {
    kind = "approval",
    id = data.requestId,
    request = data,
    summary = data.summary,
    status = "pending",
  })
end

---@param s agent_ls.Snapshot
---@param data agent_ls.wire.QuestionAsked
function M.ask_question(s, data)
  if s.questions[data.questionId] then
    return
  end
  s.questions[data.questionId] = add(s, {
    kind = "question",
    id = data.questionId,
    text = data.question,
    choices = data.choices,
    multiple = data.multiple,
    status = "pending",
  })
end

---Sums up what a turn did to a file.
---@param s agent_ls.Snapshot
---@param turn_id string
---@param item agent_ls.Item of kind file
local function note_file(s, turn_id, item)
  local files = s.turn_files[turn_id] or {}
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

---Ends that are said even when nothing was changed.
local END_WORDS = {
  interrupted = "Stopped.",
  aborted = "The session was ended.",
  error = "Ended by an error.",
}

---An error says by itself that all ended, and what to do next.
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
local fold = {}
M.fold = fold

function fold.session_start(s, data, event)
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
    M.notice(s, "info", "Session resumed.", nil, "resumed:" .. event.seq)
  end
end

---Who has a session that is read along, in words.
---@param owner agent_ls.wire.OwnerInfo?
---@return string
function M.owner_words(owner)
  if not owner then
    return "The editor that had this session has ended, or another takes it."
  end
  local program = owner.program ~= "" and owner.program or "Another editor"
  return ("%s (process %d on %s) has this session: it is read only here."):format(program, owner.pid, owner.host)
end

---Whose the session is now. Not of its log: another editor is told something else.
---@param s agent_ls.Snapshot
---@param data agent_ls.wire.AccessData
function M.access(s, data)
  local session = s.session or {}
  local was = session.access
  session.access, session.owner = data.access, data.owner
  s.session = session
  for _, item in pairs(s.requests) do
    touch(s, item) -- whether it can be answered here
  end
  for _, item in pairs(s.questions) do
    touch(s, item)
  end
  s.owner_notices = (s.owner_notices or 0) + 1
  local id = ("access:%d"):format(s.owner_notices)
  if data.access == "readOnly" then
    M.notice(s, "warn", M.owner_words(data.owner), ":AgentLs takeover makes it this editor's.", id)
  elseif was == "readOnly" then
    M.notice(s, "info", "This session is this editor's now.", nil, id)
  end
end

function fold.session_end(s, data, event)
  s.state = data.state
  if (s.session or {}).access ~= "readOnly" and not ends_with_error(s) then
    local hint = "Send a message or use :AgentLs resume to go on."
    s.closed_notice = M.notice(s, "info", "Session closed.", hint, "end:" .. event.seq).id
  end
end

function fold.state(s, data) s.state = data.state end

function fold.title(s, data)
  s.session = s.session or {}
  s.session.title = data.title
end

function fold.user_input(s, data, event)
  s.plan = nil
  add(s, { kind = "user", id = "user:" .. event.seq, text = data.text, turn_id = event.turnId })
end

---How a turn ended is worth a line when it changed files, or did not end by itself.
function fold.processing_end(s, data, event)
  local turn_id = event.turnId or ""
  local files = s.turn_files[turn_id] or {}
  s.turn_files[turn_id] = nil
  local words = not (data.reason == "error" and ends_with_error(s)) and END_WORDS[data.reason] or nil
  if words or #files > 0 then
    s.ends[turn_id] = add(s, {
      kind = "end",
      id = "stop:" .. event.seq,
      turn_id = turn_id,
      reason = data.reason,
      text = words,
      files = files,
    })
  end
end

function fold.assistant_text_start(s, data) parts.text_part(s, data.partId, "text") end

function fold.assistant_text_end(s, data) parts.end_part(s, data, "text") end

function fold.reasoning_start(s, data) parts.text_part(s, data.partId, "reasoning") end

function fold.reasoning_end(s, data) parts.end_part(s, data, "reasoning") end

function fold.tool_call_start(s, data)
  local item = call(s, data.callId, data.name)
  item.summary, item.status = data.summary, "running"
  local arguments = parts.new_part(data.arguments)
  item.arguments.lines, item.arguments.length = arguments.lines, arguments.length
  item.arguments.open = false
  touch(s, item)
end

function fold.tool_call_end(s, data)
  local item = call(s, data.callId, data.name)
  item.status, item.result = data.isError and "failed" or "done", data
  item.arguments.open, item.part.open = false, false
  item.part.lines, item.part.length = vim.split(data.output, "\n", { plain = true }), parts.code_points(data.output)
  touch(s, item)
end

function fold.steering_queued(s, data)
  local fields = { kind = "steer", id = data.steerId, steer_id = data.steerId, text = data.text }
  fields.status = "waiting"
  s.steers[data.steerId] = add(s, fields)
end

function fold.steering_injected(s, data)
  local item = s.steers[data.steerId]
  if not item then
    item = add(s, { kind = "steer", id = data.steerId, steer_id = data.steerId, text = data.text })
    s.steers[data.steerId] = item
  end
  item.status = "injected"
  touch(s, item)
end

function fold.steering_removed(s, data)
  local item = s.steers[data.steerId]
  if item then
    item.status = "removed"
    touch(s, item)
  end
end

function fold.queue(s, data) s.queue = data.items end

---A plan is shown where it first stood since the user's last message, and changes there.
function fold.plan(s, data, event)
  if s.now.agent_id then
    return -- a subagent's own: the list at hand is that of the one who speaks to the user
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

function fold.turn_limit(s, data, event) M.notice(s, "warn", data.message, nil, "limit:" .. event.seq) end

function fold.loop_detection(s, data, event) M.notice(s, "warn", data.message, nil, "loop:" .. event.seq) end

function fold.warning(s, data, event) M.notice(s, "warn", data.message, nil, "warning:" .. event.seq) end

function fold.error(s, data, event) M.notice(s, "error", data.message, data.hint, "error:" .. event.seq) end

function fold.retry(s, data, event)
  local last = s.items[#s.items]
  local item = last and last.kind == "retry" and last
    or add(s, { kind = "retry", id = "retry:" .. event.seq })
  item.attempt, item.delay_ms, item.text = data.attempt, data.delayMs, data.message
  touch(s, item)
end

function fold.question_asked(s, data) M.ask_question(s, data) end

function fold.question_answered(s, data)
  local item = s.questions[data.questionId]
  if item then
    item.status, item.answers = data.declined and "declined" or "answered", data.answers
    touch(s, item)
  end
end

---Seen by those who list rules; nothing in the transcript changes.
function fold.rule_removed() end

function fold.cache_lost() end

---What was found stands in the output of the call.
function fold.diagnostics() end

---The files themselves show whether they are saved.
function fold.save_requested() end

---A helper of the agent: what it does is folded below this entry.
function fold.subagent(s, data)
  local item = s.agents[data.agentId]
  if not item then
    item = add(s, { kind = "subagent", id = data.agentId })
    s.agents[data.agentId] = item
  end
  item.status, item.text, item.reason, item.output = data.status, data.task, data.reason, data.output
  item.model, item.turns = data.model, data.turnsUsed
  touch(s, item)
end

function fold.compaction(s, data)
  local item = s.compactions[data.compactionId]
  if not item then
    item = add(s, { kind = "compaction", id = "compaction:" .. data.compactionId })
    s.compactions[data.compactionId] = item
  end
  item.status, item.text, item.summary = data.status, data.message, data.summary
  touch(s, item)
end

---What was rolled back stays readable, but the model knows nothing of it.
function fold.reverted(s, data, event)
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

---Of a subagent the context is its own; what was spent is the whole session's.
function fold.usage(s, data)
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

function fold.file_change(s, data, event)
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
  })
  note_file(s, event.turnId or "", item)
  for i, raw in ipairs(data.hunks) do
    local hunk = set_hunk(s, raw)
    item.hunk_ids[i] = hunk.id
    s.hunk_item[hunk.id] = item
  end
end

function fold.hunk_state(s, data)
  for _, raw in ipairs(data.hunks) do
    touch(s, s.ends[set_hunk(s, raw).turn_id])
  end
end

function fold.approval_requested(s, data) M.ask(s, data) end

function fold.approval_resolved(s, data)
  local item = s.requests[data.requestId]
  if not item then
    return
  end
  item.status, item.reason = data.decision, data.reason ~= "" and data.reason or nil
  item.scope, item.decided_by = data.scope, data.decidedBy
  touch(s, item)
end

function fold.terminal_open(s, data)
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

function fold.terminal_waiting(s, data)
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

function fold.terminal_exit(s, data)
  fold.terminal_waiting(s, { terminalId = data.terminalId, waiting = false })
  local terminal = s.terminals[data.terminalId]
  if terminal then
    terminal.running, terminal.exit_code = false, data.exitCode
    touch(s, s.calls[terminal.call_id])
  end
end

return M
