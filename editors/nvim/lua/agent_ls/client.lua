-- The connection to the server: starts it, attaches file buffers, sends requests.
local config = require("agent_ls.config")
local edits = require("agent_ls.edits")
local files = require("agent_ls.files")
local log = require("agent_ls.log")
local protocol = require("agent_ls.protocol")

local api = vim.api

local M = {}

---@class agent_ls.Exit
---@field code integer
---@field signal integer
---@field unanswered integer number of pending requests

---@class agent_ls.Request
---@field method string
---@field params table
---@field done fun(problem: agent_ls.Problem?, result: any)

local client_id ---@type integer?
local ready = false
local is_stopping = false -- the user has stopped the server, but its process still runs
local waiting = {} ---@type agent_ls.Request[] to be sent when the server is ready
local in_flight = {} ---@type table<integer, agent_ls.Request> sent and not answered, by a number of our own
local last_number = 0
local group = api.nvim_create_augroup("agent_ls_client", {})

---The `kind` of problem with which pending requests fail when the server ends. Callers ignore this problem,
---because `on_exit` reports the exit.
M.SERVER_ENDED = "server_ended"

---@type fun(event: agent_ls.wire.Event)
M.on_event = function() end
---@type fun(file: agent_ls.wire.FileHunks)
M.on_hunks_moved = function() end
---@type fun(exit: agent_ls.Exit)
M.on_exit = function() end

---@return vim.lsp.Client?
function M.lsp() return client_id and vim.lsp.get_client_by_id(client_id) end

---@return boolean
function M.is_running() return M.lsp() ~= nil and not is_stopping end

---@param bufnr integer
local function attach(bufnr)
  if client_id and files.is_file(bufnr) and not vim.lsp.buf_is_attached(bufnr, client_id) then
    vim.lsp.buf_attach_client(bufnr, client_id)
  end
end

---@param request agent_ls.Request
local function send(request)
  local client = assert(M.lsp())
  last_number = last_number + 1
  local number = last_number
  in_flight[number] = request
  local sent = client:request(request.method, request.params, function(err, result)
    in_flight[number] = nil
    request.done(err and protocol.convert_error(protocol.remove_null(err)) or nil, protocol.remove_null(result))
  end)
  if not sent then
    in_flight[number] = nil
    request.done({ message = "the server has ended", retryable = true })
  end
end

---Called when the server is initialized: attaches all file buffers, and sends the requests that were waiting.
local function on_ready()
  ready = true
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    attach(bufnr)
  end
  local requests = waiting
  waiting = {}
  vim.iter(requests):each(send)
end

---@param requests agent_ls.Request[]
---@param problem agent_ls.Problem
local function fail(requests, problem)
  for _, request in ipairs(requests) do
    request.done(problem)
  end
end

---Called when the process has ended: fails the pending requests. Starts the server again if requests wait for it.
---@param code integer
---@param signal integer
local function on_end(code, signal)
  local unanswered = vim.tbl_values(in_flight)
  if not is_stopping then
    vim.list_extend(unanswered, waiting)
    waiting = {}
  end
  client_id, ready, is_stopping, in_flight = nil, false, false, {}
  fail(
    unanswered,
    { message = "the server ended before it answered", kind = M.SERVER_ENDED, retryable = true }
  )
  M.on_exit({ code = code, signal = signal, unanswered = #unanswered })
  if #waiting > 0 then
    M.start() -- for requests that were made while the server was stopping
  end
end

---Starts the process. Reports every exit to Neovim as a clean one. Otherwise Neovim shows a message that is too long
---for one line and stops at "Press ENTER". The plugin shows its own message.
local function rpc(dispatchers)
  local own = vim.tbl_extend("force", dispatchers, {
    on_exit = function(code, signal)
      dispatchers.on_exit(0, 0)
      vim.schedule(function() on_end(code, signal) end)
    end,
  })
  return vim.lsp.rpc.start(config.options.cmd, own, { cwd = files.find_root() })
end

---@return table<string, lsp.Handler>
local function handlers()
  return {
    [protocol.EVENT] = log.guard(
      "handling an event of the server",
      function(_, params) M.on_event(protocol.remove_null(params)) end
    ),
    [protocol.HUNKS_MOVED] = log.guard(
      "moving changes to their new lines",
      function(_, params) M.on_hunks_moved(protocol.remove_null(params)) end
    ),
    ["workspace/applyEdit"] = function(_, params, ctx)
      local client = assert(vim.lsp.get_client_by_id(ctx.client_id))
      local result = log.guard("applying an edit", edits.apply_changes)(params, client)
      return result or { applied = false, failureReason = "the plugin raised an error (see its log)" }
    end,
    ["window/showMessage"] = function(_, params)
      log.notify(params.message, params.type <= 2 and vim.log.levels.WARN or vim.log.levels.INFO)
    end,
    ["window/logMessage"] = function(_, params) log.write("info", params.message) end,
  }
end

---@return vim.lsp.ClientConfig
local function client_config()
  return {
    name = "agent-ls",
    cmd = rpc,
    root_dir = files.find_root(),
    capabilities = {
      experimental = { agentLs = protocol.build_capabilities() },
      workspace = { workspaceEdit = { documentChanges = true } },
    },
    -- Neovim would encode an empty Lua table as a list.
    init_options = { agentLs = next(config.options.settings) and config.options.settings or vim.empty_dict() },
    -- Send changes at once, because the server computes edits for the last text that it has received.
    flags = { debounce_text_changes = 0 },
    handlers = handlers(),
    on_init = on_ready,
    on_error = function(code, err)
      log.warn(("error on the connection (%s), see the log %s"):format(code, log.path()))
      log.write("error", vim.inspect(err))
    end,
  }
end

local function watch_buffers()
  api.nvim_create_autocmd({ "BufReadPost", "BufNewFile", "BufFilePost", "BufWritePost" }, {
    group = group,
    desc = "agent-ls: attach to every file",
    callback = function(args)
      if ready then
        attach(args.buf)
      end
    end,
  })
end

---Starts the server if it is not running.
---@return agent_ls.Problem? problem
function M.start()
  if M.lsp() then
    return nil -- on_end starts it again after its exit
  end
  local program = config.options.cmd[1]
  if vim.fn.executable(program) == 0 then
    return {
      message = ("cannot find the program %q"):format(program),
      hint = "Install agent-ls, or set `cmd` in setup(); :checkhealth agent_ls has details.",
    }
  end
  ready = false
  watch_buffers()
  client_id = vim.lsp.start(client_config(), { attach = false, silent = true })
  local client = M.lsp()
  if not client then
    return { message = ("cannot start %s"):format(table.concat(config.options.cmd, " ")), hint = log.path() }
  end
  require("agent_ls.code_actions").extend(client)
end

---Sends a request. Starts the server first if necessary. Calls `done` exactly once, with a problem or the result.
---@param method string
---@param params table
---@param done fun(problem: agent_ls.Problem?, result: any)?
function M.request(method, params, done)
  local request = { method = method, params = params, done = log.guard(method, done or function() end) }
  local problem = M.start()
  if problem then
    return request.done(problem)
  end
  if not ready then
    waiting[#waiting + 1] = request
    return
  end
  send(request)
end

---Sends a notification if the server is ready; does not start it.
---@param method string
---@param params table
function M.notify(method, params)
  local client = ready and M.lsp()
  if client then
    client:notify(method, params)
  end
end

---Stops the server. A request that is made before the server has exited starts it again.
function M.stop()
  local client = M.lsp()
  if client then
    is_stopping, ready = true, false
    client:stop()
  end
end

return M
