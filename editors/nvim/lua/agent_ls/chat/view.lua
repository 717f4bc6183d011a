-- The panel: a split with the transcript and the prompt below it. It never takes the focus by itself, and moves no
-- cursor but one that stands at the transcript's end.
local approvals = require("agent_ls.chat.approvals")
local bars = require("agent_ls.chat.bars")
local config = require("agent_ls.config")
local input = require("agent_ls.chat.input")
local log = require("agent_ls.log")
local session = require("agent_ls.session")
local transcript = require("agent_ls.chat.transcript")

local api = vim.api

local M = {}

local FRAME_MS = 33 -- 30 a second: smooth for the eye, cheap for a burst of thousands of deltas
local MIN_WIDTH = 32
local PROMPT_LINES = { least = 3, most = 12 }

local windows = {} ---@type {transcript: integer?, prompt: integer?}
local frame_asked = false
local last_frame = 0

---@param win integer?
---@return boolean
local function is_here(win)
  return win ~= nil
    and api.nvim_win_is_valid(win)
    and api.nvim_win_get_tabpage(win) == api.nvim_get_current_tabpage()
end

---@return boolean the panel is open in the current tab page
function M.is_open() return is_here(windows.transcript) end

---@return integer? win of the transcript, wherever it is
function M.window()
  return windows.transcript and api.nvim_win_is_valid(windows.transcript) and windows.transcript or nil
end

---@return integer
local function wanted_width()
  local width = config.options.width
  local columns = width < 1 and math.floor(vim.o.columns * width) or width
  return math.max(MIN_WIDTH, math.min(columns, vim.o.columns - 20))
end

---@param path string
---@return string as short as it can be told: from the session's folder, else from home
local function relative(path)
  local info = session.snapshot().session
  local folder = info and info.workspaceFolder or ""
  folder = folder:match("^file:") and vim.uri_to_fname(folder) or folder
  local inside = folder ~= "" and vim.fs.relpath(folder, path)
  return inside == "." and "the project folder" or inside or vim.fn.fnamemodify(path, ":~")
end

---@param win integer
local function is_at_end(win)
  return api.nvim_win_get_cursor(win)[1] >= api.nvim_buf_line_count(api.nvim_win_get_buf(win))
end

---@param win integer
local function go_to_end(win)
  local buf = api.nvim_win_get_buf(win)
  local last = api.nvim_buf_line_count(buf)
  local text = api.nvim_buf_get_lines(buf, last - 1, last, false)[1]
  api.nvim_win_set_cursor(win, { last, #text })
  -- No empty rows below the last line while there are lines above.
  api.nvim_win_call(win, function() vim.cmd("normal! zb") end)
end

---@return integer[] windows that follow the stream
local function followers()
  local in_visual = api.nvim_get_mode().mode:match("^[vV\22]")
  return vim.tbl_filter(
    function(win) return is_at_end(win) and not (in_visual and win == api.nvim_get_current_win()) end,
    vim.fn.win_findbuf(transcript.buffer())
  )
end

---@param win integer
local function configure_transcript(win)
  transcript.configure({
    width = api.nvim_win_get_width(win) - 1,
    keys = config.options.keymaps,
    relative = relative,
  })
end

---Draws what has changed since the last frame. Nothing is drawn while no window shows the transcript.
M.draw = log.guarded("drawing the panel", function()
  frame_asked, last_frame = false, vim.uv.hrtime()
  input.placeholder()
  bars.redraw()
  if vim.tbl_isempty(vim.fn.win_findbuf(transcript.buffer())) then
    return
  end
  local following = followers()
  if windows.transcript and api.nvim_win_is_valid(windows.transcript) then
    configure_transcript(windows.transcript)
  end
  transcript.update(session.snapshot())
  vim.iter(following):each(go_to_end)
end)

---Asks for a frame: at once when the last one is long ago, else when its time has come.
function M.ask_frame()
  if frame_asked then
    return
  end
  frame_asked = true
  local since_ms = (vim.uv.hrtime() - last_frame) / 1e6
  vim.defer_fn(function() M.draw() end, math.max(0, math.ceil(FRAME_MS - since_ms)))
end

---@param win integer
---@param options table<string, any>
local function set_window(win, options)
  for name, value in pairs(options) do
    vim.wo[win][0][name] = value
  end
end

local COMMON = {
  number = false,
  relativenumber = false,
  signcolumn = "no",
  foldcolumn = "1", -- room at the left; a 'statuscolumn' of " " would be measured wrongly until it is drawn
  foldmethod = "manual",
  winhighlight = "FoldColumn:Normal",
  spell = false,
  list = false,
  wrap = true,
  linebreak = true,
  breakindent = true,
  cursorline = false,
  colorcolumn = "",
  winfixwidth = true,
  winfixbuf = true,
  statuscolumn = "",
  fillchars = "eob: ",
}

---@return agent_ls.Item?
local function item_under_cursor()
  local win = M.window()
  return win and transcript.item_at(api.nvim_win_get_cursor(win)[1] - 1)
end

---@return integer? win outside the panel, where files are shown
local function file_window()
  local ours = { [windows.transcript or -1] = true, [windows.prompt or -1] = true }
  local before = vim.fn.win_getid(vim.fn.winnr("#"))
  local candidates = vim.list_extend({ before }, api.nvim_tabpage_list_wins(0))
  return vim.iter(candidates):find(function(win)
    local is_usable = win ~= 0 and api.nvim_win_is_valid(win) and not ours[win]
    return is_usable and api.nvim_win_get_config(win).relative == "" and not vim.wo[win].winfixbuf
  end)
end

---Goes to a file's buffer in this window; where that is forbidden, in a window above.
---@param bufnr integer
local function go_to_buffer(bufnr)
  if api.nvim_get_current_buf() == bufnr then
    return
  end
  local shown = pcall(api.nvim_win_set_buf, 0, bufnr)
  if not shown then -- a changed buffer without 'hidden'
    api.nvim_open_win(bufnr, true, { split = "above" })
  end
end

---Shows a file beside the panel, at a line when one is given. Used by what the user asked for only.
---@param path string
---@param line integer? from 1
function M.show_file(path, line)
  local bufnr = vim.fn.bufadd(path)
  vim.bo[bufnr].buflisted = true
  local win = file_window()
  if win then
    api.nvim_set_current_win(win)
    go_to_buffer(bufnr)
  else
    api.nvim_open_win(bufnr, true, { split = "left", win = -1 })
  end
  if line then
    api.nvim_win_set_cursor(0, { math.min(line, api.nvim_buf_line_count(0)), 0 })
    vim.cmd("normal! zvzz")
  end
end

---@return {path: string, uri: string, line: integer?}? the changed file under the cursor
local function file_under_cursor()
  local item = item_under_cursor()
  if item and item.kind == "file" then
    local hunk = session.snapshot().hunks[item.hunk_ids[1]]
    return { path = item.path, uri = item.uri, line = hunk and hunk.first + 1 }
  end
  if item and item.kind == "end" and #item.files > 0 then
    local line = api.nvim_win_get_cursor(assert(M.window()))[1] - 1 - transcript.row(item)
    return require("agent_ls.chat.render_changes").file_at(item, line)
  end
  log.notify("Put the cursor on a changed file.")
end

local function open_item_file()
  local file = file_under_cursor()
  if file then
    M.show_file(file.path, file.line)
  end
end

local function compare_item_file()
  local file = file_under_cursor()
  if file then
    require("agent_ls.review.actions").compare(file.uri)
  end
end

---@param verdict agent_ls.Verdict
---@return fun()
local function judge_turn(verdict)
  return function()
    local item = item_under_cursor()
    local turn_id = item and item.turn_id
    if not turn_id then
      return log.notify("Put the cursor on the end of a turn, or on what you said.")
    end
    require("agent_ls.review.actions").judge_turn(verdict, turn_id)
  end
end

local function roll_back()
  local item = item_under_cursor()
  local is_place = item and (item.kind == "user" or item.kind == "reverted") and item.turn_id
  if item and is_place then
    return require("agent_ls.chat.rollback").ask(item)
  end
  require("agent_ls.chat.rollback").choose()
end

local function toggle_item()
  local item = item_under_cursor()
  if item and item.kind == "question" and item.status == "pending" then
    local line = api.nvim_win_get_cursor(assert(M.window()))[1] - 1 - transcript.row(item)
    return require("agent_ls.chat.questions").choose(item, line)
  end
  if item then
    transcript.toggle(item)
    local row = transcript.row(item) + 1
    local win = assert(M.window())
    if api.nvim_win_get_cursor(win)[1] > row then
      api.nvim_win_set_cursor(win, { row, 0 })
    end
  end
end

local function open_item_terminal()
  local item = item_under_cursor()
  require("agent_ls.terminal").show_call(item and item.kind == "tool" and item.id or nil)
end

---@param bufnr integer
---@return fun(modes: string[], action: string, run: fun(), desc: string)
local function mapper(bufnr)
  return function(modes, action, run, desc)
    local key = config.key(action)
    if key then
      local safe = log.guarded(desc, run)
      vim.keymap.set(modes, key, safe, { buffer = bufnr, nowait = true, desc = "agent-ls: " .. desc })
    end
  end
end

---Stops the turn; where there is none, the key does what it does elsewhere.
local function stop()
  if session.snapshot().state ~= "IDLE" and session.snapshot().state ~= "CLOSED" then
    return session.interrupt()
  end
  if api.nvim_get_mode().mode:match("^i") then
    vim.cmd.stopinsert()
  end
end

local function map_keys()
  local map = mapper(transcript.buffer())
  map({ "n" }, "expand", toggle_item, "open or close")
  for _, key in ipairs({ "za", "<Tab>" }) do
    vim.keymap.set("n", key, toggle_item, { buffer = transcript.buffer(), desc = "agent-ls: open or close" })
  end
  local allow = approvals.once_per_press(approvals.allow)
  local allow_rule = approvals.once_per_press(approvals.allow_rule)
  map({ "n" }, "allow", function() allow(item_under_cursor()) end, "allow once")
  map({ "n" }, "allow_rule", function() allow_rule(item_under_cursor()) end, "allow by the offered rule")
  map({ "n" }, "edit_command", function() approvals.edit(item_under_cursor()) end, "change the command, and allow it")
  map({ "n" }, "deny", function() approvals.deny(item_under_cursor()) end, "deny, with a reason")
  map({ "n" }, "open_file", open_item_file, "open the changed file")
  map({ "n" }, "compare_file", compare_item_file, "compare the changed file side by side")
  map({ "n" }, "keep_turn", judge_turn("keep"), "keep all changes of the turn")
  map({ "n" }, "undo_turn", judge_turn("undo"), "undo all changes of the turn")
  map({ "n" }, "rollback", roll_back, "roll back to before what was said")
  map({ "n" }, "open_terminal", open_item_terminal, "open the command's terminal")
  vim.keymap.set("n", "i", M.focus_prompt, { buffer = transcript.buffer(), desc = "agent-ls: to the prompt" })
  local map_prompt = mapper(input.buffer())
  input.map(map_prompt)
  map_prompt({ "n", "i" }, "prompt_allow", allow, "allow once")
  map_prompt({ "n", "i" }, "prompt_deny", approvals.deny, "deny, with a reason")
  for _, any in ipairs({ map, map_prompt }) do
    any({ "n", "i" }, "stop", stop, "stop the turn")
    any({ "n" }, "help", function() require("agent_ls.chat.keys_help").show() end, "keys")
  end
end

local function watch_windows()
  local group = api.nvim_create_augroup("agent_ls_panel", {})
  api.nvim_create_autocmd("WinClosed", {
    group = group,
    desc = "agent-ls: the two windows of the panel go together",
    callback = function(args)
      local win = tonumber(args.match)
      if win == windows.transcript or win == windows.prompt then
        vim.schedule(M.close)
      end
    end,
  })
  api.nvim_create_autocmd({ "WinResized", "VimResized" }, { group = group, callback = M.ask_frame })
  api.nvim_create_autocmd({ "TextChanged", "TextChangedI" }, {
    group = group,
    buffer = input.buffer(),
    callback = M.fit_prompt,
  })
  api.nvim_create_autocmd("ModeChanged", { group = group, buffer = input.buffer(), callback = bars.redraw })
end

---Makes the prompt as high as what is written in it.
function M.fit_prompt()
  local win = windows.prompt
  if win and api.nvim_win_is_valid(win) then
    local height = api.nvim_win_text_height(win, {}).all
    api.nvim_win_set_height(win, math.max(PROMPT_LINES.least, math.min(PROMPT_LINES.most, height)))
  end
end

---Opens the panel without going there.
function M.show()
  if M.is_open() then
    return
  end
  M.close() -- in another tab page
  windows.transcript = api.nvim_open_win(transcript.buffer(), false, {
    split = "right",
    win = -1,
    width = wanted_width(),
  })
  windows.prompt = api.nvim_open_win(input.buffer(), false, {
    split = "below",
    win = windows.transcript,
    height = PROMPT_LINES.least,
  })
  set_window(windows.transcript, COMMON)
  set_window(windows.transcript, { conceallevel = 2, concealcursor = "nc", breakindentopt = "list:-1" })
  set_window(windows.prompt, COMMON)
  set_window(windows.prompt, { winfixheight = true })
  bars.set(windows.transcript, windows.prompt)
  map_keys()
  watch_windows()
  configure_transcript(windows.transcript)
  M.draw()
  go_to_end(windows.transcript)
end

---Says something to a user who is in the panel.
---@param text string
---@return boolean said
function M.say(text)
  local here = api.nvim_get_current_win()
  if here ~= windows.transcript and here ~= windows.prompt then
    return false
  end
  bars.flash(text)
  return true
end

---Goes to the prompt, ready to write.
function M.focus_prompt()
  if is_here(windows.prompt) then
    api.nvim_set_current_win(windows.prompt)
    vim.cmd.startinsert({ bang = true })
  end
end

function M.open()
  M.show()
  M.focus_prompt()
end

function M.close()
  local pair = windows
  windows = {}
  for _, win in pairs(pair) do
    if api.nvim_win_is_valid(win) then
      pcall(api.nvim_win_close, win, true) -- the last window of Neovim stays
    end
  end
end

function M.toggle()
  if M.is_open() then
    M.close()
  else
    M.open()
  end
end

return M
