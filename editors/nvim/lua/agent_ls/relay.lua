-- Terminals of this editor in which the server runs its commands. The server requests each terminal, which is opened
-- hidden; it is shown when the user asks for it.
local api = vim.api

local M = {}

local HEIGHT = 14

---@class agent_ls.HostTerminal
---@field bufnr integer

---Environment variables that a program needs to start. No other variables are passed on, because they may contain
---API keys.
local KEPT = { "PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH" }

local terminals = {} ---@type table<string, agent_ls.HostTerminal> by the server's id
local by_call = {} ---@type table<string, string>
local count = 0

---Called when the command of a call starts in a terminal of this editor.
M.on_runs = function(_) end ---@type fun(call_id: string)

---Sets the options and the close key of a window with a terminal.
---@param win integer
---@param bufnr integer
local function set_up_window(win, bufnr)
  vim.wo[win][0].number, vim.wo[win][0].relativenumber, vim.wo[win][0].signcolumn = false, false, "no"
  vim.wo[win][0].winfixheight = true
  vim.keymap.set(
    "n",
    "q",
    function() api.nvim_win_close(0, false) end,
    { buffer = bufnr, nowait = true, desc = "agent-ls: close" }
  )
end

---@param bufnr integer
---@return integer win
function M.open_window(bufnr)
  local own = vim.fn.win_findbuf(bufnr)[1]
  if own then
    api.nvim_set_current_win(own)
    return own
  end
  local sizes, windows = vim.fn.winrestcmd(), #api.nvim_tabpage_list_wins(0)
  local win = api.nvim_open_win(bufnr, true, { split = "below", win = -1, height = HEIGHT })
  -- Restore the window sizes. Otherwise Neovim gives the closed window's rows to the window above, for example
  -- the prompt.
  api.nvim_create_autocmd("WinClosed", {
    pattern = tostring(win),
    once = true,
    callback = function()
      vim.schedule(function()
        if #api.nvim_tabpage_list_wins(0) == windows then
          vim.cmd(sizes)
        end
      end)
    end,
  })
  set_up_window(win, bufnr)
  vim.wo[win][0].statusline = [[ %f%=%#AgentLsBarKey#<C-\><C-n> q%* closes  %#AgentLsBarKey#<C-c>%* stops ]]
  return win
end

---Moves the cursor to the last line, so that the window follows the output. Scrolls again after the first output,
---because Neovim resizes the terminal shortly after its window, and the resize could scroll the first lines out
---of view.
---@param win integer
---@param bufnr integer
local function go_to_end(win, bufnr)
  api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(bufnr), 0 })
  local fit = function()
    local is_there = api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win) == bufnr
    local follows = is_there and api.nvim_win_get_cursor(win)[1] == api.nvim_buf_line_count(bufnr)
    if follows and api.nvim_get_mode().mode ~= "t" then
      api.nvim_win_call(win, function() vim.cmd("normal! zb") end)
    end
  end
  api.nvim_buf_attach(bufnr, false, {
    on_lines = function()
      vim.schedule(fit)
      return true -- detach after the first change
    end,
  })
end

---Shows another buffer in all windows of a buffer. A window in which the user types stays in Terminal mode.
---@param before integer
---@param bufnr integer
function M.replace_buffer(before, bufnr)
  local is_typing = api.nvim_get_mode().mode == "t"
  for _, win in ipairs(vim.fn.win_findbuf(before)) do
    api.nvim_win_set_buf(win, bufnr)
    set_up_window(win, bufnr)
    go_to_end(win, bufnr)
    if is_typing and win == api.nvim_get_current_win() then
      vim.cmd.startinsert()
    end
  end
end

---@return table<string, string>
local function environment()
  local env = vim.empty_dict()
  for _, name in ipairs(KEPT) do
    env[name] = vim.env[name]
  end
  return env
end

---Called when the program of a terminal has ended: removes the terminal, and deletes its buffer if no window shows it.
---@param bufnr integer
local function forget_terminal(bufnr)
  for id, terminal in pairs(terminals) do
    if terminal.bufnr == bufnr then
      terminals[id] = nil
    end
  end
  if api.nvim_buf_is_valid(bufnr) and #vim.fn.win_findbuf(bufnr) == 0 then
    api.nvim_buf_delete(bufnr, { force = true })
  end
end

---@param bufnr integer
---@param params {argv: string[], cwd: string}
---@return integer job
local function start_hidden(bufnr, params)
  -- The terminal emulator takes the size of its first window, so open it in an invisible window of the expected size.
  local win = api.nvim_open_win(bufnr, false, {
    relative = "editor",
    row = 0,
    col = 0,
    width = math.max(vim.o.columns, 20),
    height = HEIGHT,
    hide = true,
    focusable = false,
    noautocmd = true,
  })
  -- Ignore events: many users start Insert mode on TermOpen, which would affect the window in which they are typing.
  local ignored = vim.o.eventignore
  vim.o.eventignore = "all"
  local ok, job = pcall(
    api.nvim_win_call,
    win,
    function()
      local env = environment()
      return vim.fn.jobstart(params.argv, {
        term = true,
        cwd = params.cwd,
        clear_env = true,
        env = env,
        on_exit = vim.schedule_wrap(function() forget_terminal(bufnr) end),
      })
    end
  )
  api.nvim_win_close(win, true)
  vim.o.eventignore = ignored
  if not ok or job <= 0 then
    error(ok and "the terminal did not start" or job, 0)
  end
  return job
end

---Opens a hidden terminal for a command of the server. Does not move the focus.
---@param params agent_ls.wire.AskedTerminal
function M.open_terminal(params)
  local bufnr = api.nvim_create_buf(false, true)
  vim.bo[bufnr].bufhidden = "hide"
  local ok, why = pcall(start_hidden, bufnr, params)
  if not ok then
    api.nvim_buf_delete(bufnr, { force = true })
    error(why, 0)
  end
  count = count + 1
  pcall(api.nvim_buf_set_name, bufnr, ("agent-ls://commands/%d"):format(count))
  terminals[params.terminalId] = { bufnr = bufnr }
  return vim.empty_dict()
end

---Records the terminal in which the command of a call runs.
---@param params agent_ls.wire.AskedTerminalRuns
function M.record_run(params)
  by_call[params.callId] = params.terminalId
  M.on_runs(params.callId)
  return vim.empty_dict()
end

---@param call_id string
---@return integer? bufnr of the terminal in which the call's command runs; nil if there is none any more
function M.buffer_of(call_id)
  local terminal = terminals[by_call[call_id] or ""]
  return terminal and api.nvim_buf_is_valid(terminal.bufnr) and terminal.bufnr or nil
end

---Shows the terminal of a call's command. Enters Terminal mode if the command waits for input.
---@param call_id string
---@param is_waiting boolean?
---@return boolean is_shown
function M.show_terminal(call_id, is_waiting)
  local bufnr = M.buffer_of(call_id)
  if not bufnr then
    return false
  end
  local win = M.open_window(bufnr)
  go_to_end(win, bufnr)
  if is_waiting then
    vim.cmd.startinsert()
  end
  return true
end

return M
