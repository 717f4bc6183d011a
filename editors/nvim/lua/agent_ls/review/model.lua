-- The hunks of all sessions by file, as last reported by the server. Pure; computes no positions and no diffs.
local protocol = require("agent_ls.protocol")

local M = {}

---@alias agent_ls.Hunks table<string, table<string, agent_ls.Hunk>> by uri, then by id

---The states of open hunks, which need a decision.
M.OPEN = { proposed = true, pending = true, edited = true, stale = true }

---@return agent_ls.Hunks
function M.new() return {} end

---@param hunks agent_ls.Hunks
---@param hunk agent_ls.Hunk
---@return string uri whose hunks changed
local function set_hunk(hunks, hunk)
  hunks[hunk.uri] = hunks[hunk.uri] or {}
  hunks[hunk.uri][hunk.id] = M.OPEN[hunk.state] and hunk or nil
  return hunk.uri
end

---Applies an event to the hunks.
---@param hunks agent_ls.Hunks
---@param event agent_ls.wire.Event
---@return string[] uris whose hunks changed
function M.apply(hunks, event)
  local changed = {}
  if event.kind == "file_change" or event.kind == "hunk_state" then
    for _, raw in ipairs(event.data.hunks) do
      changed[set_hunk(hunks, protocol.hunk_of_event(raw))] = true
    end
  end
  return vim.tbl_keys(changed)
end

---Replaces the hunks of each file in a result of agent/hunks or of a subscription.
---@param hunks agent_ls.Hunks
---@param files agent_ls.wire.FileHunks[]
---@return string[] uris
function M.replace(hunks, files)
  local changed = {}
  for _, file in ipairs(files) do
    hunks[file.uri] = {}
    for _, raw in ipairs(file.hunks) do
      set_hunk(hunks, protocol.hunk_of_result(raw, file.uri))
    end
    changed[#changed + 1] = file.uri
  end
  return changed
end

---Updates the positions of the stored hunks of a file.
---@param hunks agent_ls.Hunks
---@param file agent_ls.wire.FileHunks
function M.update_positions(hunks, file)
  local known = hunks[file.uri] or {}
  for _, raw in ipairs(file.hunks) do
    local hunk = known[raw.id]
    if hunk then
      hunk.first, hunk.last = raw.newRange[1], raw.newRange[2]
    end
  end
end

---Lists the open hunks of a file, from top to bottom.
---@param hunks agent_ls.Hunks
---@param uri string
---@return agent_ls.Hunk[]
function M.list_of_file(hunks, uri)
  local out = vim.tbl_values(hunks[uri] or {})
  table.sort(out, function(a, b)
    if a.first ~= b.first then
      return a.first < b.first
    end
    return a.id < b.id
  end)
  return out
end

---@param hunks agent_ls.Hunks
---@return string[] uris with open hunks, in order
function M.list_files(hunks)
  local out = vim.tbl_filter(function(uri) return next(hunks[uri]) ~= nil end, vim.tbl_keys(hunks))
  table.sort(out)
  return out
end

---@param placed {hunk: agent_ls.Hunk, first: integer, last: integer}[] current positions of the hunks in the buffer
---@param row integer from 0
---@return agent_ls.Hunk?
function M.find_at(placed, row)
  for _, place in ipairs(placed) do
    -- A hunk that only removes has no lines in the buffer. It counts as one line: the line after the removed
    -- ones.
    if row >= place.first and row < math.max(place.last, place.first + 1) then
      return place.hunk
    end
  end
end

---Computes the range of each proposal in the proposed text, from top to bottom.
---@param in_order agent_ls.Hunk[]
---@return agent_ls.Place[]
function M.proposed_ranges(in_order)
  local out, shift = {}, 0
  for _, hunk in ipairs(in_order) do
    if hunk.state == "proposed" then
      local first = hunk.first + shift
      shift = shift + #hunk.new_lines - (hunk.last - hunk.first)
      out[#out + 1] = { hunk = hunk, first = first, last = first + #hunk.new_lines }
    end
  end
  return out
end

---Finds the hunks in a selection of rows: those that are completely inside, and the selected lines of the others.
---@param placed agent_ls.Place[] positions of the hunks' new lines
---@param first integer row, from 0
---@param last integer row after the last
---@return {whole: agent_ls.Hunk[], parts: {hunk: agent_ls.Hunk, lines: integer[]}[]}
function M.split_selection(placed, first, last)
  local whole, parts = {}, {}
  for _, place in ipairs(placed) do
    local from, to = math.max(first, place.first), math.min(last, place.last)
    local is_removal = place.first == place.last
    if is_removal and first <= place.first and place.first < last then
      whole[#whole + 1] = place.hunk
    elseif from == place.first and to == place.last and not is_removal then
      whole[#whole + 1] = place.hunk
    elseif from < to then
      parts[#parts + 1] = { hunk = place.hunk, lines = { from - place.first, to - place.first } }
    end
  end
  return { whole = whole, parts = parts }
end

---@param placed {hunk: agent_ls.Hunk, first: integer, last: integer}[]
---@param row integer
---@param by 1|-1
---@return {hunk: agent_ls.Hunk, first: integer, last: integer}? nil if there is no further hunk in the file
function M.find_next(placed, row, by)
  local best
  for _, place in ipairs(placed) do
    local is_beyond = by == 1 and place.first > row or by == -1 and place.first < row
    if is_beyond and (not best or (place.first - best.first) * by < 0) then
      best = place
    end
  end
  return best
end

return M
