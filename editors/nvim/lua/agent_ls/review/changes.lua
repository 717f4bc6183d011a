-- Shows all pending changes of all files in one buffer, with some lines of context. The review keys work there as in a
-- file. The buffer is redrawn after each change of a hunk.
local canvas = require("agent_ls.chat.canvas")
local code = require("agent_ls.chat.code")
local config = require("agent_ls.config")
local files = require("agent_ls.files")
local icons = require("agent_ls.icons")
local log = require("agent_ls.log")
local scratch = require("agent_ls.scratch")

local api = vim.api
local ns = api.nvim_create_namespace("agent_ls_changes")

local M = {}

local AROUND = 3 -- unchanged lines on either side of a change
local NAME = "agent-ls://changes"

---@class agent_ls.ChangeBlock
---@field hunk agent_ls.Hunk
---@field top integer row of its first line, context included
---@field bottom integer row after its last line
---@field first integer row of the first line that it adds
---@field last integer row after the last line that it adds

local bufnr ---@type integer?
local blocks = {} ---@type agent_ls.ChangeBlock[] from top to bottom
local only_turn ---@type string? only the changes of this turn are shown

---@param uri string
---@return string[] lines of the file, with unsaved changes
local function text_of(uri)
  local loaded = files.find_loaded(uri)
  if loaded then
    return api.nvim_buf_get_lines(loaded, 0, -1, false)
  end
  local ok, lines = pcall(vim.fn.readfile, vim.uri_to_fname(uri))
  return ok and lines or {}
end

---@param uri string
---@return string
local function filetype_of(uri) return vim.filetype.match({ filename = vim.uri_to_fname(uri) }) or "" end

---@param out agent_ls.Canvas
---@param lines string[]
---@param sign string
---@param group string?
---@return {row: integer, col: integer}[] positions of the lines in the buffer
local function add_lines(out, lines, sign, group)
  local places = {}
  for i, line in ipairs(lines) do
    places[i] = { row = #out.lines, col = 0 }
    local sign_group = sign == "+" and "AgentLsAddedSign" or "AgentLsRemovedSign"
    out:add({ { line } }, group and { line_hl_group = group, sign_text = sign, sign_hl_group = sign_group } or nil)
  end
  return places
end

---Draws the removed and added lines of a hunk, and the lines around it. A proposal is drawn as if it were applied.
---@param hunk agent_ls.Hunk
---@param text string[]
---@param after integer last row of the file that the previous hunk has drawn
---@param before_next integer? first row of the next hunk; context ends before it
---@param out agent_ls.Canvas
---@return agent_ls.ChangeBlock
local function draw_hunk(out, hunk, text, after, before_next)
  local is_proposed = hunk.state == "proposed"
  local new = is_proposed and hunk.new_lines or vim.list_slice(text, hunk.first + 1, hunk.last)
  local above = vim.list_slice(text, math.max(after, hunk.first - AROUND) + 1, hunk.first)
  local last_below = math.min(#text, hunk.last + AROUND, before_next or math.huge)
  local below = vim.list_slice(text, hunk.last + 1, last_below)
  local block = { hunk = hunk, top = #out.lines, bottom = 0, first = 0, last = 0 }
  local filetype, lines, places = filetype_of(hunk.uri), {}, {}
  local add = function(some, sign, group)
    vim.list_extend(places, add_lines(out, some, sign, group))
    vim.list_extend(lines, some)
  end
  add(above, " ", nil)
  code.mark(out.marks, hunk.old_lines, filetype, add_lines(out, hunk.old_lines, "-", "AgentLsRemoved"))
  block.first = #out.lines
  add(new, "+", "AgentLsAdded")
  block.last = #out.lines
  add(below, " ", nil)
  code.mark(out.marks, lines, filetype, places)
  block.bottom = #out.lines
  return block
end

local STATES = { proposed = "proposed", edited = "with your edits", stale = "position unknown" }

---@param out agent_ls.Canvas
---@param uri string
---@param count integer
local function draw_head(out, uri, count)
  local path = vim.uri_to_fname(uri)
  local icon, icon_group = unpack(icons.find_icon(path) or {})
  out:add({
    { icon and icon .. " " or "", icon_group },
    { vim.fs.relpath(files.find_root(), path) or vim.fn.fnamemodify(path, ":~"), "AgentLsPath" },
    { "  " .. canvas.format_count(count, "change"), "AgentLsDim" },
  }, { line_hl_group = "AgentLsUser" })
end

---@param in_files {uri: string, hunks: agent_ls.Hunk[]}[]
---@return agent_ls.Canvas
local function draw(in_files)
  local out, total, number = canvas.new(), 0, 0
  blocks = {}
  vim.iter(in_files):each(function(file) total = total + #file.hunks end)
  for _, file in ipairs(in_files) do
    if #out.lines > 0 then
      out:add({ { "" } })
    end
    draw_head(out, file.uri, #file.hunks)
    local text, after = text_of(file.uri), 0
    for i, hunk in ipairs(file.hunks) do
      if i > 1 then
        out:add({ { "⋯", "AgentLsDim" } })
      end
      number = number + 1
      local next_hunk = file.hunks[i + 1]
      local block = draw_hunk(out, hunk, text, after, next_hunk and next_hunk.first)
      after = math.min(#text, hunk.last + AROUND)
      local words = ("  %d of %d  line %d"):format(number, total, hunk.first + 1)
      words = STATES[hunk.state] and words .. "  " .. STATES[hunk.state] or words
      local row = math.min(block.first > block.top and block.first or block.top, #out.lines - 1)
      out.marks[#out.marks + 1] =
        { row = row, col = 0, opts = { virt_text = { { words, "AgentLsDim" } }, virt_text_pos = "eol" } }
      blocks[#blocks + 1] = block
    end
  end
  if total == 0 then
    out:add({ { "There are no changes to review.", "AgentLsDim" } })
  end
  return out
end

---@param row integer
---@return integer? index of the block at a row; if there is none, of the next block below
local function block_at(row)
  local found = vim.iter(ipairs(blocks)):find(function(_, block) return row < block.bottom end)
  return found
end

---@param buffer integer
---@return boolean
function M.is_buffer(buffer) return buffer == bufnr end

---@return string winbar: number of the change under the cursor, and help for the keys
function M.render_winbar()
  local at = block_at(vim.fn.line(".") - 1) or #blocks
  local parts = { (" %%#AgentLsStrong#%d of %d%%*"):format(at, #blocks) }
  local keys = { { "prev_hunk", "↑" }, { "next_hunk", "↓" }, { "keep_hunk", "keep" }, { "undo_hunk", "undo" } }
  vim.list_extend(keys, { { "keep_file", "keep file" }, { "undo_file", "undo file" } })
  for _, key in ipairs(keys) do
    local typed = config.key(key[1])
    if typed then
      typed = typed:gsub("<[lL]eader>", vim.g.mapleader == " " and "␣" or vim.g.mapleader or "\\"):gsub("%%", "%%%%")
      parts[#parts + 1] = ("%%#AgentLsKey#%s%%#AgentLsDim# %s%%*"):format(typed, key[2])
    end
  end
  parts[#parts + 1] = "%#AgentLsKey#q%#AgentLsDim# close%*%<"
  return table.concat(parts, "  ")
end

---Redraws the changes. The cursor stays on its change; if that is gone, it moves to the next one.
---@param in_files {uri: string, hunks: agent_ls.Hunk[]}[] the pending changes, in order
function M.refresh(in_files)
  if not bufnr or not api.nvim_buf_is_loaded(bufnr) or #vim.fn.win_findbuf(bufnr) == 0 then
    return
  end
  local wanted = {}
  for _, file in ipairs(in_files) do
    local hunks = vim.tbl_filter(function(hunk) return not only_turn or hunk.turn_id == only_turn end, file.hunks)
    if #hunks > 0 then
      wanted[#wanted + 1] = { uri = file.uri, hunks = hunks }
    end
  end
  local was = {}
  for _, win in ipairs(vim.fn.win_findbuf(bufnr)) do
    local row = api.nvim_win_get_cursor(win)[1] - 1
    local at = block_at(row)
    was[win] = at and { id = blocks[at].hunk.id, at = at, offset = row - blocks[at].top }
  end
  local out = draw(wanted)
  vim.bo[bufnr].modifiable = true
  api.nvim_buf_set_lines(bufnr, 0, -1, false, out.lines)
  vim.bo[bufnr].modifiable, vim.bo[bufnr].modified = false, false
  api.nvim_buf_clear_namespace(bufnr, ns, 0, -1)
  for _, mark in ipairs(out.marks) do
    api.nvim_buf_set_extmark(bufnr, ns, mark.row, mark.col, mark.opts)
  end
  for win, before in pairs(was) do
    local same = vim.iter(blocks):find(function(block) return block.hunk.id == before.id end)
    local block = same or blocks[math.min(before.at, #blocks)]
    local row = same and block.top + before.offset or block and math.min(block.first, block.bottom - 1) or 0
    api.nvim_win_set_cursor(win, { math.min(row + 1, #out.lines), 0 })
  end
end

---@param buffer integer
---@return agent_ls.Place[]? positions of the added lines in this buffer; nil for any other buffer
function M.list_positions(buffer)
  return M.is_buffer(buffer)
      and vim.tbl_map(function(block) return { hunk = block.hunk, first = block.first, last = block.last } end, blocks)
    or nil
end

---@param buffer integer
---@param row integer from 0
---@return agent_ls.Hunk? the hunk at this row, context included
function M.find_at(buffer, row)
  local at = M.is_buffer(buffer) and block_at(row)
  return at and row >= blocks[at].top and blocks[at].hunk or nil
end

---Opens the file of the change under the cursor.
local function open_file()
  local row = api.nvim_win_get_cursor(0)[1] - 1
  local at = block_at(row)
  local hunk = at and blocks[at].hunk
  if hunk then
    require("agent_ls.chat.view").show_file(vim.uri_to_fname(hunk.uri), hunk.first + 1)
  end
end

local function close()
  if not pcall(vim.cmd.buffer, "#") or M.is_buffer(api.nvim_get_current_buf()) then
    vim.cmd.enew()
  end
end

---Opens the buffer in a window for files.
---@param in_files {uri: string, hunks: agent_ls.Hunk[]}[]
---@param turn_id string? only the changes of this turn
---@param map fun(bufnr: integer) maps the review keys
function M.open_buffer(in_files, turn_id, map)
  only_turn = turn_id
  if not bufnr or not api.nvim_buf_is_loaded(bufnr) then
    bufnr = scratch.make(NAME, "agent_ls_changes")
    for _, key in ipairs({ "<CR>", config.key("open_file") }) do
      vim.keymap.set("n", key, log.guard("opening a file", open_file), { buffer = bufnr, desc = "agent-ls: open the file" })
    end
    vim.keymap.set("n", "q", close, { buffer = bufnr, nowait = true, desc = "agent-ls: close the changes" })
    map(bufnr)
  end
  require("agent_ls.chat.view").show_buffer(bufnr)
  local win = api.nvim_get_current_win()
  vim.wo[win][0].signcolumn, vim.wo[win][0].number, vim.wo[win][0].relativenumber = "yes:1", false, false
  vim.wo[win][0].winbar = "%{%v:lua.require'agent_ls.review.changes'.render_winbar()%}"
  blocks = {}
  M.refresh(in_files)
  if blocks[1] then
    api.nvim_win_set_cursor(win, { math.min(blocks[1].first + 1, api.nvim_buf_line_count(bufnr)), 0 })
  end
end

return M
