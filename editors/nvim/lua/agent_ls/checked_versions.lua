-- Tracks which version of a buffer's text the language servers have checked. Uses only their reports, no timeouts.
--
-- A server that answers a diagnostics request has checked the text that it had at the time of the request. A
-- server that publishes diagnostics may include the `version` of the text. If it publishes without a version, we
-- cannot know which text it has checked. A server with work in progress (`$/progress`) may publish more
-- diagnostics. A server that has never published diagnostics is assumed not to check the buffer.
local api = vim.api

local M = {}

local PUBLISH, PULL = "textDocument/publishDiagnostics", "textDocument/diagnostic"

---The reports of one server for one buffer. `published` is the version in the last publication; false if it
---contained none.
---@class agent_ls.ServerReports
---@field published? integer|false
---@field pending? table<integer, integer> versions by pending request
---@field answered? integer newest version for which a diagnostics request was answered

local reports = {} ---@type table<integer, table<integer, agent_ls.ServerReports>> by client and buffer
local wrapped = setmetatable({}, { __mode = "k" }) ---@type table<table, true> handler tables that `record_versions` has wrapped

---@param client_id integer
---@param bufnr integer
---@return agent_ls.ServerReports
local function reports_of(client_id, bufnr)
  reports[client_id] = reports[client_id] or {}
  reports[client_id][bufnr] = reports[client_id][bufnr] or {}
  return reports[client_id][bufnr]
end

---Records the version of each publication of a server, because Neovim does not keep it.
---@param lsp vim.lsp.Client
function M.record_versions(lsp)
  local handlers = lsp.handlers
  if wrapped[handlers] then
    return
  end
  wrapped[handlers] = true
  local own = handlers[PUBLISH]
  handlers[PUBLISH] = function(err, params, ctx, config)
    local bufnr = params and vim.fn.bufnr(vim.uri_to_fname(params.uri)) or -1
    if bufnr >= 0 then
      reports_of(ctx.client_id, bufnr).published = tonumber(params.version) or false
    end
    return (own or vim.lsp.handlers[PUBLISH])(err, params, ctx, config)
  end
end

---@param lsp vim.lsp.Client
---@param bufnr integer
---@return boolean the server supports diagnostics requests
function M.supports_pull(lsp, bufnr) return lsp:supports_method(PULL, bufnr) end

---@param lsp vim.lsp.Client
---@param bufnr integer
---@return boolean the server has checked the current text
local function has_checked(lsp, bufnr)
  if next(lsp.progress.pending) then
    return false
  end
  local version, of = vim.lsp.util.buf_versions[bufnr] or 0, reports_of(lsp.id, bufnr)
  if M.supports_pull(lsp, bufnr) then
    return not next(of.pending or {}) and (of.answered or -1) >= version
  end
  if of.published ~= nil then
    return of.published and of.published >= version
  end
  -- The server may have published before `record_versions` was called; Neovim then has its diagnostics.
  local known = vim.diagnostic.get(nil, { namespace = vim.lsp.diagnostic.get_namespace(lsp.id) })
  return #known == 0
    and not vim.iter(pairs(reports[lsp.id])):any(function(_, other) return other.published ~= nil end)
end

---@param bufnr integer
---@param servers vim.lsp.Client[] all that may check it
---@return boolean all of them have checked the current text
function M.is_checked(bufnr, servers)
  return vim.iter(servers):all(function(lsp) return has_checked(lsp, bufnr) end)
end

---@param servers vim.lsp.Client[]
---@param bufnr integer
---@return boolean a server publishes without a version, so that it is unknown which text it has checked
function M.is_uncertain(bufnr, servers)
  return vim.iter(servers):any(
    function(lsp) return not M.supports_pull(lsp, bufnr) and reports_of(lsp.id, bufnr).published == false end
  )
end

---Sends a diagnostics request to each server that supports it. Neovim itself does so only for the current buffer.
---@param bufnr integer
---@param servers vim.lsp.Client[]
function M.request_diagnostics(bufnr, servers)
  local version = vim.lsp.util.buf_versions[bufnr] or 0
  for _, lsp in ipairs(servers) do
    local of = reports_of(lsp.id, bufnr)
    if M.supports_pull(lsp, bufnr) and not next(of.pending or {}) and (of.answered or -1) < version then
      lsp:request(PULL, { textDocument = vim.lsp.util.make_text_document_params(bufnr) }, nil, bufnr)
    end
  end
end

---Starts watching the servers' reports.
---@param changed fun(bufnr: integer) called after a report, also if it changes no diagnostic
function M.watch(changed)
  local group = api.nvim_create_augroup("agent_ls_checked", {})
  api.nvim_create_autocmd("LspRequest", {
    group = group,
    desc = "agent-ls: record which version a server has checked",
    callback = function(args)
      local request, id = args.data.request, args.data.request_id
      if request.method ~= PULL then
        return
      end
      local of = reports_of(args.data.client_id, request.bufnr)
      of.pending = of.pending or {}
      if request.type == "pending" then
        of.pending[id] = vim.lsp.util.buf_versions[request.bufnr] or 0
      elseif request.type == "complete" then
        of.answered = math.max(of.answered or -1, of.pending[id] or -1)
        of.pending[id] = nil
        changed(request.bufnr)
      end
    end,
  })
  api.nvim_create_autocmd("LspProgress", {
    group = group,
    pattern = "end",
    desc = "agent-ls: a server has finished its work in progress",
    callback = function(args)
      local lsp = vim.lsp.get_client_by_id(args.data.client_id)
      for bufnr in pairs(lsp and lsp.attached_buffers or {}) do
        changed(bufnr)
      end
    end,
  })
  api.nvim_create_autocmd("LspDetach", {
    group = group,
    desc = "agent-ls: forget the reports of a detached server",
    callback = function(args)
      if reports[args.data.client_id] then
        reports[args.data.client_id][args.buf] = nil
      end
    end,
  })
end

return M
