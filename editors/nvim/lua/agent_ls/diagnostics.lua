-- Reports the diagnostics of other tools to the server (agent/diagnostics), including when a file's last one is
-- gone.
--
-- A report is sent when the tools have been quiet for a while. It is marked as settled if every language server has
-- checked the current text (checked_versions.lua). Other tools do not report when they are done, so for them a
-- pause in the reports counts as done.
local checked_versions = require("agent_ls.checked_versions")
local client = require("agent_ls.client")
local log = require("agent_ls.log")
local protocol = require("agent_ls.protocol")

local api = vim.api

local M = {}

local QUIET_MS = 200 -- delay after the last report, because other tools may still report
local LATEST_MS = 1200 -- delay after a change of the text if no tool reports
local UNCHECKED_MS = 50 -- delay if no tool checks the file
local MAX_ITEMS = 500 -- limit of the server for one file
local MAX_FILES = 1000

local timers = {} ---@type table<integer, uv.uv_timer_t>
local watched = {} ---@type table<integer, true>

---@param diagnostic vim.Diagnostic
---@return agent_ls.wire.Diagnostic
local function item(diagnostic)
  return {
    startLine = diagnostic.lnum,
    startCharacter = diagnostic.col,
    endLine = diagnostic.end_lnum or diagnostic.lnum,
    endCharacter = diagnostic.end_col or diagnostic.col,
    severity = diagnostic.severity,
    message = diagnostic.message,
    source = diagnostic.source,
    code = diagnostic.code and tostring(diagnostic.code) or nil,
  }
end

---@param bufnr integer
---@return vim.lsp.Client[] other language servers that may check the buffer
local function others(bufnr)
  local lsp = client.lsp()
  return vim.tbl_filter(
    function(other) return not lsp or other.id ~= lsp.id end,
    vim.lsp.get_clients({ bufnr = bufnr })
  )
end

---@param bufnr integer
---@return boolean
local function is_quiet(bufnr)
  local timer = timers[bufnr]
  return not timer or not timer:is_active()
end

---@param bufnr integer
---@return boolean every tool has checked the current text, so no more reports are expected
function M.is_settled(bufnr) return is_quiet(bufnr) and checked_versions.is_checked(bufnr, others(bufnr)) end

---@param bufnr integer
---@return boolean no more reports are expected, or a server does not report which text version it has checked
function M.may_be_over(bufnr)
  return M.is_settled(bufnr) or (is_quiet(bufnr) and checked_versions.is_uncertain(bufnr, others(bufnr)))
end

---@param bufnr integer
---@return agent_ls.wire.Diagnostics
function M.report_buffer(bufnr)
  return {
    uri = vim.uri_from_bufnr(bufnr),
    version = watched[bufnr] and vim.lsp.util.buf_versions[bufnr] or nil,
    settled = M.is_settled(bufnr),
    items = vim.iter(vim.diagnostic.get(bufnr)):take(MAX_ITEMS):map(item):totable(),
  }
end

---@return agent_ls.wire.Diagnostics[] reports of all files with diagnostics
function M.report_all()
  local bufs = {} ---@type table<integer, true>
  for _, diagnostic in ipairs(vim.diagnostic.get()) do
    bufs[diagnostic.bufnr] = api.nvim_buf_get_name(diagnostic.bufnr) ~= "" or nil
  end
  return vim.iter(vim.tbl_keys(bufs)):take(MAX_FILES):map(M.report_buffer):totable()
end

---@param bufnr integer
local function send(bufnr)
  if api.nvim_buf_is_loaded(bufnr) and api.nvim_buf_get_name(bufnr) ~= "" then
    checked_versions.request_diagnostics(bufnr, others(bufnr))
    client.notify(protocol.method.diagnostics, M.report_buffer(bufnr))
  end
end

---Sends a report of the file after a delay. Calling this again restarts the delay.
---@param bufnr integer
---@param delay_ms integer
local function send_later(bufnr, delay_ms)
  local timer = timers[bufnr] or assert(vim.uv.new_timer())
  timers[bufnr] = timer
  timer:start(delay_ms, 0, vim.schedule_wrap(log.guard("sending diagnostics", function() send(bufnr) end)))
end

---Schedules a report of a file that has just been opened, after the tools have had time to check it.
---@param bufnr integer
function M.schedule_report(bufnr) send_later(bufnr, LATEST_MS) end

---@param bufnr integer of a buffer whose text has just changed
---@return integer delay after which a report is sent even if no tool has reported
local function delay_ms(bufnr)
  local servers = others(bufnr)
  if vim.iter(servers):any(function(lsp) return checked_versions.supports_pull(lsp, bufnr) end) then
    return QUIET_MS
  end
  return (#servers > 0 or #vim.diagnostic.get(bufnr) > 0) and LATEST_MS or UNCHECKED_MS
end

---@param bufnr integer of a document that is open on the server
local function watch_buffer(bufnr)
  if watched[bufnr] then
    return
  end
  watched[bufnr] = true
  api.nvim_buf_attach(bufnr, false, {
    on_lines = function() send_later(bufnr, delay_ms(bufnr)) end,
    on_detach = function()
      watched[bufnr] = nil
      local timer = timers[bufnr]
      if timer then
        timer:close()
        timers[bufnr] = nil
      end
    end,
  })
  if #vim.diagnostic.get(bufnr) > 0 then
    send_later(bufnr, QUIET_MS)
  end
end

---Starts watching the diagnostics of all buffers.
function M.watch()
  local group = api.nvim_create_augroup("agent_ls_diagnostics", {})
  api.nvim_create_autocmd("LspAttach", {
    group = group,
    desc = "agent-ls: send diagnostics to the server",
    callback = function(args)
      local lsp = client.lsp()
      if lsp and args.data.client_id == lsp.id then
        watch_buffer(args.buf)
      else
        checked_versions.record_versions(assert(vim.lsp.get_client_by_id(args.data.client_id)))
      end
    end,
  })
  checked_versions.watch(function(bufnr)
    if watched[bufnr] then
      send_later(bufnr, QUIET_MS)
    end
  end)
  api.nvim_create_autocmd("DiagnosticChanged", {
    group = group,
    desc = "agent-ls: send diagnostics to the server",
    callback = function(args) send_later(args.buf, QUIET_MS) end,
  })
  local lsp = client.lsp()
  for _, other in ipairs(vim.lsp.get_clients()) do
    if not lsp or other.id ~= lsp.id then
      checked_versions.record_versions(other)
    end
  end
  for bufnr in pairs(lsp and lsp.attached_buffers or {}) do
    watch_buffer(bufnr)
  end
end

return M
