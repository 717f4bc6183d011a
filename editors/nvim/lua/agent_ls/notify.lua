-- Notifies a user who does not see the panel that the agent waits or is done. Does not take the focus.
local config = require("agent_ls.config")
local log = require("agent_ls.log")
local session = require("agent_ls.session")
local view = require("agent_ls.chat.view")

local M = {}

local BELL = "\7"

local is_focused = true
local reported_calls = {} ---@type table<string, boolean> calls whose proposals were reported

---@param text string written to the terminal in which Neovim runs
local function send(text) pcall(vim.api.nvim_chan_send, vim.v.stderr, text) end

---Rings the terminal's bell if Neovim has lost the focus; most terminals then highlight their window. With the
---option `system`, always rings, and also requests a desktop notification (OSC 9) if Neovim has lost the focus.
---@param said string text of the notification
local function ring(said)
  local wants_all = config.options.notify == "system"
  if not is_focused or wants_all then
    send(BELL)
  end
  if not is_focused and wants_all then
    send(("\27]9;agent-ls: %s\27\\"):format((said:gsub("%c", " "))))
  end
end

---@param hunks agent_ls.wire.Hunk[]
---@return string? path of the first proposal of a new call; nil if all their calls were reported already
local function find_new_proposal(hunks)
  for _, hunk in ipairs(hunks) do
    if hunk.state == "proposed" and not reported_calls[hunk.callId] then
      reported_calls[hunk.callId] = true
      return hunk.path
    end
  end
end

---@return string message for a completed turn, with the number of pending changes
local function done_words()
  local info, count = session.snapshot().session, require("agent_ls.review.actions").count_open()
  local title = info and info.title ~= "" and ("“%s” is done"):format(info.title) or "done"
  return count == 0 and title or ("%s, %d %s to review"):format(title, count, count == 1 and "change" or "changes")
end

---@type table<string, fun(data: table): string?, integer?>
local WORDS = {
  approval_requested = function(data)
    return ("asks: %s  (:AgentLs)"):format(data.summary), vim.log.levels.WARN
  end,
  question_asked = function(data) return ("asks: %s  (:AgentLs)"):format(data.question), vim.log.levels.WARN end,
  hunk_state = function(data)
    local path = find_new_proposal(data.hunks)
    return path and ("proposes a change to %s  (:AgentLs)"):format(vim.fn.fnamemodify(path, ":.")),
      vim.log.levels.WARN
  end,
  terminal_waiting = function(data)
    return data.waiting and "a command waits for your input  (:AgentLs terminal)" or nil, vim.log.levels.WARN
  end,
  processing_end = function(data)
    return data.reason == "completed" and done_words()
      or data.reason == "interrupted" and "stopped"
      or "ended: " .. data.reason
  end,
  error = function(data) return data.message, vim.log.levels.WARN end,
}

---@param change agent_ls.Change
local function on_change(change)
  local event, how = change.event, config.options.notify
  local words = event and WORDS[event.kind]
  if not words or how == "off" or (how == "away" and is_focused) then
    return
  end
  local said, level = words(event.data)
  if not said then
    return
  end
  ring(said)
  if not view.is_open() or change.session_id ~= session.current_id() then
    log.notify(said, level)
  end
end

function M.setup()
  session.listen(on_change)
  local group = vim.api.nvim_create_augroup("agent_ls_notify", {})
  for name, value in pairs({ FocusLost = false, FocusGained = true }) do
    vim.api.nvim_create_autocmd(name, {
      group = group,
      callback = function() is_focused = value end,
    })
  end
end

return M
