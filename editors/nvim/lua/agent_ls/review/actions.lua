-- Review in the editor: stores the hunks, draws them in their files, maps the review keys there, and sends the user's
-- decisions.
local changes = require("agent_ls.review.changes")
local client = require("agent_ls.client")
local compare = require("agent_ls.review.compare")
local config = require("agent_ls.config")
local files = require("agent_ls.files")
local guide = require("agent_ls.review.guide")
local log = require("agent_ls.log")
local model = require("agent_ls.review.model")
local session = require("agent_ls.session")
local signs = require("agent_ls.review.signs")
local decisions = require("agent_ls.review.decisions")

local api = vim.api

local M = {}

local hunks = model.new()
local mapped = {} ---@type table<integer, string[]> keys that we mapped, by buffer

---@param bufnr integer
local function unmap(bufnr)
  for _, key in ipairs(mapped[bufnr] or {}) do
    for _, mode in ipairs({ "n", "x" }) do
      pcall(vim.keymap.del, mode, key, { buffer = bufnr })
    end
  end
  mapped[bufnr] = nil
end

---@type {[1]: string, [2]: fun(), [3]: string}[]
local KEYS = {
  { "keep_hunk", function() M.judge_hunk("keep") end, "keep this change" },
  { "undo_hunk", function() M.judge_hunk("undo") end, "undo this change" },
  { "keep_file", function() M.judge_file("keep") end, "keep all changes of this file" },
  { "undo_file", function() M.judge_file("undo") end, "undo all changes of this file" },
  { "comment_hunk", function() M.comment() end, "comment on this change" },
  { "edit_hunk", function() M.own_text() end, "accept this change with your own text" },
  { "compare", function() M.compare() end, "compare side by side" },
  { "next_hunk", function() M.go(1) end, "next change" },
  { "prev_hunk", function() M.go(-1) end, "previous change" },
}

---@type {[1]: string, [2]: fun(), [3]: string}[] keys in Visual mode
local LINE_KEYS = {
  { "keep_hunk", function() M.judge_selection("keep") end, "keep the selected lines" },
  { "undo_hunk", function() M.judge_selection("undo") end, "undo the selected lines" },
}

---@param bufnr integer
---@param mode "n"|"x"
---@param entry {[1]: string, [2]: fun(), [3]: string}
local function map_key(bufnr, mode, entry)
  local key = config.key(entry[1])
  if key then
    vim.keymap.set(mode, key, log.guard(entry[3], entry[2]), { buffer = bufnr, desc = "agent-ls: " .. entry[3] })
    table.insert(mapped[bufnr], key)
  end
end

---@param bufnr integer
local function map(bufnr)
  if mapped[bufnr] then
    return
  end
  mapped[bufnr] = {}
  vim.iter(KEYS):each(function(entry) map_key(bufnr, "n", entry) end)
  vim.iter(LINE_KEYS):each(function(entry) map_key(bufnr, "x", entry) end)
end

---@return {uri: string, hunks: agent_ls.Hunk[]}[] all pending hunks, by file
local function group_by_file()
  return vim.tbl_map(function(uri) return { uri = uri, hunks = model.list_of_file(hunks, uri) } end, model.list_files(hunks))
end

---@return agent_ls.Hunk[] the pending hunks of all files
function M.list_all()
  return vim.iter(group_by_file()):map(function(file) return file.hunks end):flatten():totable()
end

---Redraws the hunks of a file, and maps or unmaps the review keys in its buffer.
---@param uri string
local function refresh(uri)
  local bufnr = files.find_loaded(uri)
  local open = model.list_of_file(hunks, uri)
  compare.refresh(uri, open)
  if not bufnr then
    return
  end
  local in_order = M.list_all()
  local number = vim.iter(ipairs(in_order)):find(function(_, hunk) return hunk.uri == uri end)
  signs.show(bufnr, open, number or 1, #in_order)
  if #open > 0 then
    map(bufnr)
  else
    unmap(bufnr)
  end
end

---@param bufnr integer
---@return string? uri under which the server knows this buffer
local function uri_of(bufnr)
  return compare.uri_of(bufnr)
    or vim.iter(model.list_files(hunks)):find(function(uri) return files.find_loaded(uri) == bufnr end)
end

---Returns the positions of the changes in a buffer: a file, a comparison, or the list of all changes.
---@param bufnr integer
---@return agent_ls.Place[]
local function places(bufnr) return compare.list_positions(bufnr) or changes.list_positions(bufnr) or guide.list_positions(bufnr) or signs.list_positions(bufnr) end

---@param first integer row of the guide, from 0
---@param last integer row after the last
---@return agent_ls.Hunk[] the undecided changes of these rows
local function guided_hunks(first, last)
  local ids = {}
  for row = first, last - 1 do
    vim.list_extend(ids, guide.ids_at(api.nvim_get_current_buf(), row) or {})
  end
  return vim.tbl_filter(function(hunk) return vim.list_contains(ids, hunk.id) end, M.list_all())
end

---@return agent_ls.Hunk[] the undecided changes under the cursor: several for a row of the guide
local function find_hunks()
  local row = api.nvim_win_get_cursor(0)[1] - 1
  local bufnr = api.nvim_get_current_buf()
  if guide.is_buffer(bufnr) then
    return guided_hunks(row, row + 1)
  end
  return { changes.find_at(bufnr, row) or model.find_at(places(bufnr), row) }
end

---@return agent_ls.Hunk[] like find_hunks; notifies the user if there are none
local function hunks_at_cursor()
  local found = find_hunks()
  local bufnr = api.nvim_get_current_buf()
  if #found == 0 then
    log.notify(guide.is_buffer(bufnr) and "This change is decided." or "There is no change made by the agent at the cursor.")
  end
  return found
end

---@return agent_ls.Hunk? the change under the cursor
local function hunk_at_cursor() return hunks_at_cursor()[1] end

---@param decision agent_ls.Decision
function M.judge_hunk(decision)
  local found = hunks_at_cursor()
  if #found > 0 then
    decisions.judge(found, decision)
  end
end

---Decides about the changed lines in a range. Lines of a change outside the range stay pending.
---@param decision agent_ls.Decision
---@param first integer row, from 0
---@param last integer row after the last
function M.judge_lines(decision, first, last)
  local bufnr = api.nvim_get_current_buf()
  local found = guide.is_buffer(bufnr) and { whole = guided_hunks(first, last), parts = {} }
    or model.split_selection(places(bufnr), first, last)
  if #found.whole + #found.parts == 0 then
    return log.notify("These lines contain no change made by the agent.")
  end
  if #found.whole > 0 then
    decisions.judge(found.whole, decision)
  end
  for _, part in ipairs(found.parts) do
    if part.hunk.state == "proposed" and not compare.list_positions(bufnr) and not changes.is_buffer(bufnr) then
      -- The buffer does not contain the proposed lines, so they cannot be selected here.
      log.notify("To decide about single lines of a proposed change, open its comparison: :AgentLs compare")
    else
      decisions.judge({ part.hunk }, decision, { lines = part.lines })
    end
  end
end

---@param decision agent_ls.Decision
function M.judge_selection(decision)
  local first, last = vim.fn.line("v"), vim.fn.line(".")
  api.nvim_feedkeys(vim.keycode("<Esc>"), "nx", false)
  M.judge_lines(decision, math.min(first, last) - 1, math.max(first, last))
end

---@param chosen agent_ls.Hunk[]
---@param decision agent_ls.Decision
---@param nothing string message if there are none
local function judge_all_of(chosen, decision, nothing)
  if #chosen == 0 then
    return log.notify(nothing)
  end
  decisions.judge(chosen, decision)
end

---@param decision agent_ls.Decision
function M.judge_file(decision)
  local bufnr = api.nvim_get_current_buf()
  if changes.is_buffer(bufnr) or guide.is_buffer(bufnr) then
    local hunk = hunk_at_cursor()
    return hunk and decisions.judge(model.list_of_file(hunks, hunk.uri), decision)
  end
  local shown = vim.tbl_map(function(place) return place.hunk end, places(bufnr))
  judge_all_of(shown, decision, "There are no changes to review in this file.")
end

---Decides about all changes of a turn. Default: the turn of the change under the cursor.
---@param decision agent_ls.Decision
---@param turn_id string?
function M.judge_turn(decision, turn_id)
  local hunk = not turn_id and hunk_at_cursor() or nil
  turn_id = turn_id or hunk and hunk.turn_id
  if turn_id then
    local of_turn = vim.tbl_filter(function(each) return each.turn_id == turn_id end, M.list_all())
    judge_all_of(of_turn, decision, "This turn has no changes to review.")
  end
end

---Decides about all changes of the current session.
---@param decision agent_ls.Decision
function M.judge_session(decision)
  local own = vim.tbl_filter(function(hunk) return hunk.session_id == session.current_id() end, M.list_all())
  judge_all_of(own, decision, "This session has no changes to review.")
end

---@param decision agent_ls.Decision
function M.judge_all(decision) judge_all_of(M.list_all(), decision, "There are no changes to review.") end

local partly_undone_call ---@type string? id of a call that changed several files, one of which the editor's undo reverted

---Notifies the user if the editor's undo reverted only one file of a call that changed several, for example a rename.
---@param data agent_ls.wire.HunkStateChanged
local function warn_about_partial_undo(data)
  for _, raw in ipairs(data.by == "editor" and data.hunks or {}) do
    local elsewhere = raw.state == "gone"
        and vim.tbl_filter(function(each) return each.call_id == raw.callId and each.uri ~= data.uri end, M.list_all())
      or {}
    if #elsewhere > 0 then
      partly_undone_call = raw.callId
      local here = vim.fs.basename(data.path)
      local there = vim.fs.basename(vim.uri_to_fname(elsewhere[1].uri))
      local others = #elsewhere > 1 and ("%s and %d more places"):format(there, #elsewhere - 1) or there
      local words = "Undone in %s only; the same step also changed %s. :AgentLs undo_step undoes the step in all files."
      return log.warn(words:format(here, others))
    end
  end
end

---Undoes a call's changes in its other files, after the editor's undo reverted one file.
function M.undo_step()
  local rest = vim.tbl_filter(function(each) return each.call_id == partly_undone_call end, M.list_all())
  judge_all_of(rest, "undo", "There is no step that `u` undid in only one of its files.")
  partly_undone_call = nil
end

---@param text string?
function M.comment(text)
  local hunk = hunk_at_cursor()
  if hunk then
    require("agent_ls.review.comments").comment_on(hunk, text)
  end
end

function M.own_text()
  local hunk = hunk_at_cursor()
  if hunk then
    require("agent_ls.review.comments").accept_own_text(hunk)
  end
end

---Opens a side-by-side comparison of a file. Moves to the change under the cursor, else to the first change of
---the file.
---@param uri string? default: the file under the cursor
function M.compare(uri)
  local bufnr = api.nvim_get_current_buf()
  local line = api.nvim_win_get_cursor(0)[1] - 1
  local shown = guide.is_buffer(bufnr) and guided_hunks(line, line + 1)[1] or changes.find_at(bufnr, line)
  uri = uri or shown and shown.uri or uri_of(bufnr)
  local open = uri and model.list_of_file(hunks, uri) or {}
  if #open == 0 then
    return log.notify("There are no changes to review in this file.")
  end
  local at = vim.iter(open):find(function(hunk) return hunk == (shown or model.find_at(places(bufnr), line)) end)
  compare.open(open, at or open[1], map)
end

---@param place agent_ls.Place
local function jump(place)
  vim.cmd("normal! m'")
  local last = api.nvim_buf_line_count(0)
  api.nvim_win_set_cursor(0, { math.min(place.first + 1, last), 0 })
  vim.cmd("normal! zv")
  guide.note_looked(place.hunk)
end

---Opens the next or previous file with hunks, cyclically.
---@param by 1|-1
local function go_to_other_file(by)
  local uris = model.list_files(hunks)
  if #uris == 0 then
    return log.notify("There are no changes to review.")
  end
  local own = uri_of(api.nvim_get_current_buf())
  local at = 0
  for i, uri in ipairs(uris) do
    if uri == own then
      at = i
    end
  end
  local uri = uris[(at - 1 + by) % #uris + 1]
  local in_order = model.list_of_file(hunks, uri)
  local hunk = by == 1 and in_order[1] or in_order[#in_order]
  require("agent_ls.chat.view").show_file(vim.uri_to_fname(uri), hunk.first + 1)
  guide.note_looked(hunk)
end

---Goes to the next or previous change in this file. After the last change, continues in the next file.
---@param by 1|-1
function M.go(by)
  local row = api.nvim_win_get_cursor(0)[1] - 1
  local place = model.find_next(places(api.nvim_get_current_buf()), row, by)
  if place then
    jump(place)
  elseif changes.is_buffer(api.nvim_get_current_buf()) or guide.is_buffer(api.nvim_get_current_buf()) then
    log.notify(by == 1 and "This is the last change." or "This is the first change.")
  else
    go_to_other_file(by)
  end
end

---@return integer pending changes in all files
function M.count_open() return #M.list_all() end

---Shows all pending changes in one buffer.
---@param turn_id string? show only the changes of this turn
function M.show_all(turn_id)
  if M.count_open() == 0 then
    return log.notify("There are no changes to review.")
  end
  changes.open_buffer(group_by_file(), turn_id, map)
end

---Shows the changes of the session in reading order, one row each.
function M.show_guide() guide.open(nil, map) end

---Shows only the changes of one turn. Default: the turn of the change under the cursor, else the newest one that changed
---files.
---@param turn_id string?
function M.show_guide_of_turn(turn_id)
  local hunk = not turn_id and find_hunks()[1] or nil
  local newest = vim.iter(session.snapshot().items):rfind(function(item) return item.kind == "end" and #(item.files or {}) > 0 end)
  turn_id = turn_id or hunk and hunk.turn_id or newest and newest.turn_id
  if not turn_id then
    return log.notify("No turn of this session has changed files.")
  end
  guide.open(turn_id, map)
end

---Redraws the hunks of these files, and of all other files with hunks, because each hint shows the total number.
---@param uris string[]
local function refresh_after(uris)
  if #uris == 0 then
    return
  end
  uris = vim.list_extend(vim.list_slice(uris), model.list_files(hunks)) -- a hint says "2 of 7", counted over all files
  local seen = {}
  for _, uri in ipairs(uris) do
    if not seen[uri] then
      seen[uri] = true
      refresh(uri)
    end
  end
  changes.refresh(group_by_file())
  guide.refresh()
end

---@param change agent_ls.Change
local function on_change(change)
  if change.forgotten then
    local uris = model.list_files(hunks)
    hunks = model.new()
    refresh_after(uris)
  elseif change.files then
    refresh_after(model.replace(hunks, change.files))
  elseif change.event then
    refresh_after(model.apply(hunks, change.event))
    if change.event.kind == "hunk_state" then
      warn_about_partial_undo(change.event.data)
    end
  end
end

---Draws the hunks of a file at the positions that the server has sent. Ignores positions for another version of
---the text, because the server sends new ones after each change of the text.
---@param file agent_ls.wire.FileHunks
local function on_hunks_moved(file)
  local bufnr = files.find_loaded(file.uri)
  if bufnr and (not file.version or file.version == vim.lsp.util.buf_versions[bufnr]) then
    model.update_positions(hunks, file)
    signs.forget(bufnr)
    refresh(file.uri)
  end
end

function M.setup()
  session.listen(on_change)
  client.on_hunks_moved = on_hunks_moved
  local group = api.nvim_create_augroup("agent_ls_review", {})
  api.nvim_create_autocmd({ "BufReadPost", "BufWinEnter" }, {
    group = group,
    desc = "agent-ls: mark pending changes",
    callback = function(args)
      local uri = files.is_file(args.buf) and uri_of(args.buf)
      if uri then
        refresh(uri)
      end
    end,
  })
  api.nvim_create_autocmd("BufUnload", {
    group = group,
    callback = function(args)
      signs.forget(args.buf)
      mapped[args.buf] = nil
    end,
  })
end

return M
