-- Buffers that show something and belong to no file.
local M = {}

local api = vim.api

---@param name string
---@param filetype string
---@param before integer? a buffer of that name that the user has deleted: its name is still taken
---@return integer bufnr
function M.make(name, filetype, before)
  if before and api.nvim_buf_is_valid(before) then
    api.nvim_buf_delete(before, { force = true })
  end
  local bufnr = api.nvim_create_buf(false, true)
  api.nvim_buf_set_name(bufnr, name)
  vim.bo[bufnr].bufhidden, vim.bo[bufnr].swapfile = "hide", false
  vim.bo[bufnr].filetype = filetype
  return bufnr
end

return M
