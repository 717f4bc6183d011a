-- The prompt buffer: what is typed there is sent, and comes back when it did not arrive.
local protocol = require("agent_ls.protocol")
local scratch = require("agent_ls.scratch")
local session = require("agent_ls.session")
local snapshot = require("agent_ls.snapshot")

local api = vim.api
local ns = api.nvim_create_namespace("agent_ls_input")

local M = {}

local bufnr ---@type integer?
local sent = {} ---@type string[] what was sent from here, oldest first
local shown_id ---@type string? the session whose draft stands in the prompt
local is_for_next = false -- a session is being made, and what is written was begun since it was asked for
local draft_timer ---@type uv.uv_timer_t?
local DRAFT_MS = 500 -- after the last key
local recalled = 0 -- how far back in `sent` the prompt shows, 0: what is being written

local PLACEHOLDERS = {
  idle = "What should change?",
  working = "Steer it while it works…",
  waiting = "It waits for your answer above.",
  closed = "Write to go on with this session…",
  foreign = "Read only: owned by another editor. :AgentLs takeover",
}

---@return integer
function M.buffer()
  if bufnr and api.nvim_buf_is_loaded(bufnr) then
    return bufnr
  end
  bufnr = scratch.make("agent-ls://prompt", "agent_ls_prompt", bufnr)
  require("agent_ls.chat.mentions").setup(bufnr)
  api.nvim_create_autocmd({ "TextChanged", "TextChangedI" }, {
    buffer = bufnr,
    callback = function()
      M.placeholder()
      M.keep_draft()
    end,
  })
  return bufnr
end

---@return string
function M.text() return vim.trim(table.concat(api.nvim_buf_get_lines(M.buffer(), 0, -1, false), "\n")) end

---@param text string
function M.set_text(text)
  api.nvim_buf_set_lines(M.buffer(), 0, -1, false, vim.split(text, "\n", { plain = true }))
  M.placeholder()
end

---Tells the session what is written, when the typing pauses.
function M.keep_draft()
  draft_timer = draft_timer or assert(vim.uv.new_timer())
  draft_timer:start(DRAFT_MS, 0, vim.schedule_wrap(M.tell_draft))
end

---The same at once.
function M.tell_draft()
  if bufnr and api.nvim_buf_is_loaded(bufnr) and shown_id == session.current_id() then
    session.keep_draft(M.text())
  end
end

---A session is being made: what is written into an empty prompt from now on is meant for it.
---@param is_made boolean? it is not any more
function M.expect(is_made) is_for_next = not is_made and M.text() == "" end

---Another session is shown: its draft takes the place of the one before, which is kept where it was written.
---@param change agent_ls.Change
function M.on_change(change)
  if not change.switched or session.current_id() == shown_id then
    return
  end
  local before, text = shown_id, M.text()
  shown_id = session.current_id()
  local draft = session.snapshot().draft
  local theirs = draft and draft.text or ""
  -- What was written before there was any session is meant for the first one.
  local is_carried = text ~= "" and (not before or is_for_next and theirs == "")
  is_for_next = false
  if before then
    session.keep_draft(is_carried and "" or text, before)
  end
  if is_carried then
    return M.keep_draft()
  end
  M.set_text(theirs)
end

---Shows what the prompt is for while nothing is in it.
function M.placeholder()
  api.nvim_buf_clear_namespace(M.buffer(), ns, 0, -1)
  if #api.nvim_buf_get_lines(M.buffer(), 0, 2, false) > 1 or M.text() ~= "" then
    return
  end
  local s = session.snapshot()
  local words = PLACEHOLDERS[snapshot.is_read_only(s) and "foreign" or snapshot.activity(s)]
  api.nvim_buf_set_extmark(M.buffer(), ns, 0, 0, {
    virt_text = { { words, "AgentLsDim" } },
    virt_text_pos = "overlay",
  })
end

---@param text string
---@param more table[]? other parts, before the text
function M.submit(text, more)
  local mentioned, rest = require("agent_ls.chat.mentions").parts(text)
  local input = vim.list_extend(more or {}, mentioned)
  if rest ~= "" then
    input[#input + 1] = protocol.text_input(rest)
  end
  if sent[#sent] ~= text then
    sent[#sent + 1] = text
  end
  recalled = 0
  session.submit(input, function()
    if M.text() == "" then
      M.set_text(text)
    end
  end)
end

---Sends what was typed: a new turn when idle, else a steer.
function M.send()
  local text = M.text()
  if text == "" then
    return
  end
  M.set_text("")
  M.keep_draft()
  M.submit(text)
end

---@param by integer -1: older, 1: newer
local function recall(by)
  local at = math.min(math.max(recalled - by, 0), #sent)
  if at ~= recalled then
    recalled = at
    M.set_text(sent[#sent - at + 1] or "")
  end
end

---@return boolean what stands in the prompt was written there, and must not give way
local function is_being_written()
  local shown = recalled > 0 and sent[#sent - recalled + 1] or ""
  return M.text() ~= vim.trim(shown)
end

---@param key "<Up>"|"<Down>"
---@param by -1|1
---@param edge fun(): integer line at which the key leaves the text
local function map_recall(key, by, edge)
  local run = function()
    if api.nvim_win_get_cursor(0)[1] ~= edge() or is_being_written() then
      return key
    end
    vim.schedule(function() recall(by) end)
    return ""
  end
  local options = { buffer = M.buffer(), expr = true, desc = "agent-ls: messages sent before" }
  vim.keymap.set({ "n", "i" }, key, run, options)
end

---Maps the prompt's keys.
---@param map fun(modes: string[], action: string, run: fun(), desc: string)
function M.map(map)
  map({ "n" }, "send", M.send, "send, or steer")
  map({ "n", "i" }, "send_insert", M.send, "send, or steer")
  map_recall("<Up>", -1, function() return 1 end)
  map_recall("<Down>", 1, function() return api.nvim_buf_line_count(0) end)
end

return M
