-- Data of the welcome text: example messages, the newest sessions of the folder, and whether there is an API key. It is
-- looked up once, when the panel opens. Data that cannot be looked up is omitted without an error message.
local archive = require("agent_ls.archive")
local client = require("agent_ls.client")
local config = require("agent_ls.config")
local files = require("agent_ls.files")
local next_session = require("agent_ls.next_session")
local protocol = require("agent_ls.protocol")

local M = {}

local MAX_SESSIONS = 3

---@class agent_ls.Start
---@field examples string[]
---@field sessions agent_ls.wire.SessionInfo[]
---@field model string? model or provider of new sessions
---@field has_key boolean? whether that provider has a key or needs none; nil if not known

---@type {[1]: string[], [2]: string}[] names of files, and an example message for a project that has one of them
local EXAMPLES = {
  { { "tests", "test", "spec", "pytest.ini", "Cargo.toml", "go.mod", "package.json" }, "Run the tests and fix what fails" },
  { { ".git" }, "Review my uncommitted changes" },
  { { "README.md", "README.rst", "README", "docs" }, "Which statements in the docs are no longer true?" },
  { {}, "Explain how this project is built" },
  { {}, "Find the three riskiest places in this code" },
  { {}, "Write a test for the file that is open" },
}

local found = { examples = {}, sessions = {} } ---@type agent_ls.Start
local models ---@type agent_ls.wire.ModelsResult?

---@return agent_ls.Start
function M.results()
  local wanted = next_session.settings()
  local id = wanted.provider or models and models.defaultProvider
  local provider = models and vim.iter(models.providers):find(function(each) return each.id == id end)
  found.has_key = provider and (provider.hasKey or provider.keyVariable == "")
  found.model = wanted.model or provider and provider.name
  return found
end

---@return string[] three messages that fit this folder
local function examples()
  local out, root = {}, files.find_root()
  for _, example in ipairs(EXAMPLES) do
    local fits = #example[1] == 0
      or vim.iter(example[1]):any(function(name) return vim.uv.fs_stat(vim.fs.joinpath(root, name)) ~= nil end)
    if fits and #out < 3 then
      out[#out + 1] = example[2]
    end
  end
  return out
end

---Starts the lookups. Calls `changed` after each result.
---@param changed fun()
function M.look_up(changed)
  found, models = { examples = examples(), sessions = {} }, nil
  if vim.fn.executable(config.options.cmd[1]) == 0 then
    return
  end
  archive.look_up(function(problem, list)
    found.sessions = problem and {} or vim.list_slice(list or {}, 1, MAX_SESSIONS)
    changed()
  end)
  client.request(protocol.method.models, { look = false }, function(problem, result)
    if result and not problem then
      models = result
      next_session.learn_defaults({ mode = result.defaultMode })
      vim.cmd("redrawstatus!")
      changed()
    end
  end)
end

return M
