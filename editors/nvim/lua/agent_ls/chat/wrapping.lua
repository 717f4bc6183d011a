-- Sets 'breakat' so that lines wrap only at spaces, and paths, URLs and `:commands` are not split. 'breakat' is a
-- global option, so it is changed only while the panel is open, and only if the user has not set it.
local M = {}

local DEFAULT = vim.api.nvim_get_option_info2("breakat", {}).default
local AT_SPACES = " \t"

local is_ours = false

---Sets 'breakat'. Call this when the panel opens.
function M.start()
  if vim.o.breakat == DEFAULT then
    vim.o.breakat, is_ours = AT_SPACES, true
  end
end

---Resets 'breakat', unless the user has set it since. Call this when the panel closes.
function M.stop()
  if is_ours and vim.o.breakat == AT_SPACES then
    vim.o.breakat = DEFAULT
  end
  is_ours = false
end

return M
