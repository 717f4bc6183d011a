-- What each kind of event does to a snapshot. Pure; the rules of order (seq, offsets) are snapshot.lua's.
local protocol = require("agent_ls.protocol")

local M = {}

---@param text string
---@return integer code points
local function code_points(text) return vim.str_utfindex(text, "utf-32") end

---@param part agent_ls.Part
---@param text string
function M.append(part, text)
  local pieces = vim.split(text, "\n", { plain = true })
  local lines = part.lines
  lines[#lines] = lines[#lines] .. pieces[1]
  for i = 2, #pieces do
    lines[#lines + 1] = pieces[i]
  end
  part.length = part.length + code_points(text)
end

---@param text string?
---@return agent_ls.Part
local function new_part(text)
  local part = { lines = { "" }, length = 0, open = true }
  if text and text ~= "" then
    M.append(part, text)
  end
  return part
end

---@param s agent_ls.Snapshot
---@param item agent_ls.Item?
function M.touch(s, item)
  if item then
    s.touched[item.index] = true
  end
end

---@param s agent_ls.Snapshot
---@param item table
---@return agent_ls.Item
local function add(s, item)
  local last = s.items[#s.items]
  if last and last.kind == "retry" then
    last.status = item.level == "error" and "failed" or "done"
    M.touch(s, last)
  end
  item.index = #s.items + 1
  s.items[item.index] = item
  M.touch(s, item)
  return item
end

---The item of a call, made when it is first heard of: arguments stream before the call itself starts.
---@param s agent_ls.Snapshot
---@param call_id string
---@param name string?
local function call(s, call_id, name)
  local item = s.calls[call_id]
  if not item then
    item = add(s, {
      kind = "tool",
      id = call_id,
      name = name or "",
      summary = "",
      status = "writing",
      arguments = new_part(),
      part = new_part(),
    })
    s.calls[call_id] = item
    s.parts[call_id .. ":args"], s.part_item[call_id .. ":args"] = item.arguments, item
    s.parts[call_id .. ":out"], s.part_item[call_id .. ":out"] = item.part, item
  end
  if name and name ~= "" then
    item.name = name
  end
  return item
end

---@param s agent_ls.Snapshot
---@param part_id string
---@param kind "text"|"reasoning"
local function text_part(s, part_id, kind)
  local part = s.parts[part_id]
  if not part then
    part = new_part()
    s.parts[part_id] = part
  end
  -- The item comes with the first text, so that an empty part leaves no empty place in the transcript.
  if part.length > 0 and not s.part_item[part_id] then
    s.part_item[part_id] = add(s, { kind = kind, id = part_id, part = part })
  end
  M.touch(s, s.part_item[part_id])
  return part
end

---Which kind of part a delta kind (or the kind of an open part) speaks of, and how its part is found or made.
M.part_of = {
  assistant_text = function(s, id) return text_part(s, id, "text") end,
  reasoning = function(s, id) return text_part(s, id, "reasoning") end,
  tool_call_args = function(s, id, name) return call(s, (id:gsub(":args$", "")), name).arguments end,
  tool_call_output = function(s, id) return call(s, (id:gsub(":out$", ""))).part end,
}

---Text at the end of a part.
---@param s agent_ls.Snapshot
---@param kind string key of `part_of`
---@param part_id string
---@param text string
---@param name string? of a tool
function M.extend(s, kind, part_id, text, name)
  local find = M.part_of[kind]
  M.append(find(s, part_id, name), text)
  find(s, part_id, name) -- now that it has text, it has an item
  M.touch(s, s.part_item[part_id])
end

---The whole text so far of a part, in place of what was here.
---@param s agent_ls.Snapshot
---@param kind string
---@param open {partId: string, text: string, name: string?}
function M.reopen(s, kind, open)
  local find = M.part_of[kind]
  local part = find and find(s, open.partId, open.name)
  if part and part.open then
    part.lines, part.length = { "" }, 0
    M.extend(s, kind, open.partId, open.text, open.name)
  end
end

---@param s agent_ls.Snapshot
---@param data table
---@param kind "text"|"reasoning"
local function end_part(s, data, kind)
  local part = s.parts[data.partId] or new_part()
  s.parts[data.partId] = part
  -- The end holds the whole text; what streamed is kept where it is equal, so that a view has nothing to redo.
  if part.length ~= code_points(data.text) then
    part.lines, part.length = vim.split(data.text, "\n", { plain = true }), code_points(data.text)
  end
  part.open, part.interrupted = false, data.interrupted
  text_part(s, data.partId, kind)
end

---@param s agent_ls.Snapshot
---@param level "info"|"warn"|"error"
---@param text string
---@param hint string?
---@param id string
function M.notice(s, level, text, hint, id)
  return add(s, { kind = "notice", id = id, level = level, text = text, hint = hint ~= "" and hint or nil })
end

---@param s agent_ls.Snapshot
---@param raw table
---@return agent_ls.Hunk
local function set_hunk(s, raw, uri)
  local hunk = protocol.hunk(raw, uri)
  s.hunks[hunk.id] = hunk
  M.touch(s, s.hunk_item[hunk.id])
  return hunk
end

---@param s agent_ls.Snapshot
---@param data table
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

local END_WORDS = { interrupted = "Stopped.", error = "Ended by an error." }

---An error says by itself that all ended, and what to do next.
---@param s agent_ls.Snapshot
---@return boolean
local function ends_with_error(s)
  local last = s.items[#s.items]
  return last ~= nil and last.kind == "notice" and last.level == "error"
end

---@type table<string, fun(s: agent_ls.Snapshot, data: table, event: agent_ls.Event)>
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
    M.touch(s, last)
  else
    M.notice(s, "info", "Session resumed.", nil, "resumed:" .. event.seq)
  end
end

function fold.session_end(s, data, event)
  s.state = data.state
  if not ends_with_error(s) then
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
  add(s, { kind = "user", id = "user:" .. event.seq, text = data.text })
end

function fold.processing_end(s, data, event)
  local words = END_WORDS[data.reason]
  if words and not (data.reason == "error" and ends_with_error(s)) then
    M.notice(s, "info", words, nil, "stop:" .. event.seq)
  end
end

function fold.assistant_text_start(s, data) text_part(s, data.partId, "text") end

function fold.assistant_text_end(s, data) end_part(s, data, "text") end

function fold.reasoning_start(s, data) text_part(s, data.partId, "reasoning") end

function fold.reasoning_end(s, data) end_part(s, data, "reasoning") end

function fold.tool_call_start(s, data)
  local item = call(s, data.callId, data.name)
  item.summary, item.status = data.summary, "running"
  local arguments = new_part(data.arguments)
  item.arguments.lines, item.arguments.length = arguments.lines, arguments.length
  item.arguments.open = false
  M.touch(s, item)
end

function fold.tool_call_end(s, data)
  local item = call(s, data.callId, data.name)
  item.status, item.result = data.isError and "failed" or "done", data
  item.arguments.open, item.part.open = false, false
  item.part.lines, item.part.length = vim.split(data.output, "\n", { plain = true }), code_points(data.output)
  M.touch(s, item)
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
  M.touch(s, item)
end

function fold.steering_removed(s, data)
  local item = s.steers[data.steerId]
  if item then
    item.status = "removed"
    M.touch(s, item)
  end
end

function fold.queue(s, data) s.queue = data.items end

---A plan is shown where it first stood since the user's last message, and changes there.
function fold.plan(s, data, event)
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
  M.touch(s, item)
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
  M.touch(s, item)
end

function fold.usage(s, data)
  s.usage = {
    input = data.total.inputTokens,
    output = data.total.outputTokens,
    context = data.contextTokens,
    window = data.contextWindowTokens,
    cost = data.totalCostUsd ~= vim.NIL and data.totalCostUsd or nil,
  }
end

function fold.file_change(s, data)
  local item = add(s, {
    kind = "file",
    id = ("file:%d"):format(#s.items + 1),
    path = data.path,
    uri = data.uri or vim.uri_from_fname(data.path),
    action = data.action,
    added = data.added,
    removed = data.removed,
    diff = data.diff,
    hunk_ids = {},
  })
  for i, raw in ipairs(data.hunks or {}) do
    local hunk = set_hunk(s, raw, item.uri)
    item.hunk_ids[i] = hunk.id
    s.hunk_item[hunk.id] = item
  end
end

function fold.hunk_state(s, data)
  for _, raw in ipairs(data.hunks) do
    set_hunk(s, raw, data.uri)
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
  M.touch(s, item)
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
    M.touch(s, item)
  end
end

function fold.terminal_exit(s, data)
  local terminal = s.terminals[data.terminalId]
  if terminal then
    terminal.running, terminal.exit_code = false, data.exitCode
    M.touch(s, s.calls[terminal.call_id])
  end
end

return M
