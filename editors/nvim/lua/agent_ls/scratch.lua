-- Scratch buffers for display.
local M = {}

local api = vim.api

local made = {} ---@type table<integer, string> names by buffer

---@param rename fun(name: string): string
local function rename_all(rename)
  for bufnr, name in pairs(made) do
    if api.nvim_buf_is_valid(bufnr) then
      api.nvim_buf_set_name(bufnr, rename(name))
    end
  end
end

---A file of :mksession that was written while our buffers were visible gives their names to empty buffers, which is an
---error while ours have the names.
local function step_aside()
  if vim.g.SessionLoad then
    rename_all(function(name) return name .. "#" end)
  end
end

---@param name string
---@param filetype string
---@return integer bufnr
function M.make(name, filetype)
  -- A deleted buffer, or one that a file of :mksession restored, may still have this name.
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_get_name(bufnr) == name then
      api.nvim_buf_delete(bufnr, { force = true })
    end
  end
  if vim.tbl_isempty(made) then
    api.nvim_create_autocmd("BufFilePre", { desc = "agent-ls: free the names of its buffers", callback = step_aside })
  end
  local bufnr = api.nvim_create_buf(false, true)
  made[bufnr] = name
  api.nvim_buf_set_name(bufnr, name)
  vim.bo[bufnr].bufhidden, vim.bo[bufnr].swapfile = "hide", false
  vim.bo[bufnr].filetype = filetype
  return bufnr
end

---Removes the empty buffers that a file of :mksession restored in place of ours, with their windows.
---@return boolean had_panel one of them was in place of the panel
function M.remove_restored()
  local had_panel = false
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    local kind = api.nvim_buf_get_name(bufnr):match("^agent%-ls://(%w+)")
    if kind and not made[bufnr] and vim.bo[bufnr].buftype == "" then
      had_panel = had_panel or kind == "transcript" or kind == "prompt"
      api.nvim_buf_delete(bufnr, { force = true })
    end
  end
  rename_all(function(name) return name end)
  return had_panel
end

return M
