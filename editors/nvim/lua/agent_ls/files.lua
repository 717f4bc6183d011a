-- Which buffers are files, which one was active last, and the workspace folder. Does not know the server.
local M = {}

local api = vim.api

local active ---@type integer?

---Whether a buffer is an ordinary file; the server is attached to all of these, whatever their language.
---@param bufnr integer
---@return boolean
function M.is_file(bufnr)
  local is_ordinary = api.nvim_buf_is_loaded(bufnr) and vim.bo[bufnr].buftype == ""
  local name = is_ordinary and api.nvim_buf_get_name(bufnr) or ""
  return name ~= "" and not name:match("^%a[%w+.-]+://") and vim.fn.isdirectory(name) == 0
end

---@param path string
---@return string
local function real(path) return vim.uv.fs_realpath(path) or path end

---@param uri string
---@return integer? bufnr of a loaded file buffer, even if it was opened by another name of the file, such as a link
function M.find_loaded(uri)
  local path = vim.uri_to_fname(uri)
  local buffers = vim.tbl_filter(
    function(bufnr) return api.nvim_buf_is_loaded(bufnr) and vim.bo[bufnr].buftype == "" end,
    api.nvim_list_bufs()
  )
  local exact = vim.iter(buffers):find(function(bufnr) return api.nvim_buf_get_name(bufnr) == path end)
  if exact then
    return exact
  end
  local wanted = real(path)
  return vim.iter(buffers):find(function(bufnr)
    local name = api.nvim_buf_get_name(bufnr)
    return name ~= "" and real(name) == wanted
  end)
end

---@return integer? bufnr of the active file, or of the last one before the panel
function M.find_active()
  local here = api.nvim_get_current_buf()
  if M.is_file(here) then
    active = here
  end
  return active and api.nvim_buf_is_loaded(active) and active or nil
end

---The workspace folder of sessions: the repository of the working directory, else of the file, else the working
---directory.
---@return string
function M.find_root()
  local cwd = assert(vim.uv.cwd())
  local file = M.find_active()
  return vim.fs.root(cwd, ".git") or (file and vim.fs.root(file, ".git")) or cwd
end

---Starts tracking the active file.
function M.watch()
  M.find_active()
  api.nvim_create_autocmd("BufEnter", {
    group = api.nvim_create_augroup("agent_ls_files", {}),
    desc = "agent-ls: remember the file",
    callback = function() M.find_active() end,
  })
end

return M
