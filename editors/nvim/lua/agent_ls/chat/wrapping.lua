-- Wraps rows at spaces, so that paths, addresses and `:commands` stay whole. 'breakat' is a global option, so it is
-- changed only while the panel is open, and only if the user has left it at its default.
local M = {}

local DEFAULT = vim.api.nvim_get_option_info2("breakat", {}).default
local AT_SPACES = " \t"

local is_ours = false

---Call when the panel opens.
function M.start()
  if vim.o.breakat == DEFAULT then
    vim.o.breakat, is_ours = AT_SPACES, true
  end
end

---Call when the panel closes. Does not reset a value that the user has set since.
function M.stop()
  if is_ours and vim.o.breakat == AT_SPACES then
    vim.o.breakat = DEFAULT
  end
  is_ours = false
end

return M
