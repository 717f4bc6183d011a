-- Shows open hunks in their buffers: added lines are highlighted, removed lines are virtual lines above them. The
-- server sends the positions; until its next message, extmarks move them with the text.
local config = require("agent_ls.config")

local api = vim.api
local ns = api.nvim_create_namespace("agent_ls_review")

local M = {}

---@class agent_ls.Place
---@field hunk agent_ls.Hunk
---@field first integer
---@field last integer

---@class agent_ls.PlacedHunk
---@field hunk agent_ls.Hunk
---@field mark integer extmark over the hunk's lines
---@field reported {[1]: integer, [2]: integer} the server's position when the mark was drawn

local placed = {} ---@type table<integer, table<string, agent_ls.PlacedHunk>> by buffer, then hunk id
local counted = {} ---@type table<integer, integer[]> by buffer: number of its first hunk, and the total of all files
local compared = {} ---@type table<integer, true?> buffers that are compared side by side

local GROUPS = {
  pending = { added = "AgentLsAdded", sign = "AgentLsAddedSign", word = "" },
  -- A proposal is not applied yet: the buffer has the lines to be removed, and the lines to be added are virtual.
  proposed = { added = "AgentLsRemoved", sign = "AgentLsRemovedSign", word = "proposed" },
  edited = { added = "AgentLsAdded", sign = "AgentLsWarn", word = "with your edits" },
  stale = { added = "AgentLsCode", sign = "AgentLsWarn", word = "stale" },
}

---@param bufnr integer
---@param hunk agent_ls.Hunk
---@param first integer
---@param last integer
---@return boolean the buffer has the lines of the hunk there: the new ones, or for a proposal the old ones
local function has_expected_lines(bufnr, hunk, first, last)
  local lines = api.nvim_buf_get_lines(bufnr, first, last, false)
  local wanted = hunk.state == "pending" and hunk.new_lines or hunk.state == "proposed" and hunk.old_lines
  return wanted and vim.deep_equal(lines, wanted) or false
end

---@param bufnr integer
---@param place agent_ls.PlacedHunk?
---@return integer?, integer?
local function mark_range(bufnr, place)
  local mark = place and api.nvim_buf_get_extmark_by_id(bufnr, ns, place.mark, { details = true })
  if mark and mark[1] then
    return mark[1], mark[3].end_row
  end
end

---Returns the current row of a hunk that has no lines in the buffer, if the server has not moved it since it was drawn.
---@param bufnr integer
---@param hunk agent_ls.Hunk
---@param before agent_ls.PlacedHunk?
---@return integer?
local function unmoved_removal(bufnr, hunk, before)
  if before and hunk.first == hunk.last and vim.deep_equal(before.reported, { hunk.first, hunk.last }) then
    local first, last = mark_range(bufnr, before)
    return first and last and math.max(first, last) -- below the last line, only the end is after it
  end
end

---Returns the current range of a hunk. The server reports positions in the last text that it received. If the user has
---typed since then, the extmark is more accurate, because it has moved with the text.
---@param bufnr integer
---@param hunk agent_ls.Hunk
---@param before agent_ls.PlacedHunk?
---@return integer first, integer last
local function position(bufnr, hunk, before)
  local row = unmoved_removal(bufnr, hunk, before)
  if row then
    return row, row
  end
  if not has_expected_lines(bufnr, hunk, hunk.first, hunk.last) then
    local first, last = mark_range(bufnr, before)
    if first and last and has_expected_lines(bufnr, hunk, first, last) then
      return first, last
    end
  end
  local count = api.nvim_buf_line_count(bufnr)
  return math.min(hunk.first, count), math.min(hunk.last, count)
end

---@param bufnr integer
---@param hunk agent_ls.Hunk
---@return table[] virtual lines: removed lines, or the lines of a proposal
local function virtual_lines(bufnr, hunk)
  if compared[bufnr] then
    return {} -- the other window shows these lines
  end
  local lines = hunk.state == "proposed" and hunk.new_lines or hunk.old_lines
  local group = hunk.state == "proposed" and "AgentLsAdded" or "AgentLsRemoved"
  return vim.tbl_map(function(line)
    -- Pad the virtual line with spaces, so that its background reaches the edge of the window, as on real lines.
    local text = line:gsub("\t", (" "):rep(vim.bo.tabstop))
    return { { text .. (" "):rep(math.max(0, 300 - #text)), group } }
  end, lines)
end

---@param key string
---@return string the key, with the user's leader key in place of `<leader>`
local function format_key(key)
  local leader = vim.g.mapleader or "\\"
  return (key:gsub("<[lL]eader>", leader == " " and "␣" or leader:gsub("%%", "%%%%")))
end

---@param hunk agent_ls.Hunk
---@param number integer
---@param count integer
---@return table chunks
local function render_hint(hunk, number, count)
  local words = GROUPS[hunk.state].word
  local text = ("  agent %d of %d %s"):format(number, count, words)
  local keep, undo = config.key("keep_hunk"), config.key("undo_hunk")
  if keep and undo then
    text = text .. (" %s keep · %s undo"):format(format_key(keep), format_key(undo))
  end
  return { { text, "AgentLsDim" } }
end

---@param bufnr integer
---@param hunk agent_ls.Hunk
---@param first integer
---@param last integer
---@param extra table chunks of virtual text at the end of the first line
---@return integer mark
local function draw_hunk(bufnr, hunk, first, last, extra)
  local groups = GROUPS[hunk.state]
  local count = api.nvim_buf_line_count(bufnr)
  local row = math.min(first, count - 1)
  for line = first, last - 1 do
    api.nvim_buf_set_extmark(bufnr, ns, line, 0, {
      line_hl_group = not compared[bufnr] and groups.added or nil, -- diff mode has colours of its own
      sign_text = "▎",
      sign_hl_group = groups.sign,
      undo_restore = false,
    })
  end
  local virt_lines = virtual_lines(bufnr, hunk)
  local is_below = hunk.state == "proposed" and last > first
  api.nvim_buf_set_extmark(bufnr, ns, is_below and math.min(last, count) - 1 or row, 0, {
    virt_lines = #virt_lines > 0 and virt_lines or nil,
    virt_lines_above = first < count and not is_below,
    sign_text = first == last and "▁" or nil,
    sign_hl_group = first == last and "AgentLsRemovedSign" or nil,
    undo_restore = false,
  })
  if config.options.hints then
    local mark = { virt_text = extra, virt_text_pos = "eol", hl_mode = "combine", undo_restore = false }
    api.nvim_buf_set_extmark(bufnr, ns, row, 0, mark)
  end
  return api.nvim_buf_set_extmark(bufnr, ns, row, 0, {
    end_row = math.max(row, math.min(last, count)),
    right_gravity = true,
    end_right_gravity = false,
    undo_restore = false,
    strict = false,
  })
end

---Redraws all hunks of a buffer.
---@param bufnr integer
---@param hunks agent_ls.Hunk[] in order
---@param number integer of the first one among all pending hunks
---@param total integer of all pending hunks, in all files
function M.show(bufnr, hunks, number, total)
  counted[bufnr] = { number, total }
  local before, now = placed[bufnr] or {}, {}
  local places = {}
  for i, hunk in ipairs(hunks) do
    local first, last = position(bufnr, hunk, before[hunk.id])
    places[i] = { first, last }
  end
  api.nvim_buf_clear_namespace(bufnr, ns, 0, -1)
  for i, hunk in ipairs(hunks) do
    local first, last = unpack(places[i])
    local mark = draw_hunk(bufnr, hunk, first, last, render_hint(hunk, number + i - 1, total))
    now[hunk.id] = { hunk = hunk, mark = mark, reported = { hunk.first, hunk.last } }
  end
  placed[bufnr] = next(now) and now or nil
end

---Sets whether a buffer is compared side by side. If so, its virtual lines are not drawn, because the other window
---shows those lines.
---@param bufnr integer
---@param is_compared boolean
function M.set_compared(bufnr, is_compared)
  compared[bufnr] = is_compared or nil
  local hunks = vim.tbl_map(function(place) return place.hunk end, M.list_positions(bufnr))
  if api.nvim_buf_is_loaded(bufnr) and #hunks > 0 then
    M.show(bufnr, hunks, unpack(counted[bufnr] or { 1, #hunks }))
  end
end

---Lists the current positions of the buffer's hunks, from top to bottom.
---@param bufnr integer
---@return agent_ls.Place[]
function M.list_positions(bufnr)
  local out = {}
  if not api.nvim_buf_is_loaded(bufnr) then
    return out
  end
  for _, place in pairs(placed[bufnr] or {}) do
    local first, last = mark_range(bufnr, place)
    if first and last then
      out[#out + 1] = { hunk = place.hunk, first = first, last = last }
    end
  end
  table.sort(out, function(a, b) return a.first < b.first end)
  return out
end

---@param bufnr integer
function M.forget(bufnr)
  placed[bufnr], counted[bufnr] = nil, nil
end

return M
