-- Helpers for all specs: comparison with a readable message, and access to the golden files, which the Python and
-- TypeScript tests read too.
local protocol = require("agent_ls.protocol")

local M = {}

---@param got any
---@param wanted any
---@param what string?
function M.same(got, wanted, what)
  if not vim.deep_equal(got, wanted) then
    error(
      ("%sgot %s\nwanted %s"):format(what and what .. ": " or "", vim.inspect(got), vim.inspect(wanted)),
      2
    )
  end
end

---@param name string of a file in tests/golden/protocol
function M.golden(name)
  local here = vim.fs.dirname(vim.fs.abspath(debug.getinfo(1, "S").source:sub(2)))
  local path = vim.fs.joinpath(here, "../../../tests/golden/protocol", name)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return protocol.remove_null(vim.json.decode(text))
end

---@param s agent_ls.Snapshot?
---@return agent_ls.RenderContext
function M.render_context(s)
  return {
    width = 60,
    expanded = {},
    marked = {},
    agents = s and s.agents or {},
    hunks = s and s.hunks or {},
    keys = { allow = "a", allow_rule = "A", deny = "d", edit_command = "c", expand = "<CR>" },
    relative = function(path)
      local inside = path:gsub("^/home/ada/shop/?", "")
      return inside == "" and "the project folder" or inside
    end,
  }
end

---@param rendered agent_ls.Rendered
---@return string[] for each line the names of its highlight groups, in the order of their columns
function M.groups(rendered)
  local out = {}
  for i = 1, #rendered.lines do
    out[i] = ""
  end
  for _, mark in ipairs(rendered.marks) do
    local group = mark.opts.hl_group or mark.opts.line_hl_group
    if group then
      out[mark.row + 1] = vim.trim(out[mark.row + 1] .. " " .. group:gsub("AgentLs", ""))
    end
  end
  return out
end

return M
