-- The highlight groups, as links to standard groups; a colour scheme or a user may override them.
local M = {}

---@type table<string, string>
local LINKS = {
  AgentLsUser = "CursorLine",
  AgentLsUserMark = "Identifier",
  AgentLsDim = "Comment",
  AgentLsName = "Function",
  AgentLsRunning = "DiagnosticInfo",
  AgentLsDone = "DiagnosticOk",
  AgentLsFailed = "DiagnosticError",
  AgentLsWarn = "DiagnosticWarn",
  AgentLsAsk = "DiagnosticWarn",
  AgentLsKey = "Special",
  AgentLsPath = "Directory",
  AgentLsChip = "PmenuSel", -- a word in the prompt that is sent with the content that it names, such as `@file`
  AgentLsAdded = "DiffAdd",
  AgentLsRemoved = "DiffDelete",
  AgentLsAddedSign = "Added",
  AgentLsRemovedSign = "Removed",
  AgentLsHeading = "Title",
  AgentLsLink = "Underlined",
  AgentLsOut = "NonText",
  AgentLsInlineCode = "String",
  AgentLsBar = "StatusLine",
  AgentLsBlame = "DiagnosticSignInfo",
}

function M.define()
  for name, link in pairs(LINKS) do
    vim.api.nvim_set_hl(0, name, { default = true, link = link })
  end
  vim.api.nvim_set_hl(0, "AgentLsStrong", { default = true, bold = true })
  vim.api.nvim_set_hl(0, "AgentLsEmphasis", { default = true, italic = true })
  -- Code has the subtle background of the cursor's line, if the colour scheme gives it one.
  local subtle = vim.api.nvim_get_hl(0, { name = "CursorLine", link = false }).bg
  vim.api.nvim_set_hl(0, "AgentLsCode", subtle and { default = true, bg = subtle } or { default = true, link = "ColorColumn" })
end

function M.setup()
  M.define()
  vim.api.nvim_create_autocmd("ColorScheme", {
    group = vim.api.nvim_create_augroup("agent_ls_highlights", {}),
    callback = M.define,
  })
end

return M
