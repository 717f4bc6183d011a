-- Which part of a request a window shows, and scrolling to it and on in it: what is longer than the window is allowed only
-- after its end was in view.
local transcript = require("agent_ls.chat.transcript")

local api = vim.api

local M = {}

local held = {} ---@type table<integer, integer> by window: the line of the approval that it shows instead of the end
local begun = {} ---@type table<string, true> requests that a window has shown from their beginning

---Which of the lines that the user must read of a request a window shows: "end" the last ones, after it has shown those
---before; "part" others, and the last ones are below; nil: none, or not yet the beginning.
---@param win integer
---@param asked agent_ls.Item
---@return "end"|"part"|nil
function M.shown_of(win, asked)
  local first = transcript.find_row(asked) + 1
  local last = first + (asked.head_lines or 1) - 1
  local top, bottom = vim.fn.line("w0", win), vim.fn.line("w$", win)
  begun[asked.id] = begun[asked.id] or (top <= first and first <= math.max(top, bottom)) or nil
  if not begun[asked.id] or top > last then
    return nil
  end
  return bottom >= last and "end" or top >= first and "part" or nil
end

---Scrolls a window so that an approval begins at its top.
---@param win integer
---@param asked agent_ls.Item
function M.scroll_to(win, asked)
  vim.wo[win][0].smoothscroll = false
  local row = transcript.find_row(asked) + 1
  api.nvim_win_set_cursor(win, { row, 0 })
  api.nvim_win_call(win, function() vim.cmd("normal! zt") end)
  held[win] = row
end

---Scrolls a window by almost its height, also within a line that is longer than the window.
---@param win integer
function M.scroll_on(win)
  vim.wo[win][0].smoothscroll = true
  local rows = math.max(1, api.nvim_win_get_height(win) - 2)
  api.nvim_win_call(win, function() vim.cmd("normal! " .. rows .. vim.keycode("<C-e>")) end)
end

---@param win integer
---@return boolean the window shows an approval instead of the end, and its cursor has not been moved since
function M.is_held(win) return held[win] == api.nvim_win_get_cursor(win)[1] end

---@param win integer
function M.let_go(win)
  held[win] = nil
  vim.wo[win][0].smoothscroll = false
end

return M
