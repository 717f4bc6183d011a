-- Opens the memory files: notes of the agent for later sessions, one file for the project and one for the user.
local M = {}

---@param uri string
---@return string? path of a file that exists, on disk or in a buffer
local function find_existing(uri)
  local path = vim.uri_to_fname(uri)
  return (vim.uv.fs_stat(path) or vim.fn.bufexists(path) == 1) and path or nil
end

---Opens the existing memory files: the one of this project, and the user's one for all projects.
function M.open()
  local params = { workspaceFolder = vim.uri_from_fname(require("agent_ls.files").find_root()) }
  local method = require("agent_ls.protocol").method.memory
  local shown = function(files)
    -- The project's file is opened last, so that it is displayed.
    for _, path in ipairs({ find_existing(files.user) or "", find_existing(files.project) or "" }) do
      if path ~= "" then
        require("agent_ls.chat.view").show_file(path, 1)
      end
    end
    if not (find_existing(files.user) or find_existing(files.project)) then
      require("agent_ls.log").notify(
        "There is no memory yet. Write /remember and a fact for later sessions of this project, or /remember --user for all projects."
      )
    end
  end
  require("agent_ls.client").request(method, params, require("agent_ls.session").report_or(shown))
end

return M
