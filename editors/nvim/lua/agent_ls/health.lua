-- :checkhealth agent_ls
local client = require("agent_ls.client")
local config = require("agent_ls.config")
local log = require("agent_ls.log")

local M = {}

---Time limit of a command; Neovim is blocked while the command runs. The first start compiles Python files, and
---`agent-ls doctor` contacts providers, perhaps over a slow network.
M.wait_ms = 15000

---Runs a command and returns its result. Kills it after `M.wait_ms`.
---@param command string[]
---@return vim.SystemCompleted result
---@return string? problem set if the command was killed
local function run(command)
  local ok, process = pcall(vim.system, command, { text = true })
  if not ok then return { code = -1, signal = 0, stdout = "", stderr = tostring(process) }, nil end
  local result = process:wait(M.wait_ms)
  -- Neovim reports this exit code when it has killed the command.
  if result.code == 124 then return result, ("gave no answer within %d s"):format(math.ceil(M.wait_ms / 1000)) end
  return result, nil
end

local function check_editor()
  local version = tostring(vim.version())
  if vim.fn.has("nvim-0.11") == 1 then
    vim.health.ok("Neovim " .. version)
  else
    vim.health.error("Neovim " .. version .. " is too old", { "agent-ls needs Neovim 0.11 or newer." })
  end
end

---@return boolean found
local function check_program()
  local cmd = config.options.cmd
  local path = vim.fn.exepath(cmd[1])
  if path == "" then
    vim.health.error(("the program %q is not found"):format(cmd[1]), {
      "In a checkout of agent-ls, `make demo` creates the program .venv/bin/agent-ls.",
      'Or configure its path: require("agent_ls").setup({ cmd = { "/path/to/agent-ls", "serve", "--stdio" } })',
    })
    return false
  end
  vim.health.ok("server program: " .. path)
  vim.health.info("started as: " .. table.concat(cmd, " "))
  return true
end

---@type table<string, fun(text: string, advice: string[]?)>
local GRADES = {
  good = function(text) vim.health.ok(text) end,
  note = function(text, advice) vim.health.warn(text, advice) end,
  bad = function(text, advice) vim.health.error(text, advice) end,
}

---Reports the results of `agent-ls doctor`: keys and models, sandbox, ripgrep, git, state.
local function check_machine()
  local command = vim.list_extend(vim.list_slice(config.options.cmd, 1, 1), { "doctor", "--json" })
  local result, problem = run(command)
  local decoded, findings = pcall(vim.json.decode, result.stdout or "")
  if not decoded or type(findings) ~= "table" then
    local words = ("`%s doctor` %s"):format(command[1], problem or "gave no answer")
    return vim.health.warn(words, { "Run the command in a terminal to see the reason." })
  end
  for _, finding in ipairs(findings) do
    local advice = finding.hint ~= "" and { finding.hint } or nil
    if finding.subject == "keys" and finding.grade ~= "good" then
      advice = { "Enter a key with :AgentLs key; :AgentLs demo needs no key." }
    end
    local report = GRADES[finding.grade] or GRADES.note
    report(("%s: %s"):format(finding.subject, finding.text), advice)
  end
end

local function check_version()
  local program = config.options.cmd[1]
  if not vim.fs.basename(program):match("^agent%-ls") then
    return vim.health.info("the version was not checked, because the program is not agent-ls itself")
  end
  local result, problem = run({ program, "--version" })
  if problem then
    vim.health.error(("%s --version %s"):format(program, problem), { "Run the command in a terminal to see the reason." })
  elseif result.code == 0 then
    vim.health.ok("server version: " .. vim.trim(result.stdout))
    check_machine()
  else
    vim.health.error(program .. " --version fails: " .. vim.trim(result.stderr or ""))
  end
end

local function check_running()
  local lsp = client.lsp()
  if not lsp then
    return vim.health.info("the server is not running; the first :AgentLs command starts it")
  end
  local attached = vim.tbl_count(lsp.attached_buffers)
  vim.health.ok(("server running, %d files attached, folder %s"):format(attached, lsp.root_dir or "?"))
  local info = lsp.server_info or {}
  local granted = (lsp.server_capabilities.experimental or {}).agentLs
  if type(granted) == "table" and granted.version == require("agent_ls.protocol").VERSION then
    vim.health.ok(("protocol version %d, server %s"):format(granted.version, info.version or "?"))
  else
    vim.health.error(
      "the server and this plugin use different versions of the protocol",
      { "Update agent-ls and this plugin together." }
    )
  end
end

function M.check()
  vim.health.start("agent-ls")
  check_editor()
  if check_program() then
    check_version()
  end
  check_running()
  vim.health.info("log of the plugin: " .. log.path())
  vim.health.info("log of the connection: " .. vim.lsp.log.get_filename())
end

return M
