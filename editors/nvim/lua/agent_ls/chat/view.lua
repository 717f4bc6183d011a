-- The panel: a split with the transcript above the prompt. Takes the focus only when the user runs a command. In
-- transcript windows, moves a cursor only if it is at the end of the text.
local approvals = require("agent_ls.chat.approvals")
local asking = require("agent_ls.chat.asking")
local status_lines = require("agent_ls.chat.status_lines")
local calls = require("agent_ls.chat.render_calls")
local config = require("agent_ls.config")
local input = require("agent_ls.chat.input")
local log = require("agent_ls.log")
local progress = require("agent_ls.chat.progress")
local session = require("agent_ls.session")
local snapshot = require("agent_ls.snapshot")
local transcript = require("agent_ls.chat.transcript")
local wrapping = require("agent_ls.chat.wrapping")

local api = vim.api

local M = {}

local FRAME_MS = 33 -- minimum time between two redraws, which limits the cost of thousands of deltas per second
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

---@return integer? win of the transcript, in any tab page
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
---@param folder string? path or file URI
---@return string? relative path; nil if the file is not in this folder
local function relative_to(path, folder)
  folder = folder and folder:match("^file:") and vim.uri_to_fname(folder) or folder
  return folder and folder ~= "" and vim.fs.relpath(folder, path) or nil
end

---@param path string
---@return string relative to the session's folder or worktree, else to the home folder
local function relative(path)
  local info = session.snapshot().session or {}
  local inside = relative_to(path, info.workspaceFolder)
  local in_worktree = relative_to(path, info.worktree)
  if in_worktree then
    return in_worktree .. " (worktree)"
  end
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
  -- Avoid empty rows below the last line if earlier lines could fill the window.
  api.nvim_win_call(win, function() vim.cmd("normal! zb") end)
end

---@return integer[] windows that follow the stream
local function followers()
  local in_visual = api.nvim_get_mode().mode:match("^[vV\22]")
  return vim.tbl_filter(function(win)
    local follows = is_at_end(win) or asking.is_held(win)
    return follows and not (in_visual and win == api.nvim_get_current_win())
  end, vim.fn.win_findbuf(transcript.buffer()))
end

---Scrolls a window to the end of the stream. If an approval is pending, keeps it visible, even with text below it.
---@param win integer
local function follow(win)
  asking.let_go(win)
  go_to_end(win)
  local asked = snapshot.pending_approvals(session.snapshot())[1]
  if asked and not asking.shown_of(win, asked) then
    asking.scroll_to(win, asked)
  end
end

---@param win integer
local function configure_transcript(win)
  transcript.configure({
    width = api.nvim_win_get_width(win) - 1,
    keys = config.options.keymaps,
    relative = relative,
    elapsed = progress.format_elapsed,
  })
end

---Draws the next frame of the progress line, and no other line. Once a second, also requests a full frame,
---because the durations of running calls have changed.
---@param is_second boolean
local function animate(is_second)
  local s = session.snapshot()
  if not progress.is_wanted(s) or vim.tbl_isempty(vim.fn.win_findbuf(transcript.buffer())) then
    return progress.animate(false, animate)
  end
  if is_second then
    snapshot.touch_running(s)
    M.ask_frame()
  end
  transcript.refresh_progress(progress.render_line(s, transcript.context()))
end

---Draws the changes since the last frame. Draws nothing while no window shows the transcript.
M.draw = log.guard("drawing the panel", function()
  frame_asked, last_frame = false, vim.uv.hrtime()
  input.update_placeholder()
  status_lines.redraw()
  if vim.tbl_isempty(vim.fn.win_findbuf(transcript.buffer())) then
    return
  end
  local following = followers()
  if windows.transcript and api.nvim_win_is_valid(windows.transcript) then
    configure_transcript(windows.transcript)
  end
  local s = session.snapshot()
  if transcript.is_empty() and #s.items > 0 then
    following = vim.fn.win_findbuf(transcript.buffer()) -- the cursor in the welcome text does not count
  end
  transcript.update(s)
  if not s.session then
    transcript.refresh_welcome() -- it names the model of the next session
  end
  local is_wanted = progress.is_wanted(s)
  transcript.show_progress(is_wanted and progress.render_line(s, transcript.context()) or nil)
  progress.animate(is_wanted, animate)
  vim.iter(following):each(follow)
end)

---Requests a frame. The frame is drawn now, or when FRAME_MS have passed since the last one.
function M.ask_frame()
  if frame_asked then
    return
  end
  frame_asked = true
  local since_ms = (vim.uv.hrtime() - last_frame) / 1e6
  vim.defer_fn(function() M.draw() end, math.max(0, math.ceil(FRAME_MS - since_ms)))
end

---Sets options of a window for its current buffer only.
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
  foldcolumn = "1", -- left margin; Neovim does not count the width of a 'statuscolumn' until it is drawn
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

---@return integer? win a window outside the panel in which files are shown
local function file_window()
  local ours = { [windows.transcript or -1] = true, [windows.prompt or -1] = true }
  local before = vim.fn.win_getid(vim.fn.winnr("#"))
  local candidates = vim.list_extend({ before }, api.nvim_tabpage_list_wins(0))
  return vim.iter(candidates):find(function(win)
    local is_usable = win ~= 0 and api.nvim_win_is_valid(win) and not ours[win]
    return is_usable and api.nvim_win_get_config(win).relative == "" and not vim.wo[win].winfixbuf
  end)
end

---Shows the buffer of a file in this window, or in a new window above if 'winfixbuf' is set. A file that another Vim or
---Neovim has open is shown read-only, without the question about its swap file.
---@param bufnr integer
local function go_to_buffer(bufnr)
  if api.nvim_get_current_buf() == bufnr then
    return
  end
  local on_swap = api.nvim_create_autocmd("SwapExists", {
    callback = function()
      vim.v.swapchoice = "o"
      log.warn(("%s is open in another Vim or Neovim, so it is read-only here"):format(vim.fs.basename(api.nvim_buf_get_name(bufnr))))
    end,
  })
  -- Use :buffer, because nvim_win_set_buf ignores swap files.
  local shown = pcall(vim.cmd.buffer, bufnr)
  if not shown and api.nvim_get_current_buf() ~= bufnr then -- this window has a modified buffer, and 'hidden' is off
    api.nvim_open_win(bufnr, true, { split = "above" })
  end
  api.nvim_del_autocmd(on_swap)
end

---Shows a buffer next to the panel, and moves the focus to it. Call only for an action of the user.
---@param bufnr integer
function M.show_buffer(bufnr)
  local win = file_window()
  if win then
    api.nvim_set_current_win(win)
    go_to_buffer(bufnr)
  else
    api.nvim_open_win(bufnr, true, { split = "left", win = -1 })
  end
end

---Shows a file next to the panel, and moves the focus to it. Call only for an action of the user.
---@param path string
---@param line integer? from 1
function M.show_file(path, line)
  local bufnr = vim.fn.bufadd(path)
  vim.bo[bufnr].buflisted = true
  M.show_buffer(bufnr)
  if line then
    api.nvim_win_set_cursor(0, { math.min(line, api.nvim_buf_line_count(0)), 0 })
    vim.cmd("normal! zvzz")
  end
end

---@return {path: string, uri: string, line: integer?}? the file under the cursor
local function file_under_cursor()
  local item = item_under_cursor()
  if item and item.kind == "file" then
    local hunk = session.snapshot().hunks[item.hunk_ids[1]]
    return { path = item.path, uri = item.uri, line = hunk and hunk.first + 1 }
  end
  if item and item.kind == "end" and #item.files > 0 then
    local line = api.nvim_win_get_cursor(assert(M.window()))[1] - 1 - transcript.find_row(item)
    return require("agent_ls.chat.render_changes").file_at(item, line)
  end
  if item and item.kind == "tool" then
    return calls.find_file(item)
  end
  log.notify("Move the cursor to a file name.")
end

local function open_item_file()
  local file = file_under_cursor()
  if file then
    M.show_file(file.path, file.line)
  end
end

local function compare_item_file()
  local file = file_under_cursor()
  if file and file.uri then
    require("agent_ls.review.actions").compare(file.uri)
  end
end

local function review_turn()
  local item = item_under_cursor()
  require("agent_ls.review.actions").show_all(item and item.turn_id)
end

local function guide_turn()
  local item = item_under_cursor()
  require("agent_ls.review.actions").show_guide_of_turn(item and item.turn_id)
end

---@param decision agent_ls.Decision
---@return fun()
local function judge_turn(decision)
  return function()
    local item = item_under_cursor()
    local turn_id = item and item.turn_id
    if not turn_id then
      return log.notify("Move the cursor to the end of a turn, or to one of your messages.")
    end
    require("agent_ls.review.actions").judge_turn(decision, turn_id)
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

---Runs the action of the welcome text under the cursor.
---@param action agent_ls.StartAction
local function begin(action)
  if action.session then
    return session.open(action.session)
  elseif action.command then
    return vim.cmd("AgentLs " .. action.command)
  end
  input.set_text(assert(action.prompt))
  M.focus_prompt()
end

---Handles the toggle key for the item under the cursor: runs an action of the welcome text or of an error,
---selects a choice, or expands or collapses the item.
local function toggle_item()
  local offered = transcript.welcome_action_at(api.nvim_win_get_cursor(assert(M.window()))[1] - 1)
  if offered then
    return begin(offered)
  end
  local item = item_under_cursor()
  local line = item and api.nvim_win_get_cursor(assert(M.window()))[1] - 1 - transcript.find_row(item)
  if item and item.kind == "question" and item.status == "pending" then
    return require("agent_ls.chat.questions").choose(item, line)
  end
  if item and item.actions and item == session.snapshot().failure then
    return require("agent_ls.remedies").run(item.actions)
  end
  if item then
    transcript.toggle(item, line)
    local row = transcript.find_row(item) + 1
    local win = assert(M.window())
    if api.nvim_win_get_cursor(win)[1] > row then
      api.nvim_win_set_cursor(win, { row, 0 })
    end
  end
end

---Shows the raw arguments and output of the call under the cursor.
local function open_details()
  local item = item_under_cursor()
  local call = item and (item.kind == "tool" and item or item.call)
  if not call then
    return log.notify("Move the cursor to a tool call, or to a change.")
  end
  local text = table.concat(call.arguments.lines, "\n")
  local ok, arguments = pcall(vim.json.decode, text)
  local lines = { call.name, "" }
  for name, value in vim.spairs(ok and type(arguments) == "table" and arguments or { arguments = text }) do
    local shown = type(value) == "string" and value or vim.json.encode(value)
    vim.list_extend(lines, vim.split(("%s: %s"):format(name, shown), "\n", { plain = true }))
  end
  lines[#lines + 1] = ""
  vim.list_extend(lines, vim.tbl_map(require("agent_ls.chat.canvas").plain_line, call.part.lines))
  require("agent_ls.float").read(lines, { title = "arguments and output of the call", width = 100 })
end

local function open_item_terminal()
  local item = item_under_cursor()
  require("agent_ls.terminal").show_call(item and item.kind == "tool" and item.id or nil)
end

---Returns a function that maps the configured key of an action in this buffer.
---@param bufnr integer
---@return fun(modes: string[], action: string, run: fun(), desc: string)
local function mapper(bufnr)
  return function(modes, action, run, desc)
    local key = config.key(action)
    if key then
      local safe = log.guard(desc, run)
      vim.keymap.set(modes, key, safe, { buffer = bufnr, nowait = true, desc = "agent-ls: " .. desc })
    end
  end
end

---Stops the turn. If no turn is running, leaves Insert mode instead.
local function stop()
  if session.snapshot().state ~= "IDLE" and session.snapshot().state ~= "CLOSED" then
    return session.interrupt()
  end
  if api.nvim_get_mode().mode:match("^i") then
    vim.cmd.stopinsert()
  end
end

local function toggle_context()
  local is_shared = require("agent_ls.editor_state").toggle()
  status_lines.redraw()
  log.notify(is_shared and "Messages include the active file." or "Messages do not include the active file.")
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
  map({ "n" }, "review_turn", review_turn, "review all changes of the turn in one buffer")
  map({ "n" }, "guide_turn", guide_turn, "list the changes of the turn in reading order")
  map({ "n" }, "details", open_details, "unformatted arguments and output of the call")
  map({ "n" }, "keep_turn", judge_turn("keep"), "keep all changes of the turn")
  map({ "n" }, "undo_turn", judge_turn("undo"), "undo all changes of the turn")
  map({ "n" }, "rollback", roll_back, "roll back to before this message")
  map({ "n" }, "open_terminal", open_item_terminal, "open the command's terminal")
  vim.keymap.set("n", "i", M.focus_prompt, { buffer = transcript.buffer(), desc = "agent-ls: to the prompt" })
  local map_prompt = mapper(input.buffer())
  input.map_keys(map_prompt)
  map_prompt({ "n", "i" }, "prompt_context", toggle_context, "send messages with or without the active file")
  map_prompt({ "n", "i" }, "prompt_image", function() require("agent_ls.images").paste() end, "add the image of the clipboard")
  map_prompt({ "n", "i" }, "prompt_allow", allow, "allow once")
  map_prompt({ "n", "i" }, "prompt_deny", approvals.deny, "deny, with a reason")
  for _, any in ipairs({ map, map_prompt }) do
    any({ "n", "i" }, "stop", stop, "stop the turn")
    any({ "n" }, "help", function() require("agent_ls.chat.keys_help").show() end, "keys")
  end
end

---Makes the window one for files again.
---@param win integer
local function free_window(win)
  vim.wo[win].winfixbuf, vim.wo[win].winfixwidth, vim.wo[win].winfixheight = false, false, false
  vim.wo[win].winbar, vim.wo[win].statusline = "", ""
end

---Gives the windows up without closing them.
local function release()
  vim.iter(vim.tbl_values(windows)):filter(api.nvim_win_is_valid):each(free_window)
  windows = {}
  wrapping.stop()
end

local function watch_windows()
  local group = api.nvim_create_augroup("agent_ls_panel", {})
  api.nvim_create_autocmd("WinClosed", {
    group = group,
    desc = "agent-ls: close the two windows of the panel together",
    callback = function(args)
      local win = tonumber(args.match)
      if win == windows.transcript or win == windows.prompt then
        -- A file of :mksession closes all windows but the current one, and goes on in that.
        local close = vim.g.SessionLoad and release or vim.schedule_wrap(M.close)
        close()
      end
    end,
  })
  api.nvim_create_autocmd({ "WinResized", "VimResized" }, { group = group, callback = M.ask_frame })
  api.nvim_create_autocmd({ "TextChanged", "TextChangedI", "TextChangedP" }, {
    group = group,
    buffer = input.buffer(),
    callback = M.fit_prompt,
  })
  api.nvim_create_autocmd("ModeChanged", { group = group, buffer = input.buffer(), callback = status_lines.redraw })
end

---Sets the height of the prompt window to the height of its text.
function M.fit_prompt()
  local win = windows.prompt
  if win and api.nvim_win_is_valid(win) then
    local height = api.nvim_win_text_height(win, {}).all
    api.nvim_win_set_height(win, math.max(PROMPT_LINES.least, math.min(PROMPT_LINES.most, height)))
  end
end

---Opens the panel without moving the focus.
function M.show()
  if M.is_open() then
    return
  end
  M.close() -- it may be open in another tab page
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
  wrapping.start()
  status_lines.set(windows.transcript, windows.prompt)
  map_keys()
  watch_windows()
  configure_transcript(windows.transcript)
  M.draw()
  follow(windows.transcript)
  if not session.current_id() and not session.is_awaited() then
    require("agent_ls.chat.welcome").look_up(log.guard("showing the welcome text", transcript.refresh_welcome))
    transcript.refresh_welcome()
  end
end

---@param asked agent_ls.Item
---@return boolean the next key press scrolls on in a request that is longer than the window, and does not answer it
function M.has_more_of(asked)
  local win = M.window()
  return win ~= nil and transcript.is_drawn(asked) and asking.shown_of(win, asked) == "part"
end

---Scrolls to a pending approval, or on in one that is longer than the window, without moving the focus.
---@param asked agent_ls.Item
---@return "end"|"part"|nil shown what was visible already: "end" everything, "part" its beginning, nil nothing
function M.show_asked(asked)
  local was_drawn = M.is_open() and transcript.is_drawn(asked)
  M.show()
  if not was_drawn then
    M.draw() -- the request may be newer than the last frame
  end
  local win = assert(M.window())
  local shown = was_drawn and asking.shown_of(win, asked) or nil
  if shown == "part" then
    asking.scroll_on(win)
  elseif not shown then
    asking.scroll_to(win, asked)
  end
  return shown
end

---Displays a message in the panel if the cursor is in the panel.
---@param text string
---@return boolean is_shown the whole message is visible
function M.show_message(text)
  local here = api.nvim_get_current_win()
  if here ~= windows.transcript and here ~= windows.prompt then
    return false
  end
  status_lines.flash(text)
  return api.nvim_strwidth(text) < api.nvim_win_get_width(here)
end

---Moves the focus to the prompt, in Insert mode.
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

---Closes a window of the panel. Neovim's last window cannot be closed, so it gets an empty buffer.
---@param win integer
local function close_window(win)
  if api.nvim_win_is_valid(win) and not pcall(api.nvim_win_close, win, true) then
    free_window(win)
    api.nvim_win_set_buf(win, api.nvim_create_buf(true, false))
  end
end

function M.close()
  local pair = windows
  windows = {}
  vim.iter(vim.tbl_values(pair)):each(close_window)
  wrapping.stop()
end

function M.toggle()
  if M.is_open() then
    M.close()
  else
    M.open()
  end
end

return M
