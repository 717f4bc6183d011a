-- A component of lualine.nvim: sections = { lualine_x = { "agent_ls" } }. It starts nothing.
local Component = require("lualine.component"):extend()

function Component:update_status()
  local text = require("agent_ls").status():gsub("%%", "%%%%")
  return text
end

return Component
