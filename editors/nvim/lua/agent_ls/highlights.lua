-- The highlight groups, as links to standard groups; a colour scheme or a user may override them.
local M = {}

---@type table<string, string>
local LINKS = {
  AgentLsUser = "CursorLine",
  AgentLsUserMark = "Identifier",
  AgentLsDim = "Comment",
  AgentLsName = "Function",
  AgentLsRunning = "AgentLsDiagnosticInfo",
  AgentLsDone = "AgentLsDiagnosticOk",
  AgentLsFailed = "AgentLsDiagnosticError",
  AgentLsWarn = "AgentLsDiagnosticWarn",
  AgentLsAsk = "AgentLsDiagnosticWarn",
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

local READABLE = 2.5 -- least ratio of contrast, as WCAG computes it

---@param colour integer 0xRRGGBB
---@return number relative luminance, as WCAG computes it
local function luminance(colour)
  local parts = { bit.rshift(colour, 16), bit.band(bit.rshift(colour, 8), 255), bit.band(colour, 255) }
  local linear = vim.tbl_map(function(part)
    local share = part / 255
    return share <= 0.04045 and share / 12.92 or ((share + 0.055) / 1.055) ^ 2.4
  end, parts)
  return 0.2126 * linear[1] + 0.7152 * linear[2] + 0.0722 * linear[3]
end

---@param name string of a highlight group
---@return boolean whether its text can be read on the normal background; true if a colour is not known
local function is_readable(name)
  local front = vim.api.nvim_get_hl(0, { name = name, link = false })
  local back = vim.api.nvim_get_hl(0, { name = "Normal", link = false }).bg
  if front.bg or not front.fg or not back then
    return true
  end
  local one, other = luminance(front.fg) + 0.05, luminance(back) + 0.05
  return math.max(one, other) / math.min(one, other) >= READABLE
end

function M.define()
  for name, link in pairs(LINKS) do
    vim.api.nvim_set_hl(0, name, { default = true, link = link })
  end
  -- Colour schemes without colours for diagnostics get those of Neovim, such as orange on white.
  for _, kind in ipairs({ "Info", "Ok", "Error", "Warn" }) do
    local standard = "Diagnostic" .. kind
    vim.api.nvim_set_hl(0, "AgentLs" .. standard, is_readable(standard) and { link = standard } or { bold = true })
  end
  vim.api.nvim_set_hl(0, "AgentLsStrong", { default = true, bold = true })
  vim.api.nvim_set_hl(0, "AgentLsEmphasis", { default = true, italic = true })
  -- In a status line, which has a background of its own, other text colours may be unreadable.
  vim.api.nvim_set_hl(0, "AgentLsBarKey", { default = true, bold = true })
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
