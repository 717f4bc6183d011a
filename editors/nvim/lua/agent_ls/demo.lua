-- The Neovim part of `agent-ls demo`, which starts Neovim with this module: opens the panel with the walkthrough,
-- and puts its first message into the prompt.
local M = {}

local FIRST_MESSAGE = "The tests fail. Find out why and fix it."

---Returns the command of the server in the same installation, which may differ from the one on PATH.
---@return string[]?
local function command()
  local python = vim.env.AGENT_LS_COMMAND
  return python and { python, "-P", "-m", "agent_ls", "serve", "--stdio" }
end

function M.start()
  vim.o.number = true
  require("agent_ls").setup({ cmd = command(), provider = "walkthrough" })
  require("agent_ls.session").create({ provider = "walkthrough" }, function(problem)
    require("agent_ls").open()
    if not problem then
      require("agent_ls.chat.input").set_text(FIRST_MESSAGE)
    end
  end)
end

return M
