-- Tracks which version of a buffer's text the language servers have checked. Uses only their own reports, no times.
--
-- A server that answers a diagnostics request has checked the text at the time of the request. A server that publishes
-- diagnostics may name the text by `version`. If it publishes without a version, it never says which text it has
-- checked. If it has work in progress (`$/progress`), it may publish more. A server that has never reported a problem
-- counts as one that does not check.
local api = vim.api

local M = {}

local PUBLISH, PULL = "textDocument/publishDiagnostics", "textDocument/diagnostic"

---Reports of a server about a buffer. `published` is the last version; false if it had none.
---@class agent_ls.Said
---@field published? integer|false
---@field asked? table<integer, integer> versions by pending request
---@field answered? integer

local said = {} ---@type table<integer, table<integer, agent_ls.Said>> by client and buffer
local heard = setmetatable({}, { __mode = "k" }) ---@type table<table, true> handler tables that `listen` has wrapped

---@param client_id integer
---@param bufnr integer
---@return agent_ls.Said
local function said_of(client_id, bufnr)
  said[client_id] = said[client_id] or {}
  said[client_id][bufnr] = said[client_id][bufnr] or {}
  return said[client_id][bufnr]
end

---Records the version of each publication of a server, because Neovim does not keep it.
---@param lsp vim.lsp.Client
function M.record_versions(lsp)
  local handlers = lsp.handlers
  if heard[handlers] then
    return
  end
  heard[handlers] = true
  local own = handlers[PUBLISH]
  handlers[PUBLISH] = function(err, params, ctx, config)
    local bufnr = params and vim.fn.bufnr(vim.uri_to_fname(params.uri)) or -1
    if bufnr >= 0 then
      said_of(ctx.client_id, bufnr).published = tonumber(params.version) or false
    end
    return (own or vim.lsp.handlers[PUBLISH])(err, params, ctx, config)
  end
end

---@param lsp vim.lsp.Client
---@param bufnr integer
---@return boolean the server supports diagnostics requests
function M.is_asked(lsp, bufnr) return lsp:supports_method(PULL, bufnr) end

---@param lsp vim.lsp.Client
---@param bufnr integer
---@return boolean it has checked the current text
local function has_checked(lsp, bufnr)
  if next(lsp.progress.pending) then
    return false
  end
  local version, of = vim.lsp.util.buf_versions[bufnr] or 0, said_of(lsp.id, bufnr)
  if M.is_asked(lsp, bufnr) then
    return not next(of.asked or {}) and (of.answered or -1) >= version
  end
  if of.published ~= nil then
    return of.published and of.published >= version
  end
  -- It may have published before `listen` was called.
  local known = vim.diagnostic.get(nil, { namespace = vim.lsp.diagnostic.get_namespace(lsp.id) })
  return #known == 0
    and not vim.iter(pairs(said[lsp.id])):any(function(_, other) return other.published ~= nil end)
end

---@param bufnr integer
---@param servers vim.lsp.Client[] all that may check it
---@return boolean
function M.is_checked(bufnr, servers)
  return vim.iter(servers):all(function(lsp) return has_checked(lsp, bufnr) end)
end

---@param servers vim.lsp.Client[]
---@param bufnr integer
---@return boolean a server publishes without a version, so that it is unknown which text it has checked
function M.is_uncertain(bufnr, servers)
  return vim.iter(servers):any(
    function(lsp) return not M.is_asked(lsp, bufnr) and said_of(lsp.id, bufnr).published == false end
  )
end

---Requests diagnostics of servers that support it; Neovim itself does so only for the current buffer.
---@param bufnr integer
---@param servers vim.lsp.Client[]
function M.request_diagnostics(bufnr, servers)
  local version = vim.lsp.util.buf_versions[bufnr] or 0
  for _, lsp in ipairs(servers) do
    local of = said_of(lsp.id, bufnr)
    if M.is_asked(lsp, bufnr) and not next(of.asked or {}) and (of.answered or -1) < version then
      lsp:request(PULL, { textDocument = vim.lsp.util.make_text_document_params(bufnr) }, nil, bufnr)
    end
  end
end

---@param changed fun(bufnr: integer) called after a report that changes no diagnostic
function M.watch(changed)
  local group = api.nvim_create_augroup("agent_ls_checked", {})
  api.nvim_create_autocmd("LspRequest", {
    group = group,
    desc = "agent-ls: which text was checked",
    callback = function(args)
      local request, id = args.data.request, args.data.request_id
      if request.method ~= PULL then
        return
      end
      local of = said_of(args.data.client_id, request.bufnr)
      of.asked = of.asked or {}
      if request.type == "pending" then
        of.asked[id] = vim.lsp.util.buf_versions[request.bufnr] or 0
      elseif request.type == "complete" then
        of.answered = math.max(of.answered or -1, of.asked[id] or -1)
        of.asked[id] = nil
        changed(request.bufnr)
      end
    end,
  })
  api.nvim_create_autocmd("LspProgress", {
    group = group,
    pattern = "end",
    desc = "agent-ls: what was under way is done",
    callback = function(args)
      local lsp = vim.lsp.get_client_by_id(args.data.client_id)
      for bufnr in pairs(lsp and lsp.attached_buffers or {}) do
        changed(bufnr)
      end
    end,
  })
  api.nvim_create_autocmd("LspDetach", {
    group = group,
    desc = "agent-ls: a server checks this no longer",
    callback = function(args)
      if said[args.data.client_id] then
        said[args.data.client_id][args.buf] = nil
      end
    end,
  })
end

return M
