-- Words that describe the model's tools and their calls to the user. Pure.
local M = {}

---@param count integer
---@param word string
local function plural(count, word) return ("%d %s%s"):format(count, word, count == 1 and "" or "s") end

---Verbs by tool, while a call runs and after it has ended. The VS Code extension has the same words.
---@type table<string, {[1]: string, [2]: string}>
local WORDS = {
  shell = { "Running", "Ran" },
  read_file = { "Reading", "Read" },
  read_many_files = { "Reading", "Read" },
  list_dir = { "Looking into", "Looked into" },
  glob = { "Looking for", "Looked for" },
  grep = { "Searching", "Searched" },
  edit_file = { "Editing", "Edited" },
  write_file = { "Writing", "Wrote" },
  apply_patch = { "Editing", "Edited" },
  edit_notebook = { "Editing", "Edited" },
  ask_user = { "Asking", "Asked" },
  plan = { "Planning", "Planned" },
  definition = { "Finding the definition of", "Found the definition of" },
  references = { "Finding uses of", "Found uses of" },
  symbols = { "Looking for symbols", "Looked for symbols" },
  diagnostics = { "Looking at problems of", "Looked at problems of" },
  rename_symbol = { "Renaming", "Renamed" },
  spawn_agent = { "Starting a helper", "Started a helper" },
  web_fetch = { "Fetching", "Fetched" },
  web_search = { "Searching the web for", "Searched the web for" },
}

---Functions that summarise several calls, by read-only tool.
---@type table<string, fun(count: integer): string>
local TOGETHER = {
  read_file = function(count) return "read " .. plural(count, "file") end,
  read_many_files = function(count) return "read files " .. plural(count, "time") end,
  list_dir = function(count) return "listed " .. plural(count, "folder") end,
  glob = function(count) return "looked for files " .. plural(count, "time") end,
  grep = function(count) return "searched " .. plural(count, "time") end,
  definition = function(count) return "found " .. plural(count, "definition") end,
  references = function(count) return "found uses " .. plural(count, "time") end,
  symbols = function(count) return "looked for symbols " .. plural(count, "time") end,
  diagnostics = function(count) return "looked at problems " .. plural(count, "time") end,
}

local EDITS = { edit_file = true, write_file = true, apply_patch = true, edit_notebook = true, rename_symbol = true }

---@param name string of a tool
---@param is_over boolean its call has ended
---@return string verb; the name for an unknown tool
function M.choose_verb(name, is_over) return WORDS[name] and WORDS[name][is_over and 2 or 1] or name end

---@param name string of a read-only tool
---@param count integer
---@return string summary of the calls
function M.describe_group(name, count) return TOGETHER[name](count) end

---@param name string of a tool
---@return boolean it is read-only, and several of its calls are shown as a group
function M.is_read_only(name) return TOGETHER[name] ~= nil end

---@param name string of a tool
---@return boolean it only changes files
function M.is_edit(name) return EDITS[name] ~= nil end

return M
