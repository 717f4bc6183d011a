-- Adds code actions for diagnostics of other sources. Neovim sends each language server only its own diagnostics, so
-- agent-ls itself cannot offer these actions.
local M = {}

local COMMAND = "agentLs.askAtDiagnostic"
local KIND = "quickfix"
local OWN_SOURCE = "agent-ls" -- the server itself offers actions for its own diagnostics
local TITLES = { { "fix", "Fix with the agent" }, { "explain", "Explain with the agent" } }

---@param only string[]? requested kinds of code actions
---@return boolean
local function is_wanted(only)
  return not only or vim.iter(only):any(function(kind) return kind == "" or kind == KIND end)
end

---@param bufnr integer
---@param first integer line from 0
---@param last integer
---@return boolean another source has a diagnostic in these lines
local function has_diagnostic(bufnr, first, last)
  return vim.iter(vim.diagnostic.get(bufnr)):any(
    function(each) return each.source ~= OWN_SOURCE and each.lnum <= last and (each.end_lnum or each.lnum) >= first end
  )
end

---@param bufnr integer
---@param params table of textDocument/codeAction
---@return table[] actions
local function actions(bufnr, params)
  local first, last = params.range.start.line, params.range["end"].line
  if not is_wanted(params.context.only) or not has_diagnostic(bufnr, first, last) then
    return {}
  end
  return vim.tbl_map(function(each)
    local name, title = unpack(each)
    local command = { title = title, command = COMMAND, arguments = { name, first + 1, last + 1 } }
    return { title = title, kind = KIND, command = command }
  end, TITLES)
end

---Adds the actions to the answers of this client.
---@param client vim.lsp.Client
function M.extend(client)
  local request = client.request
  client.request = function(self, method, params, handler, bufnr)
    if method ~= "textDocument/codeAction" or not handler then
      return request(self, method, params, handler, bufnr)
    end
    return request(self, method, params, function(err, result, context)
      local more = actions(context.bufnr, params)
      return handler(err, vim.list_extend(vim.list_slice(result or {}), more), context)
    end, bufnr)
  end
  client.commands[COMMAND] = function(command)
    local name, first, last = unpack(command.arguments)
    require("agent_ls.fix").run(name, "", { range = 2, line1 = first, line2 = last })
  end
end

return M
