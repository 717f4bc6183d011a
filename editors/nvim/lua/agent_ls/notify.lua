-- Tells the user that the agent waits or is done while the panel is out of sight (never by taking the focus).
local config = require("agent_ls.config")
local log = require("agent_ls.log")
local session = require("agent_ls.session")
local view = require("agent_ls.chat.view")

local M = {}

local is_focused = true

---A bell reaches a user who looks at another window: most terminals mark theirs.
local function ring()
  if not is_focused then
    pcall(vim.api.nvim_chan_send, vim.v.stderr, "\7")
  end
end

---@type table<string, fun(data: table): string?, integer?>
local WORDS = {
  approval_requested = function(data)
    return ("asks: %s  (:AgentLs)"):format(data.summary), vim.log.levels.WARN
  end,
  terminal_waiting = function(data)
    return data.waiting and "a command waits for your input  (:AgentLs terminal)" or nil, vim.log.levels.WARN
  end,
  processing_end = function(data)
    return data.reason == "completed" and "done"
      or data.reason == "interrupted" and "stopped"
      or "ended: " .. data.reason
  end,
  error = function(data) return data.message, vim.log.levels.WARN end,
}

---@param change agent_ls.Change
local function on_change(change)
  local event = change.event
  local words = event and WORDS[event.kind]
  if not words or not config.options.notify then
    return
  end
  local said, level = words(event.data)
  if not said then
    return
  end
  ring()
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
