-- Scratch buffers for display.
local M = {}

local api = vim.api

---@param name string
---@param filetype string
---@param before integer? a deleted buffer that still has this name
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
