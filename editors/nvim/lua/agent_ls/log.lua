-- The plugin's log file, and messages to the user outside the panel.
local M = {}

local LEVELS = { "debug", "info", "warn", "error" }
local MAX_BYTES = 1024 * 1024 -- a larger file is emptied, because the log is only for recent problems

---@return string
function M.path()
  return vim.fs.joinpath(vim.fn.stdpath("log") --[[@as string]], "agent-ls.nvim.log")
end

---@param level "debug"|"info"|"warn"|"error"
---@param message string
function M.write(level, message)
  assert(vim.list_contains(LEVELS, level))
  vim.fn.mkdir(vim.fs.dirname(M.path()), "p")
  local stat = vim.uv.fs_stat(M.path())
  local file = io.open(M.path(), stat and stat.size > MAX_BYTES and "w" or "a")
  if file then
    file:write(os.date("!%Y-%m-%dT%H:%M:%SZ "), level, " ", message, "\n")
    file:close()
  end
end

---@param text string
---@return string one line that fits the message area, so that Neovim does not ask to press ENTER
local function one_line(text)
  local line = vim.trim((text:gsub("%s+", " ")))
  -- 'showcmd' and 'ruler' use the last columns of the message line.
  local room = math.max(20, vim.o.columns - 24)
  if vim.api.nvim_strwidth(line) <= room then
    return line
  end
  return vim.fn.strcharpart(line, 0, room - 1) .. "…"
end

local queued ---@type {text: string, level: integer}?

local function show()
  local message = queued
  queued = nil
  if not message then
    return
  end
  -- Redraw first. Otherwise an earlier message of the same tick is still displayed, and the message area scrolls.
  vim.cmd.redraw()
  vim.notify(message.text, message.level, { title = "agent-ls" })
end

---Shows a message in the panel, if the cursor is there. Returns false if the message does not fit completely. Set
---by init.lua.
---@type fun(text: string): boolean
M.nearby = function() return false end

---Shows a message in one line. If there are several in one tick, shows only the most severe one.
---@param text string
---@param level integer? vim.log.levels
function M.notify(text, level)
  level = level or vim.log.levels.INFO
  M.write(level >= vim.log.levels.WARN and "warn" or "info", text)
  -- In Insert mode Neovim overwrites the message line with the mode, so a warning is shown in both places.
  if M.nearby(text) and level < vim.log.levels.WARN then
    return
  end
  if queued and queued.level > level then
    return
  end
  local first = not queued
  queued = { text = one_line("agent-ls: " .. text), level = level }
  if first then
    vim.schedule(show)
  end
end

---Wraps a function so that an error is logged and shown in one line, not as a traceback that stops at "Press ENTER".
---@param what string description of the function for that line, such as "drawing the panel"
---@param run fun(...): any
---@return fun(...): any returns nothing after an error
function M.guard(what, run)
  return function(...)
    local results = { xpcall(run, debug.traceback, ...) }
    if results[1] then
      return unpack(results, 2)
    end
    M.write("error", tostring(results[2]))
    M.notify(("%s failed, see %s"):format(what, M.path()), vim.log.levels.ERROR)
  end
end

---@param text string
function M.warn(text) M.notify(text, vim.log.levels.WARN) end

return M
