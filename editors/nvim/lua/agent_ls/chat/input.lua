-- The prompt buffer: sends the typed message, and restores it if the server did not accept it.
local protocol = require("agent_ls.protocol")
local scratch = require("agent_ls.scratch")
local session = require("agent_ls.session")
local snapshot = require("agent_ls.snapshot")

local api = vim.api
local ns = api.nvim_create_namespace("agent_ls_input")

local M = {}

local bufnr ---@type integer?
local sent = {} ---@type string[] messages sent from the prompt, oldest first
local shown_id ---@type string? id of the session that the text in the prompt belongs to
local is_for_next = false -- the user began the text while a session was being created, so it belongs to the new session
local draft_timer ---@type uv.uv_timer_t?
local DRAFT_MS = 500 -- delay between the last key and the save of the draft
local on_its_way = {} ---@type string[] messages that were sent and have not arrived yet, oldest first
local recalled = 0 -- index from the end of `sent` of the recalled message; 0: the text being written

local PLACEHOLDERS = {
  idle = "What should change?",
  working = "Steer the agent while it works…",
  waiting = "The agent waits for your answer above.",
  proposed = "Accept or reject the proposed changes first.",
  closed = "Write a message to continue this session…",
  foreign = "Read-only: owned by another editor. :AgentLs takeover",
}
-- Hints that follow the placeholder text; the longest one that fits is displayed.
local IDLE_HINTS = { "  @ file · / command · ↑ history", "  @ file · / command", "  @ / ↑", "" }

---@return integer
function M.buffer()
  if bufnr and api.nvim_buf_is_loaded(bufnr) then
    return bufnr
  end
  bufnr = scratch.make("agent-ls://prompt", "agent_ls_prompt")
  require("agent_ls.chat.mentions").setup(bufnr)
  api.nvim_create_autocmd({ "TextChanged", "TextChangedI", "TextChangedP" }, {
    buffer = bufnr,
    callback = function()
      M.update_placeholder()
      M.save_draft_later()
    end,
  })
  return bufnr
end

---@return string
function M.read_text() return vim.trim(table.concat(api.nvim_buf_get_lines(M.buffer(), 0, -1, false), "\n")) end

---@param text string
function M.set_text(text)
  api.nvim_buf_set_lines(M.buffer(), 0, -1, false, vim.split(text, "\n", { plain = true }))
  M.update_placeholder()
end

---Saves the draft with the session when the typing pauses.
function M.save_draft_later()
  draft_timer = draft_timer or assert(vim.uv.new_timer())
  draft_timer:start(DRAFT_MS, 0, vim.schedule_wrap(M.save_draft))
end

---Saves the draft with the session at once.
function M.save_draft()
  if bufnr and api.nvim_buf_is_loaded(bufnr) and shown_id == session.current_id() then
    session.save_draft(M.read_text())
  end
end

---Records that a session is being created. Text that the user starts to type now is the draft of that session.
---@param is_made boolean? true when the creation has ended
function M.expect(is_made) is_for_next = not is_made and M.read_text() == "" end

---Shows the draft of a newly displayed session, and saves the previous draft with its own session.
---@param change agent_ls.Change
function M.on_change(change)
  if not change.switched or session.current_id() == shown_id then
    return
  end
  local before, text = shown_id, M.read_text()
  shown_id = session.current_id()
  local draft = session.snapshot().draft
  local theirs = draft and draft.text or ""
  -- Text that was written before there was a session belongs to the first session.
  local is_carried = text ~= "" and (not before or is_for_next and theirs == "")
  is_for_next = false
  if before then
    session.save_draft(is_carried and "" or text, before)
  end
  if is_carried then
    return M.save_draft_later()
  end
  M.set_text(theirs)
end

---@param s agent_ls.Snapshot
---@return string key of PLACEHOLDERS
function M.describe_purpose(s)
  if snapshot.is_read_only(s) then
    return "foreign"
  end
  local activity = snapshot.describe_activity(s)
  local only_proposals = #snapshot.pending_approvals(s) + #snapshot.open_questions(s) == 0 and snapshot.has_proposals(s)
  return activity == "waiting" and only_proposals and "proposed" or activity
end

---Updates the placeholder of the empty prompt, which says what sending a message does now.
function M.update_placeholder()
  api.nvim_buf_clear_namespace(M.buffer(), ns, 0, -1)
  if #api.nvim_buf_get_lines(M.buffer(), 0, 2, false) > 1 or M.read_text() ~= "" then
    return
  end
  local s = session.snapshot()
  local purpose = M.describe_purpose(s)
  local words = PLACEHOLDERS[purpose]
  if purpose == "idle" then
    local win = vim.fn.bufwinid(M.buffer())
    local room = win > 0 and api.nvim_win_get_width(win) - api.nvim_strwidth(words) or 0
    words = words .. (vim.iter(IDLE_HINTS):find(function(hint) return api.nvim_strwidth(hint) <= room end) or "")
  end
  if on_its_way[1] then
    words = "Sending: " .. on_its_way[1]:gsub("%s+", " ")
  end
  api.nvim_buf_set_extmark(M.buffer(), ns, 0, 0, {
    virt_text = { { words, "AgentLsDim" } },
    virt_text_pos = "overlay",
  })
end

---Sends a message. Its text returns to the prompt if the message does not arrive.
---@param text string
---@param more table[]? other parts, sent before the text
---@param done fun(has_arrived: boolean)?
function M.submit(text, more, done)
  local mentioned, rest, missing = require("agent_ls.chat.mentions").parts(text)
  if missing then
    M.set_text(text)
    return require("agent_ls.log").warn(missing .. " was pasted in an earlier Neovim process. Paste the image again, or delete the word.")
  end
  local input = vim.list_extend(more or {}, mentioned)
  if rest ~= "" then
    input[#input + 1] = protocol.text_input(rest)
  end
  if sent[#sent] ~= text then
    sent[#sent + 1] = text
  end
  recalled = 0
  table.insert(on_its_way, text)
  M.update_placeholder()
  session.submit(input, function(has_arrived)
    local at = vim.iter(ipairs(on_its_way)):find(function(_, each) return each == text end)
    table.remove(on_its_way, at)
    if not has_arrived and M.read_text() == "" then
      M.set_text(text)
    end
    M.update_placeholder()
    if done then
      done(has_arrived)
    end
  end)
end

---Sends the user's last message again.
function M.retry()
  local items = session.snapshot().items
  for i = #items, 1, -1 do
    if items[i].kind == "user" then
      return M.submit(items[i].text)
    end
  end
  require("agent_ls.log").notify("There is no message to send again.")
end

---Asks the agent to run the last check of this session again.
function M.check_again()
  local items = session.snapshot().items
  for i = #items, 1, -1 do
    local checks = items[i].facts and items[i].facts.checks or {}
    if checks[1] then
      return M.submit(("Run `%s` again."):format(checks[#checks].command))
    end
  end
  require("agent_ls.log").notify("No check was run in this session.")
end

---Sends the text of the prompt: starts a turn if the agent is idle, else steers the running turn.
function M.send()
  local text = M.read_text()
  if text == "" then
    return
  end
  M.set_text("")
  M.save_draft_later()
  if text == "/memory" then
    return require("agent_ls.memory").open()
  end
  M.submit(text)
end

---Replaces the text of the prompt by the next older or newer message.
---@param by integer -1: older, 1: newer
local function recall(by)
  local at = math.min(math.max(recalled - by, 0), #sent)
  if at ~= recalled then
    recalled = at
    M.set_text(sent[#sent - at + 1] or "")
  end
end

---@return boolean the prompt contains newly typed text, which a recalled message must not replace
local function is_being_written()
  local shown = recalled > 0 and sent[#sent - recalled + 1] or ""
  return M.read_text() ~= vim.trim(shown)
end

---Maps a key that recalls a message if the cursor is on the `edge` line; otherwise the key moves the cursor.
---@param key "<Up>"|"<Down>"
---@param by -1|1
---@param edge fun(): integer returns the first or the last line of the prompt
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
function M.map_keys(map)
  map({ "n" }, "send", M.send, "send, or steer")
  map({ "n", "i" }, "send_insert", M.send, "send, or steer")
  map_recall("<Up>", -1, function() return 1 end)
  map_recall("<Down>", 1, function() return api.nvim_buf_line_count(0) end)
end

return M
