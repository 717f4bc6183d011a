-- Requests a commit message from the server, and writes it into the buffer of `git commit`.
local client = require("agent_ls.client")
local files = require("agent_ls.files")
local log = require("agent_ls.log")
local protocol = require("agent_ls.protocol")

local api = vim.api

local M = {}

---@param bufnr integer
---@return integer row of git's first comment line, or the number of lines
local function own_row(bufnr)
  local lines = api.nvim_buf_get_lines(bufnr, 0, -1, false)
  for row, line in ipairs(lines) do
    if vim.startswith(line, "#") then
      return row - 1
    end
  end
  return #lines
end

---Writes the message into the buffer. It replaces the user's draft and completes it. One `u` reverts it.
function M.write()
  local bufnr = api.nvim_get_current_buf()
  if vim.bo[bufnr].filetype ~= "gitcommit" then
    return log.notify("Run this command in the buffer of a commit message, which `git commit` opens.")
  end
  local draft = vim.trim(table.concat(api.nvim_buf_get_lines(bufnr, 0, own_row(bufnr), false), "\n"))
  local tick = api.nvim_buf_get_changedtick(bufnr)
  log.notify("Writing the commit message…")
  local params = { folder = vim.uri_from_fname(files.find_root()), draft = draft }
  client.request(protocol.method.commit_message, params, function(problem, result)
    if problem then
      return log.warn(problem.hint and ("%s. %s"):format(problem.message, problem.hint) or problem.message)
    end
    if not api.nvim_buf_is_loaded(bufnr) or api.nvim_buf_get_changedtick(bufnr) ~= tick then
      return log.warn("The commit message was not inserted, because you changed the text while it was written.")
    end
    local lines = vim.split(vim.trim(result.message), "\n", { plain = true })
    lines[#lines + 1] = own_row(bufnr) < api.nvim_buf_line_count(bufnr) and "" or nil
    api.nvim_buf_set_lines(bufnr, 0, own_row(bufnr), false, lines)
    log.notify(result.staged and "The message describes the staged changes." or "Nothing is staged, so the message describes all changes.")
  end)
end

return M
