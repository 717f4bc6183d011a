-- Performs the requests of the server (`client_request` events), and answers each of them exactly once.
local client = require("agent_ls.client")
local files = require("agent_ls.files")
local code_queries = require("agent_ls.code_queries")
local log = require("agent_ls.log")
local protocol = require("agent_ls.protocol")
local relay = require("agent_ls.relay")

local api = vim.api

local M = {}

---@alias agent_ls.Answerer fun(params: table): table?, string?

---Saves buffers. A buffer is saved only if it still has the given version; otherwise it has unsaved changes that the
---server has not seen.
---@param params agent_ls.wire.AskedSave
---@return agent_ls.wire.Saved
local function save(params)
  local saved, failed = {}, {}
  for _, document in ipairs(params.documents) do
    local bufnr = files.find_loaded(document.uri)
    local reason ---@type string?
    if not bufnr then
      reason = "the document is not open in the editor"
    elseif document.version ~= vim.lsp.util.buf_versions[bufnr] then
      reason = "the document was changed in the meantime"
    elseif vim.bo[bufnr].modified then
      local ok, err = pcall(api.nvim_buf_call, bufnr, function() vim.cmd("silent write") end)
      reason = not ok and tostring(err) or nil
    end
    if reason then
      failed[#failed + 1] = { uri = document.uri, reason = reason }
    else
      saved[#saved + 1] = document.uri
    end
  end
  return { saved = saved, failed = failed }
end

---Reloads unmodified buffers of files that the server has written. Does not reload modified buffers and buffers of
---deleted files, because Neovim would ask the user about them and wait for a key.
---@param params agent_ls.wire.AskedCheckTime
local function check_time(params)
  local group = api.nvim_create_augroup("agent_ls_check_time", {})
  api.nvim_create_autocmd("FileChangedShell", {
    group = group,
    callback = function(args)
      local may_reload = not vim.bo[args.buf].modified and vim.v.fcs_reason ~= "deleted"
      vim.v.fcs_choice = may_reload and "reload" or ""
    end,
  })
  for _, uri in ipairs(params.uris) do
    local bufnr = files.find_loaded(uri)
    if bufnr then
      pcall(vim.cmd, "silent checktime " .. bufnr)
    end
  end
  api.nvim_del_augroup_by_id(group)
  return vim.empty_dict()
end

---@type table<string, agent_ls.Answerer>
local answerers =
  { save = save, checkTime = check_time, terminalOpen = relay.open_terminal, terminalRuns = relay.record_run }

---Performs a request of the server and sends its answer, exactly once.
---@param event agent_ls.wire.Event of kind client_request
function M.answer(event)
  local data, is_answered = event.data, false ---@type agent_ls.wire.ClientRequestData
  local function done(result, why)
    if not is_answered then
      is_answered = true
      local answer = { sessionId = event.sessionId, requestId = data.requestId }
      answer.result, answer.error = result, not result and (why or "the editor has no answer") or nil
      client.request(protocol.method.client_answer, answer)
    end
  end
  local now, later = answerers[data.what], code_queries.answerers[data.what]
  if later then
    local ok, err = pcall(later, data.params, function(result, why)
      log.guard("answering the server", done)(result, why)
    end)
    return not ok and done(nil, tostring(err))
  end
  if not now then
    return done(nil, ("this editor does not support the request %q"):format(tostring(data.what)))
  end
  local ok, result = pcall(now, data.params)
  done(ok and result or nil, not ok and tostring(result) or nil)
end

return M
