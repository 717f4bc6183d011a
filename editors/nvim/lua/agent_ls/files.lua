-- Finds the buffers of files, the active file, and the workspace folder.
local M = {}

local api = vim.api

local active ---@type integer?

---Whether a buffer is an ordinary file. The server is attached to all files, in any language.
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
---@return integer? bufnr of the loaded buffer of the file, also if it was opened by another path, such as a link
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

---@return integer? bufnr of the file in the current window, else of the last active file
function M.find_active()
  local here = api.nvim_get_current_buf()
  if M.is_file(here) then
    active = here
  end
  return active and api.nvim_buf_is_loaded(active) and active or nil
end

---Returns the workspace folder for sessions: the git repository of the working directory, else that of the active file,
---else the working directory.
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
    desc = "agent-ls: record the active file",
    callback = function() M.find_active() end,
  })
end

return M
