-- A floating window to read or write a text of several lines.
local api = vim.api

local M = {}

---@class agent_ls.FloatOptions
---@field title string
---@field footer string? help for the keys
---@field width integer?
---@field at_cursor boolean? open below the cursor; default: in the middle of the screen
---@field hang integer? additional indent of the continuation rows of a wrapped line, in columns (`M.read` only)
---@field at_row integer? open below this line of the current buffer, from 0

---@param height integer rows of the text
---@return integer rows of the window
local function fit_height(height) return math.max(1, math.min(height, vim.o.lines - 6)) end

---@param width integer
---@param height integer
---@return vim.api.keyset.win_config
local function center(width, height)
  return {
    relative = "editor",
    row = math.floor((vim.o.lines - height) / 2) - 1,
    col = math.floor((vim.o.columns - width) / 2),
  }
end

---@param bufnr integer
---@param height integer
---@param options agent_ls.FloatOptions
---@return integer win
local function open(bufnr, height, options)
  local width = math.min(options.width or 72, vim.o.columns - 4)
  height = fit_height(height)
  local place = options.at_cursor and { relative = "cursor", row = 1, col = 0 } or center(width, height)
  if options.at_row then
    place = { relative = "win", win = api.nvim_get_current_win(), bufpos = { options.at_row, 0 }, row = 1, col = 0 }
  end
  return api.nvim_open_win(
    bufnr,
    true,
    vim.tbl_extend("force", place, {
      width = width,
      height = height,
      style = "minimal",
      border = "rounded",
      title = (" %s "):format(options.title),
      footer = options.footer and (" %s "):format(options.footer) or nil,
    })
  )
end

---Shows lines in a floating window. q or <Esc> closes it.
---@param lines string[]
---@param options agent_ls.FloatOptions
---@return integer bufnr in which the caller can map more keys
---@return fun() close
function M.read(lines, options)
  local bufnr = api.nvim_create_buf(false, true)
  api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  vim.bo[bufnr].modifiable, vim.bo[bufnr].bufhidden = false, "wipe"
  local win = open(bufnr, #lines, options)
  vim.wo[win].wrap, vim.wo[win].linebreak, vim.wo[win].breakindent = true, true, true
  vim.wo[win].breakindentopt = ("shift:%d"):format(options.hang or 0)
  -- Lines that are wider than the window take several rows.
  local rows = api.nvim_win_text_height(win, {}).all
  local footer = options.footer or (rows == fit_height(rows) and "q closes" or "more below: j, <C-d> · q closes")
  local place = options.at_cursor and {} or center(api.nvim_win_get_width(win), fit_height(rows))
  local shape = { height = fit_height(rows), footer = (" %s "):format(footer) }
  api.nvim_win_set_config(win, vim.tbl_extend("force", place, shape))
  local close = function()
    if api.nvim_win_is_valid(win) then
      api.nvim_win_close(win, true)
    end
  end
  for _, key in ipairs({ "q", "<Esc>" }) do
    vim.keymap.set("n", key, close, { buffer = bufnr, nowait = true, desc = "agent-ls: close" })
  end
  return bufnr, close
end

---Lets the user write a text. Writing the buffer (:w, ZZ) or <C-s> passes its lines to `done`. q or <Esc> in Normal
---mode closes it without calling `done`.
---@param lines string[] initial text
---@param options agent_ls.FloatOptions | {filetype: string?, insert: boolean?}
---@param done fun(lines: string[])
---@return integer bufnr in which the caller can map more keys
function M.write(lines, options, done)
  local bufnr = api.nvim_create_buf(false, false)
  vim.bo[bufnr].buftype, vim.bo[bufnr].bufhidden, vim.bo[bufnr].swapfile = "acwrite", "wipe", false
  api.nvim_buf_set_name(bufnr, ("agent-ls://write/%d"):format(bufnr))
  api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  vim.bo[bufnr].filetype = options.filetype or ""
  vim.bo[bufnr].modified = false
  options.footer = options.footer or "<C-s> or :w sends the text · q closes"
  local win = open(bufnr, math.max(#lines, 3), options)
  local function leave()
    if api.nvim_win_is_valid(win) then
      api.nvim_win_close(win, true)
    end
  end
  local function hand_on()
    local text = api.nvim_buf_get_lines(bufnr, 0, -1, false)
    vim.bo[bufnr].modified = false
    vim.schedule(function()
      vim.cmd.stopinsert()
      leave()
      done(text)
    end)
  end
  api.nvim_create_autocmd("BufWriteCmd", { buffer = bufnr, callback = hand_on })
  vim.keymap.set({ "n", "i" }, "<C-s>", hand_on, { buffer = bufnr, desc = "agent-ls: send the text" })
  for _, key in ipairs({ "q", "<Esc>" }) do
    vim.keymap.set("n", key, leave, { buffer = bufnr, nowait = true, desc = "agent-ls: leave it" })
  end
  if options.insert then
    vim.cmd.startinsert({ bang = true })
  end
  return bufnr
end

return M
