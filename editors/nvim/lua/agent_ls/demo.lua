-- Started by `agent-ls demo`: opens the panel and the walkthrough, with its first message ready to send.
local M = {}

local FIRST_MESSAGE = "The tests fail. Find out why and fix it."

---The server of the same installation, not another one on PATH.
---@return string[]?
local function command()
  local python = vim.env.AGENT_LS_COMMAND
  return python and { python, "-m", "agent_ls", "serve", "--stdio" }
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
