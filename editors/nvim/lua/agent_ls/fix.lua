-- `:AgentLs fix` and `:AgentLs explain`: send the diagnostics or the symbol at the cursor, or lines of a file or a
-- terminal.
local input = require("agent_ls.chat.input")
local protocol = require("agent_ls.protocol")

local api = vim.api

local M = {}

---@param first integer line from 1
---@param last integer
---@return string diagnostic messages of these lines, one per line; "" for none
local function problems(first, last)
  local found = {}
  for _, problem in ipairs(vim.diagnostic.get(0)) do
    if problem.lnum + 1 <= last and (problem.end_lnum or problem.lnum) + 1 >= first then
      local source = problem.source and problem.source .. ": " or ""
      found[#found + 1] = ("line %d: %s%s"):format(problem.lnum + 1, source, problem.message:gsub("%s+", " "))
    end
  end
  return table.concat(found, "\n")
end

---@param name "fix"|"explain"
---@param text string additional instruction of the user
---@param args table of nvim_create_user_command
function M.run(name, text, args)
  local bufnr, row = api.nvim_get_current_buf(), api.nvim_win_get_cursor(0)[1]
  local first, last = row, row
  if args.range > 0 then
    first, last = args.line1, args.line2
  end
  local part, about
  if vim.bo[bufnr].buftype == "terminal" then
    local lines = args.range > 0 and api.nvim_buf_get_lines(bufnr, first - 1, last, false) or nil
    part, about = require("agent_ls.chat.mentions").terminal_part(bufnr, lines), "what this terminal shows"
  elseif require("agent_ls.files").is_file(bufnr) then
    local lines = table.concat(api.nvim_buf_get_lines(bufnr, first - 1, last, false), "\n") .. "\n"
    part = protocol.selection_input(vim.uri_from_bufnr(bufnr), first - 1, last, lines)
    about = problems(first, last)
    local symbol = vim.fn.expand("<cword>")
    if about == "" and args.range == 0 and symbol ~= "" then
      about = ("`%s` in line %d"):format(symbol, row)
    end
  else
    return require("agent_ls.log").notify("Move to the window of a file or a terminal first.")
  end
  require("agent_ls.chat.view").show()
  input.submit(vim.trim(("/%s %s\n%s"):format(name, text, about)), { part })
end

return M
