-- Which buffers are files, which one the user was in last, and which folder is worked in. It knows no server.
local M = {}

local api = vim.api

local active ---@type integer?

---An ordinary buffer of a file: what other servers would attach to by language, we attach to always.
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
---@return integer? bufnr of a loaded file buffer, also when it was opened by another name of the file
function M.loaded(uri)
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

---@return integer? bufnr of the file that the user is in, or was in before he went to the panel
function M.active()
  local here = api.nvim_get_current_buf()
  if M.is_file(here) then
    active = here
  end
  return active and api.nvim_buf_is_loaded(active) and active or nil
end

---The folder that sessions work in: the repository of the working directory, else of the file, else that directory.
---@return string
function M.root()
  local cwd = assert(vim.uv.cwd())
  local file = M.active()
  return vim.fs.root(cwd, ".git") or (file and vim.fs.root(file, ".git")) or cwd
end

---Remembers from now on which file the user is in.
function M.watch()
  M.active()
  api.nvim_create_autocmd("BufEnter", {
    group = api.nvim_create_augroup("agent_ls_files", {}),
    desc = "agent-ls: remember the file",
    callback = function() M.active() end,
  })
end

return M
