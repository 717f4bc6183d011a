-- Defines the one command, :AgentLs, and restores the panel with a Vim session. All else is loaded when it is used.
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

vim.api.nvim_create_autocmd("SessionLoadPost", {
  group = vim.api.nvim_create_augroup("agent_ls_restore", {}),
  desc = "agent-ls: restore the panel",
  callback = vim.schedule_wrap(function() require("agent_ls").restore() end), -- fired for each buffer, in a window of its own
})
