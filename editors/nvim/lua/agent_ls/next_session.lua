-- The settings of the next session: those of setup(), and those that the user has chosen while there is no session.
local client = require("agent_ls.client")
local config = require("agent_ls.config")
local files = require("agent_ls.files")
local log = require("agent_ls.log")
local protocol = require("agent_ls.protocol")

local M = {}

local SETTINGS = { "provider", "model", "effort", "mode", "review" }

local chosen = {} ---@type table<string, string|boolean>
local defaults = {} ---@type table<string, string> what the server chooses where nothing is chosen here

---@param settings table
function M.choose(settings) chosen = vim.tbl_extend("force", chosen, settings) end

---@param known table<string, string>
function M.learn_defaults(known) defaults = known end

---@return table<string, string> the settings that are known here; the server chooses the others
function M.settings()
  local out = {}
  for _, name in ipairs(SETTINGS) do
    out[name] = chosen[name] or config.options[name] or config.options.settings[name] or defaults[name]
  end
  return out
end

---@param options table? settings that replace those of the user, and `worktree`
---@return table parameters of a request for a session
function M.request(options)
  local wanted = { clientKey = protocol.client_key(), workspaceFolder = vim.uri_from_fname(files.find_root()) }
  for _, name in ipairs(SETTINGS) do
    wanted[name] = (options or {})[name] or chosen[name] or config.options[name]
  end
  wanted.worktree = (options or {}).worktree
  return wanted
end

---Forgets what the user has chosen, because a session began with it. A chosen model becomes the default.
---@param id string
function M.begun(id)
  local model = { provider = chosen.provider, model = chosen.model, remember = chosen.remember }
  chosen = {}
  if not model.remember then
    return
  end
  local change = { sessionId = id, clientKey = protocol.client_key() }
  client.request(protocol.method.configure, vim.tbl_extend("force", model, change), function(problem)
    if problem then
      log.warn(problem.message)
    end
  end)
end

return M
