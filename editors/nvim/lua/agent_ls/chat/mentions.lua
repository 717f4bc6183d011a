-- Completion in the prompt: `@` for files and more, `/` for commands. Chosen items are sent as parts of the message.
local client = require("agent_ls.client")
local files = require("agent_ls.files")
local protocol = require("agent_ls.protocol")

local M = {}

-- for the server's answer; the first list of a large folder takes longer and is ready at the next key
local WAIT_MS = 1500

local chosen = {} ---@type table<string, agent_ls.wire.InputPart> the part of each word that was offered

---@param before string text before the cursor in its line
---@param row integer line of the prompt, from 1
---@return integer? where the word begins, from 0
---@return "@"|"/"|nil trigger
local function word_start(before, row)
  if row == 1 and before:match("^/%S*$") then
    return 0, "/"
  end
  local start = before:match("()@%S*$")
  if start and (start == 1 or before:sub(start - 1, start - 1):match("%s")) then
    return start - 1, "@"
  end
end

---@param trigger "@"|"/"
---@param query string
---@return agent_ls.wire.Completion[]
local function ask(trigger, query)
  local lsp = client.lsp()
  if not lsp then
    return {}
  end
  local params = { trigger = trigger, query = query, workspaceFolder = vim.uri_from_fname(files.root()) }
  params.sessionId = require("agent_ls.session").current_id() -- its MCP servers have prompts and resources
  local answer = lsp:request_sync(protocol.method.complete, params, WAIT_MS)
  return answer and answer.result and protocol.without_null(answer.result).items or {}
end

---For 'completefunc' and 'omnifunc'.
---@param find_start 0|1
---@param base string
function M.complete(find_start, base)
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  if find_start == 1 then
    return word_start(vim.api.nvim_get_current_line():sub(1, column), row) or -3
  end
  local trigger = base:sub(1, 1)
  local words = vim.tbl_map(function(item)
    local word = trigger == "/" and item.label or "@" .. item.label
    chosen[word] = item.part
    return { word = word, menu = item.detail or item.kind, dup = 1 }
  end, ask(trigger, base:sub(2)))
  return { words = words, refresh = "always" }
end

---The parts for the completions that a message mentions, and its text without a command at the beginning.
---@param text string
---@return agent_ls.wire.InputPart[] parts
---@return string text "" when all of it is in the parts
function M.parts(text)
  local parts = {}
  local name, rest = text:match("^(/%S+)%s*(.*)$")
  local command = name and chosen[name]
  if command then
    parts[1] = vim.tbl_extend("force", command, { arguments = rest })
  end
  local seen = {}
  for word in text:gmatch("@%S+") do
    local part = chosen[word] or chosen[(word:gsub("[.,;:!?)]+$", ""))]
    if part and not seen[part] then
      seen[part] = true
      parts[#parts + 1] = part
    end
  end
  return parts, command and "" or text
end

---@param bufnr integer the prompt
function M.setup(bufnr)
  local this = "v:lua.require'agent_ls.chat.mentions'.complete"
  vim.bo[bufnr].completefunc, vim.bo[bufnr].omnifunc = this, this
  vim.bo[bufnr].completeopt = "menuone,noinsert,noselect"
  for _, trigger in ipairs({ "@", "/" }) do
    vim.keymap.set("i", trigger, function()
      local row, column = unpack(vim.api.nvim_win_get_cursor(0))
      local before = vim.api.nvim_get_current_line():sub(1, column)
      return word_start(before .. trigger, row) and trigger .. "<C-x><C-u>" or trigger
    end, { buffer = bufnr, expr = true, desc = "agent-ls: mention a file, or begin with a command" })
  end
end

return M
