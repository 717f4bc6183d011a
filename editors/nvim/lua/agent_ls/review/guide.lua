-- Shows the changes of a session in reading order, one row each: state, reason, place, and marks that say which changes
-- deserve a second look. The server decides about all of it. The review keys work on the row under the cursor.
local canvas = require("agent_ls.chat.canvas")
local client = require("agent_ls.client")
local config = require("agent_ls.config")
local log = require("agent_ls.log")
local protocol = require("agent_ls.protocol")
local scratch = require("agent_ls.scratch")
local session = require("agent_ls.session")

local api = vim.api
local ns = api.nvim_create_namespace("agent_ls_guide")

local M = {}

local NAME = "agent-ls://guide"
local SETTLE_MS = 300 -- changes in quick succession are shown together

---@class agent_ls.GuidedRow
---@field row agent_ls.wire.GuideRow
---@field uri string of its first hunk
---@field first integer line of its first hunk, from 0

local SIGNS = {
  notLooked = { "●", "AgentLsRunning", "not looked at" },
  looked = { "○", "AgentLsDim", "looked at" },
  kept = { "✓", "AgentLsDone", "kept" },
  undone = { "↶", "AgentLsDim", "undone" },
}

local bufnr ---@type integer?
local shown = {} ---@type agent_ls.GuidedRow[] from top to bottom
local is_fetched = false
local session_id ---@type string?
local turn_id ---@type string?
local waits = false

---@param result agent_ls.wire.HunksResult
---@return agent_ls.GuidedRow[]
local function rows_of(result)
  local places, out = {}, {}
  for _, file in ipairs(result.files) do
    for _, hunk in ipairs(file.hunks) do
      places[hunk.id] = { file.uri, hunk.newRange[1] }
    end
  end
  for _, row in ipairs(result.guide or {}) do
    local place = places[row.hunkIds[1]]
    if place then
      out[#out + 1] = { row = row, uri = place[1], first = place[2] }
    end
  end
  return out
end

---@param each agent_ls.GuidedRow
---@return string
local function format_place(each)
  local name = vim.fs.basename(vim.uri_to_fname(each.uri))
  if each.row.kind == "change" then
    return ("%s:%d"):format(name, each.first + 1)
  end
  return #each.row.hunkIds > 1 and ("%d places"):format(#each.row.hunkIds) or name
end

---@param text string
---@param columns integer
local function pad(text, columns)
  text = canvas.shorten(text, columns)
  return text .. (" "):rep(columns - api.nvim_strwidth(text))
end

---@param marks agent_ls.wire.GuideMark[]
---@return string
local function format_marks(marks)
  return table.concat(vim.tbl_map(function(mark) return mark.text end, marks), " · ")
end

---@param width integer
---@return agent_ls.Canvas
local function draw(width)
  local out, places, marks = canvas.new(), 1, 1
  for _, each in ipairs(shown) do
    places = math.max(places, api.nvim_strwidth(format_place(each)))
    marks = math.max(marks, api.nvim_strwidth(format_marks(each.row.marks)))
  end
  places = math.min(places, math.floor(width / 4))
  local titles = math.max(12, math.min(72, width - places - math.min(marks, math.floor(width / 3)) - 8))
  for _, each in ipairs(shown) do
    local sign = SIGNS[each.row.state]
    local is_done = each.row.state == "kept" or each.row.state == "undone"
    local title = each.row.title ~= "" and each.row.title or "a change"
    out:add({
      { sign[1] .. " ", sign[2] },
      { pad(title, titles), is_done and "AgentLsDim" or nil },
      { "  " },
      { pad(format_place(each), places), "AgentLsDim" },
    })
    out:add_end(format_marks(each.row.marks), is_done and "AgentLsDim" or "AgentLsWarn", width)
  end
  if #shown == 0 then
    out:add({ { is_fetched and turn_id and "This turn has no changes." or "This session has no changes." or "", "AgentLsDim" } })
  end
  return out
end

---@param buffer integer
---@return boolean
function M.is_buffer(buffer) return buffer == bufnr end

---@param buffer integer
---@param row integer from 0
---@return string[]? ids of the hunks of this row; nil for any other buffer
function M.ids_at(buffer, row)
  local each = M.is_buffer(buffer) and shown[row + 1]
  return each and each.row.hunkIds or nil
end

---@return string winbar: what is left to look at, and help for the keys
function M.render_winbar()
  local left = #vim.tbl_filter(function(each) return each.row.state == "notLooked" end, shown)
  local parts = { is_fetched and (" %%#AgentLsStrong#%d of %d%%* to look at%s"):format(left, #shown, turn_id and " in this turn" or "") or " …" }
  for _, key in ipairs({ { "<CR>", "open" }, { config.key("keep_hunk"), "keep" }, { config.key("undo_hunk"), "undo" } }) do
    if key[1] then
      local typed = key[1]:gsub("<[lL]eader>", vim.g.mapleader == " " and "␣" or vim.g.mapleader or "\\"):gsub("%%", "%%%%")
      parts[#parts + 1] = ("%%#AgentLsKey#%s%%#AgentLsDim# %s%%*"):format(typed, key[2])
    end
  end
  parts[#parts + 1] = "%#AgentLsKey#K%#AgentLsDim# details  %#AgentLsKey#q%#AgentLsDim# close%*%<"
  return table.concat(parts, "  ")
end

local function redraw()
  local win = vim.fn.win_findbuf(bufnr)[1]
  if not win then
    return
  end
  local info = vim.fn.getwininfo(win)[1]
  local out = draw(info.width - info.textoff)
  vim.bo[bufnr].modifiable = true
  api.nvim_buf_set_lines(bufnr, 0, -1, false, out.lines)
  vim.bo[bufnr].modifiable, vim.bo[bufnr].modified = false, false
  api.nvim_buf_clear_namespace(bufnr, ns, 0, -1)
  for _, mark in ipairs(out.marks) do
    api.nvim_buf_set_extmark(bufnr, ns, mark.row, mark.col, mark.opts)
  end
  vim.cmd.redrawstatus({ bang = true })
end

---@param id string? of a hunk
---@return integer? row from 1
local function find_row(id)
  return (vim.iter(ipairs(shown)):find(function(_, each) return vim.list_contains(each.row.hunkIds, id) end))
end

---Draws these rows. The cursor follows its row, so that a key never acts on another one.
---@param rows agent_ls.GuidedRow[]
local function replace_rows(rows)
  local win = vim.fn.win_findbuf(bufnr)[1]
  local under = win and shown[api.nvim_win_get_cursor(win)[1]]
  shown, is_fetched = rows, true
  redraw()
  local row = under and find_row(under.row.hunkIds[1])
  if row then
    api.nvim_win_set_cursor(win, { row, 0 })
  end
end

---Fetches the guide again, and redraws it.
---@param done fun()?
local function fetch(done)
  local params = { sessionId = session_id, turnId = turn_id, guide = true }
  client.request(protocol.method.hunks, params, session.report_or(function(result)
    if bufnr and api.nvim_buf_is_loaded(bufnr) then
      replace_rows(rows_of(result))
      if done then
        done()
      end
    end
  end))
end

---Fetches the guide soon, if it is visible, because a hunk has changed.
function M.refresh()
  if waits or not bufnr or not api.nvim_buf_is_loaded(bufnr) or #vim.fn.win_findbuf(bufnr) == 0 then
    return
  end
  waits = true
  vim.defer_fn(log.guard("showing the guide", function()
    waits = false
    fetch()
  end), SETTLE_MS)
end

---Notes that the user has looked at a hunk. The server reports it back as an event.
---@param hunk agent_ls.Hunk?
function M.note_looked(hunk)
  if hunk and not hunk.looked and not session.is_owned_elsewhere(hunk.session_id) then
    hunk.looked = true
    client.notify(protocol.method.looked, { hunkIds = { hunk.id } })
  end
end

local function open_file()
  local each = shown[vim.fn.line(".")]
  if each then
    require("agent_ls.chat.view").show_file(vim.uri_to_fname(each.uri), each.first + 1)
    if each.row.state == "notLooked" and session_id and not session.is_owned_elsewhere(session_id) then
      client.notify(protocol.method.looked, { hunkIds = each.row.hunkIds })
    end
  end
end

local function show_details()
  local each = shown[vim.fn.line(".")]
  if not each then
    return
  end
  local lines = { each.row.title, "", ("%s:%d"):format(vim.uri_to_fname(each.uri), each.first + 1), SIGNS[each.row.state][3] }
  for _, mark in ipairs(each.row.marks) do
    lines[#lines + 1] = mark.text
  end
  require("agent_ls.float").read(vim.tbl_map(canvas.plain_line, lines), { title = "change", at_cursor = true })
end

local function close()
  if not pcall(vim.cmd.buffer, "#") or M.is_buffer(api.nvim_get_current_buf()) then
    vim.cmd.enew()
  end
end

---Opens the buffer in a window for files.
---@param turn string? only the changes of this turn
---@param map fun(bufnr: integer) maps the review keys
function M.open(turn, map)
  session_id, turn_id = session.current_id(), turn
  if not session_id then
    return log.notify("There is no session.")
  end
  if not bufnr or not api.nvim_buf_is_loaded(bufnr) then
    bufnr = scratch.make(NAME, "agent_ls_guide")
    local keys = { { "<CR>", open_file, "open the file" }, { config.key("open_file"), open_file, "open the file" } }
    vim.list_extend(keys, { { config.key("details"), show_details, "show the whole row" }, { "q", close, "close the guide" } })
    for _, key in ipairs(keys) do
      if key[1] then
        vim.keymap.set("n", key[1], log.guard(key[3], key[2]), { buffer = bufnr, nowait = true, desc = "agent-ls: " .. key[3] })
      end
    end
    map(bufnr)
    api.nvim_create_autocmd({ "WinResized", "BufWinEnter" }, {
      group = api.nvim_create_augroup("agent_ls_guide", {}),
      callback = log.guard("drawing the guide", redraw),
    })
  end
  shown, is_fetched = {}, false
  require("agent_ls.chat.view").show_buffer(bufnr)
  local win = api.nvim_get_current_win()
  vim.wo[win][0].signcolumn, vim.wo[win][0].number, vim.wo[win][0].relativenumber = "no", false, false
  vim.wo[win][0].wrap, vim.wo[win][0].cursorline = false, true
  vim.wo[win][0].winbar = "%{%v:lua.require'agent_ls.review.guide'.render_winbar()%}"
  fetch(function()
    local next_row = vim.iter(ipairs(shown)):find(function(_, each) return each.row.state == "notLooked" end)
    pcall(api.nvim_win_set_cursor, win, { next_row or 1, 0 })
  end)
end

---@param buffer integer
---@return {first: integer, last: integer}[]? rows of this buffer; nil for any other buffer
function M.list_positions(buffer)
  return M.is_buffer(buffer)
      and vim.iter(ipairs(shown)):map(function(i) return { first = i - 1, last = i } end):totable()
    or nil
end

return M
