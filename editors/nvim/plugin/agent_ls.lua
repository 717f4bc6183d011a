-- Defines the one command, :AgentLs, and nothing else: all else is loaded when it is used.
if vim.g.loaded_agent_ls then
  return
end
vim.g.loaded_agent_ls = true

vim.api.nvim_create_user_command("AgentLs", function(args) require("agent_ls.commands").run(args) end, {
  nargs = "*",
  range = true,
  desc = "agent-ls: open or close the panel, or run a subcommand",
  complete = function(lead, line) return require("agent_ls.commands").complete(lead, line) end,
})
