-- The project's memory: notes that the agent keeps for later sessions, in a file that the user edits.
local M = {}

local FILE = ".agent-ls/memory.md"

---Opens the file of this project in the window for files.
function M.open()
  local path = vim.fs.joinpath(require("agent_ls.files").root(), FILE)
  if not vim.uv.fs_stat(path) and vim.fn.bufexists(path) == 0 then
    return require("agent_ls.log").notify(
      "This project has no memory yet. Write /remember and what to keep for later sessions."
    )
  end
  require("agent_ls.chat.view").show_file(path, 1)
end

return M
