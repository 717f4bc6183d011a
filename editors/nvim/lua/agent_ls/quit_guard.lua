-- Prevents `:qa` from silently ending a turn: while the agent works, Neovim refuses to quit, as with an unsaved
-- buffer. `:qa!` quits. Pending approvals and questions are stored when Neovim exits, and need no guard.
local log = require("agent_ls.log")
local session = require("agent_ls.session")
local snapshot = require("agent_ls.snapshot")

local api = vim.api

local M = {}

local QUESTION_MS = 50 -- interval at which we check whether the user has answered the question of `:confirm qa`
local NAME = "agent-ls: the agent is working; :qa! ends its turn"

---Removes the guard buffer. If Neovim has displayed the guard in a window, restores the window's previous buffer
---and view.
---@param guard integer
---@param before table<integer, integer> buffer of each window
local function remove_guard(guard, before)
  for win, bufnr in pairs(before) do
    if api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win) == guard and api.nvim_buf_is_valid(bufnr) then
      vim.wo[win].winfixbuf = false
      local view = api.nvim_win_call(win, vim.fn.winsaveview)
      api.nvim_win_set_buf(win, bufnr)
      api.nvim_win_call(win, function() vim.fn.winrestview(view) end)
    end
  end
  pcall(api.nvim_buf_delete, guard, { force = true })
  log.warn("The agent is working. :qa! ends its turn and quits Neovim; :AgentLs stop only ends the turn.")
end

---Creates the guard: a modified buffer, which makes Neovim refuse to quit. Removes it after the attempt to quit.
local function create_guard()
  local guard = api.nvim_create_buf(true, false)
  api.nvim_buf_set_name(guard, NAME)
  vim.bo[guard].buftype, vim.bo[guard].swapfile, vim.bo[guard].modified = "acwrite", false, true
  api.nvim_create_autocmd("BufWriteCmd", { -- :wqa
    buffer = guard,
    callback = function() error("agent-ls: the agent is working; :qa! ends its turn", 0) end,
  })
  local before = {}
  for _, win in ipairs(api.nvim_list_wins()) do
    before[win] = api.nvim_win_get_buf(win)
  end
  -- With `:confirm qa`, Neovim asks about the guard, so the guard must exist until the user has answered.
  local function wait()
    if api.nvim_get_mode().mode:match("^r") then
      return vim.defer_fn(wait, QUESTION_MS)
    end
    remove_guard(guard, before)
  end
  vim.schedule(wait)
end

function M.setup()
  api.nvim_create_autocmd("ExitPre", {
    group = api.nvim_create_augroup("agent_ls_leaving", {}),
    desc = "agent-ls: save the draft, and refuse to quit while the agent works",
    callback = function()
      require("agent_ls.chat.input").save_draft() -- the regular save waits for a pause in the typing
      if snapshot.describe_activity(session.snapshot()) == "working" then
        create_guard()
      end
    end,
  })
end

return M
