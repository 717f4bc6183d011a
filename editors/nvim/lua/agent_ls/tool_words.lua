-- Words that describe calls of the model's tools to the user. The server says the verbs of each call. Pure.
local M = {}

---@param count integer
---@param word string
local function plural(count, word) return ("%d %s%s"):format(count, word, count == 1 and "" or "s") end

---Functions that summarise several calls, by the look of read-only calls.
---@type table<string, fun(count: integer): string>
local TOGETHER = {
  read = function(count) return "read " .. plural(count, "file") end,
  search = function(count) return "searched " .. plural(count, "time") end,
  fetch = function(count) return "fetched " .. plural(count, "page") end,
}

---@param item agent_ls.Item of kind tool
---@param is_over boolean its call has ended
---@return string verb; the tool's name if the server gives none
function M.choose_verb(item, is_over)
  local verb = is_over and item.done or item.doing
  return verb ~= nil and verb ~= "" and verb or item.name
end

---@param look string of read-only calls
---@param count integer
---@return string summary of the calls
function M.describe_group(look, count) return TOGETHER[look](count) end

---@param item agent_ls.Item of kind tool
---@return boolean it is read-only, and several such calls are shown as a group
function M.is_read_only(item) return TOGETHER[item.look] ~= nil end

---@param item agent_ls.Item of kind tool
---@return boolean it only changes files
function M.is_edit(item) return item.look == "edit" end

return M
