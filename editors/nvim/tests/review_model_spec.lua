-- req: H6, H10
local model = require("agent_ls.review.model")
local support = require("support")

local spec = {}

local function event_of(kind)
  return vim.iter(support.golden("session.json").events):find(function(event) return event.kind == kind end)
end

local URI = event_of("file_change").data.uri

---@param hunks agent_ls.Hunk[]
local function ids(hunks)
  return vim.tbl_map(function(hunk) return hunk.id end, hunks)
end

spec["a file_change adds its hunks, a decision removes them"] = function()
  local hunks = model.new()
  support.same(model.apply(hunks, event_of("file_change")), { URI })
  support.same(ids(model.list_of_file(hunks, URI)), { "h1" })
  support.same(model.apply(hunks, event_of("hunk_state")), { URI })
  support.same(model.list_of_file(hunks, URI), {})
  support.same(model.list_files(hunks), {})
end

spec["a hunk converted from an event equals one from a result"] = function()
  local hunks, other = model.new(), model.new()
  model.apply(hunks, event_of("file_change"))
  local requests = support.golden("requests.json").requests
  local listed = vim.iter(requests):find(function(example) return example.method == "agent/hunks" end)
  model.replace(other, listed.result.files)
  local one, two = model.list_of_file(hunks, URI)[1], model.list_of_file(other, URI)[1]
  one.path, two.path = nil, nil -- a result has the path once per file, not in each hunk
  support.same(one, two)
  support.same({ one.first, one.last }, { 9, 11 })
  support.same(one.old_lines, { "    return total - discount" })
end

spec["a list of hunks replaces the known hunks of its file"] = function()
  local hunks = model.new()
  model.apply(hunks, event_of("file_change"))
  model.replace(hunks, { { uri = URI, hunks = {} } })
  support.same(model.list_of_file(hunks, URI), {})
end

for _, state in ipairs({ "kept", "undone", "gone" }) do
  spec["a hunk that is " .. state .. " is not shown"] = function()
    local hunks = model.new()
    local changed = event_of("file_change")
    model.apply(hunks, changed)
    support.same(#model.list_files(hunks), 1)
    for _, hunk in ipairs(changed.data.hunks) do
      hunk.state = state
    end
    model.apply(hunks, changed)
    support.same(model.list_files(hunks), {})
  end
end

local PLACES = {
  { hunk = { id = "one" }, first = 2, last = 4 },
  { hunk = { id = "removal" }, first = 7, last = 7 },
}

---@param row integer
local function at(row)
  local hunk = model.find_at(PLACES, row)
  return hunk and hunk.id
end

spec["find_at finds the hunk at a line, and a removal at the line after it"] = function()
  support.same({ at(1), at(2), at(3), at(4) or "none" }, { nil, "one", "one", "none" })
  support.same({ at(7), at(8) or "none" }, { "removal", "none" })
end

spec["find_next goes to the next and previous hunk, and returns nil after the last"] = function()
  local function next_id(row, by)
    local place = model.find_next(PLACES, row, by)
    return place and place.hunk.id
  end
  support.same(next_id(0, 1), "one")
  support.same(next_id(2, 1), "removal")
  support.same(next_id(7, 1), nil)
  support.same(next_id(9, -1), "removal")
  support.same(next_id(7, -1), "one")
  support.same(next_id(2, -1), nil)
end

return spec
