-- Remedies for errors: maps the actions that the server suggests to commands of the plugin.
local M = {}

---@class agent_ls.Remedy
---@field label string
---@field command string subcommand of :AgentLs

---@type table<string, agent_ls.Remedy>
local REMEDIES = {
  key = { label = "set a key…", command = "key" },
  retry = { label = "send again", command = "retry" },
  demo = { label = "walkthrough without a key", command = "demo" },
  continue = { label = "continue", command = "continue" },
  trust = { label = "change the trust…", command = "trust" },
  model = { label = "choose a model…", command = "model" },
}

---@type table<string, string[]> names of remedies by the `action` of an error event, the most likely first
local BY_ACTION = {
  setKey = { "key", "retry", "model", "demo" },
  retry = { "retry", "model" },
  continue = { "continue", "retry" },
  manageTrust = { "trust", "retry" },
  chooseModel = { "model", "retry" },
}

---@type table<string, string[]> names of remedies by kind of problem, for failed requests, which have no action
local BY_KIND = { authentication = BY_ACTION.setKey }

---@type table<string, string> by action: hints that name commands of the plugin, used in place of the server's hints
local HINTS = { setKey = "Enter a key with :AgentLs key, then send the message again. :AgentLs demo needs no key." }

---@param action string?
---@param hint string? the server's
---@return string?
function M.choose_hint(action, hint) return HINTS[action or ""] or hint end

---@param action string?
---@param kind string?
---@return string[]? names of remedies
function M.find(action, kind) return BY_ACTION[action or ""] or BY_KIND[kind or ""] end

---@param name string
---@return string
function M.label(name) return REMEDIES[name].label end

---@param name string
---@return string command that the user can type
function M.command(name) return ":AgentLs " .. REMEDIES[name].command end

---Runs a remedy; if there are several, the user chooses one.
---@param names string[]
function M.run(names)
  local run = function(name) return name and vim.cmd("AgentLs " .. REMEDIES[name].command) end
  if #names == 1 then
    return run(names[1])
  end
  require("agent_ls.menu").select(names, {
    prompt = "What now?",
    format_item = function(name) return ("%s  (%s)"):format(REMEDIES[name].label, M.command(name)) end,
  }, run)
end

return M
