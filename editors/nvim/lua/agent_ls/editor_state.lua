-- Reports the editor's state to the server (agent/editorState): the active file, the selection, the visible files, and
-- modified files to which the server is not attached.
local client = require("agent_ls.client")
local files = require("agent_ls.files")
local log = require("agent_ls.log")
local protocol = require("agent_ls.protocol")

local api = vim.api

local M = {}

local QUIET_MS = 150 -- delay after the last change, so that moving through files does not send many messages

local last_sent ---@type table?
local timer ---@type uv.uv_timer_t?

---@param bufnr integer
---@return boolean
local function is_unsynced(bufnr)
  local name = api.nvim_buf_get_name(bufnr)
  local is_real = name ~= "" and vim.uv.fs_stat(name) ~= nil
  local lsp = client.lsp()
  return is_real
    and api.nvim_buf_is_loaded(bufnr)
    and vim.bo[bufnr].modified
    and not (lsp and vim.lsp.buf_is_attached(bufnr, lsp.id))
end

---@return integer[] windows of this tab page that show files
local function file_windows()
  return vim.tbl_filter(
    function(win) return files.is_file(api.nvim_win_get_buf(win)) end,
    api.nvim_tabpage_list_wins(0)
  )
end

---Returns the selected lines of the active file, else the position of the cursor.
---@param active integer
---@return table?
local function selection(active)
  local here = api.nvim_get_current_win()
  local win = api.nvim_win_get_buf(here) == active and here
    or vim.iter(file_windows()):find(function(other) return api.nvim_win_get_buf(other) == active end)
  if not win then
    return nil
  end
  local row, column = unpack(api.nvim_win_get_cursor(win))
  local mode = win == here and api.nvim_get_mode().mode or "n"
  if not mode:match("^[vV\22]") then
    return { startLine = row - 1, startCharacter = column, endLine = row - 1, endCharacter = column }
  end
  local first, last = vim.fn.line("v"), row
  if first > last then
    first, last = last, first
  end
  return { startLine = first - 1, startCharacter = 0, endLine = last, endCharacter = 0 } -- whole lines
end

local is_muted = false -- the user has turned off that the model gets the active file

---Toggles whether the model gets the active file and the selection.
---@return boolean is_shared the model gets them now
function M.toggle()
  is_muted = not is_muted
  M.send()
  return not is_muted
end

---@return {path: string, first: integer?, last: integer?, is_shared: boolean}? file that is attached to messages
function M.describe_context()
  local active = files.find_active()
  if not active then
    return nil
  end
  local selected = last_sent and last_sent.selection or selection(active)
  local has_lines = selected and selected.endLine > selected.startLine
  return {
    path = api.nvim_buf_get_name(active),
    first = has_lines and selected.startLine + 1 or nil,
    last = has_lines and selected.endLine or nil,
    is_shared = not is_muted,
  }
end

---@return table params of agent/editorState
function M.read_current()
  local active = not is_muted and files.find_active() or nil
  local visible = {}
  for _, win in ipairs(is_muted and {} or file_windows()) do
    local uri = vim.uri_from_bufnr(api.nvim_win_get_buf(win))
    if not vim.tbl_contains(visible, uri) then
      visible[#visible + 1] = uri
    end
  end
  local unsynced = vim.iter(api.nvim_list_bufs()):filter(is_unsynced):map(vim.uri_from_bufnr):totable()
  return {
    activeUri = active and vim.uri_from_bufnr(active) or nil,
    selection = active and selection(active) or nil,
    visibleUris = visible,
    unsynced = unsynced,
  }
end

---Sends the state if it has changed.
function M.send()
  local state = M.read_current()
  if not vim.deep_equal(state, last_sent) then
    last_sent = state
    client.notify(protocol.method.editor_state, state)
  end
end

---Starts watching and sends the state. Call this when the server is ready.
function M.watch()
  last_sent = nil
  timer = timer or assert(vim.uv.new_timer())
  local later = function()
    timer:start(QUIET_MS, 0, vim.schedule_wrap(log.guard("reporting the active file", M.send)))
  end
  api.nvim_create_autocmd({ "BufEnter", "BufModifiedSet", "BufFilePost", "CursorMoved", "ModeChanged" }, {
    group = api.nvim_create_augroup("agent_ls_editor_state", {}),
    desc = "agent-ls: tell what is looked at",
    callback = later,
  })
  later()
end

return M
