-- What the server asks of this editor by a `client_request` event, and the one answer that each gets.
local client = require("agent_ls.client")
local files = require("agent_ls.files")
local protocol = require("agent_ls.protocol")
local relay = require("agent_ls.relay")

local api = vim.api

local M = {}

---@alias agent_ls.Answerer fun(params: table): table?, string?

---Writes buffers. A document named with a version is written only while it still has that version: then its unsaved
---changes are those that the server knows of.
---@type agent_ls.Answerer
local function save(params)
  local saved, failed = {}, {}
  local documents = params.documents or vim.tbl_map(function(uri) return { uri = uri } end, params.uris or {})
  for _, document in ipairs(documents) do
    local bufnr = files.loaded(document.uri)
    local reason ---@type string?
    if not bufnr then
      reason = "not open"
    elseif document.version and document.version ~= vim.lsp.util.buf_versions[bufnr] then
      reason = "changed meanwhile"
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

---Reloads buffers whose files were written. Neovim would ask about a changed buffer or a file that is gone and wait
---for a key; here an unchanged buffer is read anew and any other is left as it is.
---@type agent_ls.Answerer
local function check_time(params)
  local group = api.nvim_create_augroup("agent_ls_check_time", {})
  api.nvim_create_autocmd("FileChangedShell", {
    group = group,
    callback = function(args)
      local may_reload = not vim.bo[args.buf].modified and vim.v.fcs_reason ~= "deleted"
      vim.v.fcs_choice = may_reload and "reload" or ""
    end,
  })
  for _, uri in ipairs(params.uris or {}) do
    local bufnr = files.loaded(uri)
    if bufnr then
      pcall(vim.cmd, "silent checktime " .. bufnr)
    end
  end
  api.nvim_del_augroup_by_id(group)
  return vim.empty_dict()
end

---@type table<string, agent_ls.Answerer>
local answerers =
  { save = save, checkTime = check_time, terminalOpen = relay.open, terminalRuns = relay.runs }

---@param event agent_ls.Event of kind client_request
function M.answer(event)
  local data = event.data
  local answerer = answerers[data.what]
  local answer = { sessionId = event.sessionId, requestId = data.requestId }
  if not answerer then
    answer.error = ("this editor cannot do %q"):format(tostring(data.what))
  else
    local ok, result = pcall(answerer, data.params or {})
    answer.result = ok and result or nil
    answer.error = not ok and tostring(result) or nil
  end
  client.request(protocol.method.client_answer, answer)
end

return M
