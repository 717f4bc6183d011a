-- The protocol of the server (Python package agent_ls/server/protocol): method names, the capabilities of this client,
-- and conversions of messages. Has no side effects, except that creating a client key reads random bytes.
local M = {}

M.VERSION = 1
M.EVENT = "agent/event"
M.HUNKS_MOVED = "agent/hunksMoved"

M.method = {
  new_session = "agent/newSession",
  sessions = "agent/sessions",
  bring_changes = "agent/bringChanges",
  subscribe = "agent/subscribe",
  unsubscribe = "agent/unsubscribe",
  submit = "agent/submit",
  steer = "agent/steer",
  unsteer = "agent/unsteer",
  follow_up = "agent/followUp",
  interrupt = "agent/interrupt",
  abort = "agent/abort",
  configure = "agent/configure",
  accept_plan = "agent/acceptPlan",
  approve = "agent/approve",
  hunks = "agent/hunks",
  looked = "agent/looked",
  blame = "agent/blame",
  review = "agent/review",
  text_content = "workspace/textDocumentContent",
  editor_state = "agent/editorState",
  diagnostics = "agent/diagnostics",
  complete = "agent/complete",
  set_credential = "agent/setCredential",
  terminals = "agent/terminals",
  terminal_kill = "agent/terminalKill",
  memory = "agent/memory",
  rename = "agent/rename",
  take_over = "agent/takeOver",
  fork = "agent/fork",
  revert = "agent/revert",
  delete_session = "agent/deleteSession",
  queue = "agent/queue",
  draft = "agent/draft",
  models = "agent/models",
  answer = "agent/answer",
  rules = "agent/rules",
  remove_rule = "agent/removeRule",
  mcp_servers = "agent/mcpServers",
  mcp_switch = "agent/mcpSwitch",
  trust = "agent/trust",
  compact = "agent/compact",
  export = "agent/export",
  client_answer = "agent/clientAnswer",
  commit_message = "agent/commitMessage",
}

---Returns the capabilities of this client (docs/protocol/overview.md, Negotiation).
function M.build_capabilities()
  return {
    version = M.VERSION,
    events = true,
    review = true,
    approvals = true,
    terminal = true,
    save = true,
    diagnostics = true,
    language = true,
    details = true,
  }
end

---Creates an idempotency key. The server answers a repeated request with the same key by the first result, and
---does not repeat the change.
---@return string uuid version 4
function M.client_key()
  local bytes = { vim.uv.random(16):byte(1, -1) }
  bytes[7] = bytes[7] % 16 + 64
  bytes[9] = bytes[9] % 64 + 128
  local hex = string.format(("%02x"):rep(16), unpack(bytes))
  return table.concat({ hex:sub(1, 8), hex:sub(9, 12), hex:sub(13, 16), hex:sub(17, 20), hex:sub(21) }, "-")
end

---@param text string
---@return agent_ls.wire.TextInput
function M.text_input(text) return { type = "text", text = text } end

---@param uri string
---@param first integer line, from 0
---@param last integer line after the last
---@param text string
---@return agent_ls.wire.SelectionInput
function M.selection_input(uri, first, last, text)
  return { type = "selection", uri = uri, startLine = first, endLine = last, text = text }
end

---@param lines string[]
---@return string[]
local function remove_line_ends(lines)
  local out = {}
  for i, line in ipairs(lines) do
    out[i] = (line:gsub("\r?\n$", ""))
  end
  return out
end

---Converts the fields that both wire formats of a hunk contain.
---@param raw agent_ls.wire.Hunk|agent_ls.wire.HunkInfo
---@return agent_ls.Hunk
local function shared_members(raw)
  return {
    id = raw.id,
    session_id = raw.sessionId,
    turn_id = raw.turnId,
    call_id = raw.callId,
    what = raw.what,
    state = raw.state,
    looked = raw.looked or nil,
  }
end

---Converts a hunk of an event.
---@param raw agent_ls.wire.Hunk
---@return agent_ls.Hunk
function M.hunk_of_event(raw)
  local hunk = shared_members(raw)
  hunk.uri, hunk.path = raw.uri, raw.path
  hunk.first, hunk.last = raw.start, raw["end"]
  hunk.old_lines, hunk.new_lines = remove_line_ends(raw.baseLines), remove_line_ends(raw.lines)
  return hunk
end

---Converts a hunk of a result.
---@param raw agent_ls.wire.HunkInfo
---@param uri string of the hunk's file, which the hunk does not contain
---@return agent_ls.Hunk
function M.hunk_of_result(raw, uri)
  local hunk = shared_members(raw)
  hunk.uri = uri
  hunk.first, hunk.last = raw.newRange[1], raw.newRange[2]
  hunk.old_lines, hunk.new_lines = remove_line_ends(raw.oldLines), remove_line_ends(raw.newLines)
  return hunk
end

---Removes the fields of a message that are null, because versions of Neovim decode null differently.
---@generic T
---@param value T
---@return T
function M.remove_null(value)
  if type(value) ~= "table" then
    return value
  end
  for key, inner in pairs(value) do
    if inner == vim.NIL then
      value[key] = nil
    else
      M.remove_null(inner)
    end
  end
  return value
end

---Converts a JSON-RPC error for display.
---@param err table|string
---@return agent_ls.Problem
function M.convert_error(err)
  if type(err) == "string" then
    return { message = err }
  end
  local data = type(err.data) == "table" and err.data or {}
  return {
    message = err.message or "the server returned an error without a message",
    hint = data.hint,
    kind = data.kind,
    retryable = data.retryable,
  }
end

return M
