-- The public API for users and their configurations. Loaded by the first :AgentLs or by setup(). Loading it does not
-- start the server.
local M = {}

local is_set_up = false

---Registers all listeners. Does nothing when called again.
local function prepare()
  if is_set_up then
    return
  end
  is_set_up = true
  require("agent_ls.files").watch()
  require("agent_ls.highlights").setup()
  require("agent_ls.review.actions").setup()
  require("agent_ls.terminal").setup()
  require("agent_ls.notify").setup()
  require("agent_ls.quit_guard").setup()
  require("agent_ls.events").setup()
  require("agent_ls.inline").setup()
  local view = require("agent_ls.chat.view")
  require("agent_ls.session").listen(require("agent_ls.chat.input").on_change)
  require("agent_ls.session").listen(view.ask_frame)
  require("agent_ls.session").listen(require("agent_ls.chat.approval_keys").refresh)
  require("agent_ls.log").nearby = view.show_message
end

---@param options table? see :help agent-ls-config
function M.setup(options)
  local config = require("agent_ls.config")
  local problems = config.set(options)
  if #problems > 0 then
    require("agent_ls.log").warn("setup(): " .. table.concat(problems, "; ") .. " (:help agent-ls-config)")
  end
  local is_again = is_set_up
  prepare()
  if is_again then
    require("agent_ls.chat.view").ask_frame()
  end
  if config.options.autostart then
    M.autostart()
  end
end

---Starts the server when the first file is opened, so that it has all open files before the first request.
function M.autostart()
  local client = require("agent_ls.client")
  local start = function()
    local problem = client.start()
    if problem then
      require("agent_ls.session").report(problem)
    end
  end
  if require("agent_ls.files").is_file(0) or vim.v.vim_did_enter == 1 then
    return start()
  end
  vim.api.nvim_create_autocmd({ "BufReadPost", "BufNewFile" }, { once = true, callback = start })
end

---Returns a statusline component with the agent's activity, the model and the tokens; "" without a session.
---@return string
function M.status()
  if not is_set_up then
    return ""
  end
  return require("agent_ls.chat.status_lines").render_status()
end

---@param name string name of a function in agent_ls.chat.view
---@return fun(...)
local function panel(name)
  return function(...)
    prepare()
    return require("agent_ls.chat.view")[name](...)
  end
end

M.open = panel("open")
M.close = panel("close")
M.toggle = panel("toggle")
M.prepare = prepare

---Replaces what a file of :mksession restored in place of our buffers. Opens the panel if it was open, without the focus.
function M.restore()
  if require("agent_ls.scratch").remove_restored() then
    panel("show")()
  end
end

---Sends a message: starts a turn, or steers the running one.
---@param text string
function M.send(text)
  prepare()
  require("agent_ls.chat.input").submit(text)
end

return M
