-- API keys of providers. The prompt does not echo a key, which is sent to the server and not stored by the
-- plugin.
local client = require("agent_ls.client")
local log = require("agent_ls.log")
local protocol = require("agent_ls.protocol")
local session = require("agent_ls.session")

local M = {}

---Sends an API key to the server, or makes the server forget it.
---@param provider string
---@param secret string? nil forgets the key
local function set(provider, secret)
  local params = { provider = provider, secret = secret or vim.NIL, clientKey = protocol.client_key() }
  client.request(protocol.method.set_credential, params, function(problem)
    if problem then
      return session.report(problem)
    end
    local words = secret and "The key for %s is set until the server ends." or "The key for %s was removed."
    log.notify(words:format(provider))
  end)
end

---Returns `name`, or if it is empty the provider of the session, else the provider in the options.
---@param name string
---@return string
local function provider_of(name)
  local info = session.snapshot().session or {}
  local own = not info.isWalkthrough and info.provider or nil
  return name ~= "" and name or own or require("agent_ls.config").options.provider or "anthropic"
end

---@param name string provider; "" for the default
function M.ask(name)
  local provider = provider_of(name)
  local typed = vim.trim(vim.fn.inputsecret(("Key for %s: "):format(provider)))
  if typed ~= "" then
    set(provider, typed)
  end
end

---@param name string provider; "" for the default
function M.forget(name) set(provider_of(name), nil) end

return M
