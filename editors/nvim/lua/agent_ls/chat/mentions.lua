-- Mentions in the prompt: completion of `@` (files and other content) and `/` (commands). A word that mentions
-- content is drawn as a chip, and the content is sent with the message. If the user deletes the word, the content
-- is not sent.
local client = require("agent_ls.client")
local files = require("agent_ls.files")
local protocol = require("agent_ls.protocol")

local M = {}

-- Time limit for the server's completion result. The first listing of a large folder takes longer; its result is
-- used at the next key press.
local WAIT_MS = 1500

local TERMINAL_LINES = 400 -- number of last lines of a terminal that are sent

local ns = vim.api.nvim_create_namespace("agent_ls_mentions")

local chosen = {} ---@type table<string, agent_ls.wire.InputPart> the part of each word that was offered

---@param bufnr integer
---@param lines string[]?
---@return agent_ls.wire.TerminalTextInput
function M.terminal_part(bufnr, lines)
  local text = table.concat(lines or vim.api.nvim_buf_get_lines(bufnr, -TERMINAL_LINES - 1, -1, false), "\n")
  local title = vim.b[bufnr].term_title or vim.api.nvim_buf_get_name(bufnr)
  return { type = "terminal", name = title, text = vim.trim(text) }
end

---@return table[] completions of the terminals of this Neovim
local function terminals()
  local bufs = vim.tbl_filter(function(buf) return vim.bo[buf].buftype == "terminal" end, vim.api.nvim_list_bufs())
  return vim.tbl_map(function(buf)
    return { label = "terminal:buffer-" .. buf, detail = vim.b[buf].term_title, kind = "terminal" }
  end, bufs)
end

---@param word string without the `@`
---@return agent_ls.wire.InputPart? the part if the word describes it completely, such as `diff` or a URL
local function parse_part(word)
  local buf = tonumber(word:match("^terminal:buffer%-(%d+)$"))
  if buf then
    return vim.api.nvim_buf_is_loaded(buf) and M.terminal_part(buf) or nil
  elseif word == "diff" or word == "staged" then
    return { type = "diff", staged = word == "staged" }
  elseif word:match("^https?://.") then
    return { type = "page", url = word }
  end
  local kind, name = word:match("^(%l+):(.+)$")
  if kind == "commit" then
    return { type = "commit", revision = name }
  elseif kind == "terminal" then
    return { type = "terminal", name = name }
  end
end

---@param word string with the `@`, as it was typed
---@return agent_ls.wire.InputPart?
---@return string name without trailing punctuation
local function part_of(word)
  local bare = word:gsub("[.,;:!?)%]'\"]+$", "")
  local part = chosen[word]
  if part then
    return part, word
  end
  return chosen[bare] or parse_part(bare:sub(2)), bare
end

---@param before string text before the cursor in its line
---@param row integer line of the prompt, from 1
---@return integer? column at which the word begins, from 0
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

---Requests completions from the server, and waits for them.
---@param trigger "@"|"/"
---@param query string
---@return agent_ls.wire.Completion[]
local function ask(trigger, query)
  local lsp = client.lsp()
  if not lsp then
    return {}
  end
  local params = { trigger = trigger, query = query, workspaceFolder = vim.uri_from_fname(files.find_root()) }
  params.sessionId = require("agent_ls.session").current_id() -- for the prompts and resources of its MCP servers
  local answer = lsp:request_sync(protocol.method.complete, params, WAIT_MS)
  return answer and answer.result and protocol.remove_null(answer.result).items or {}
end

---Implements 'completefunc' and 'omnifunc'.
---@param find_start 0|1
---@param base string
function M.complete(find_start, base)
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  if find_start == 1 then
    return word_start(vim.api.nvim_get_current_line():sub(1, column), row) or -3
  end
  local trigger = base:sub(1, 1)
  local items = ask(trigger, base:sub(2))
  if trigger == "@" then
    local is_wanted = function(item) return vim.startswith(item.label, base:sub(2)) end
    vim.list_extend(items, vim.tbl_filter(is_wanted, terminals()))
  end
  local words = vim.tbl_map(function(item)
    local word = trigger == "/" and item.label or "@" .. item.label
    chosen[word] = item.part
    return { word = word, menu = item.detail or item.kind, dup = 1 }
  end, items)
  return { words = words, refresh = "always" }
end

---Converts the mentions in a message to message parts. If the message begins with a command, the rest of the text
---is its argument.
---@param text string
---@return agent_ls.wire.InputPart[] parts
---@return string text "" if it is the argument of a command
---@return string? missing name of an image that is lost, because it was pasted before Neovim was restarted
function M.parts(text)
  local parts = {}
  local name, rest = text:match("^(/%S+)%s*(.*)$")
  local command = name and chosen[name]
  if command then
    parts[1] = vim.tbl_extend("force", command, { arguments = rest })
  end
  local seen, missing = {}, nil
  for before, word in (" " .. text):gmatch("(%s)(@%S+)") do
    local part, bare = part_of(word)
    if part and not seen[bare] then
      seen[bare] = before
      parts[#parts + 1] = part
    elseif not part and bare:match("^@image:%d+$") then
      missing = bare
    end
  end
  return parts, command and "" or text, missing
end

---Adds a message part, such as a pasted image, and returns a new word that mentions it.
---@param kind string
---@param part agent_ls.wire.InputPart
---@return string word to write into the prompt
function M.add(kind, part)
  local number = 1
  while chosen[("@%s:%d"):format(kind, number)] do
    number = number + 1
  end
  local word = ("@%s:%d"):format(kind, number)
  chosen[word] = part
  return word
end

---Draws a chip over each word that mentions a message part.
---@param bufnr integer the prompt
function M.draw(bufnr)
  vim.api.nvim_buf_clear_namespace(bufnr, ns, 0, -1)
  for row, line in ipairs(vim.api.nvim_buf_get_lines(bufnr, 0, -1, false)) do
    for start, word in (" " .. line):gmatch("%s()(@%S+)") do
      local part, bare = part_of(word)
      if part then
        local column = start - 2
        vim.api.nvim_buf_set_extmark(bufnr, ns, row - 1, column, { end_col = column + #bare, hl_group = "AgentLsChip" })
      end
    end
  end
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
  vim.api.nvim_create_autocmd({ "TextChanged", "TextChangedI", "TextChangedP" }, {
    buffer = bufnr,
    callback = function() M.draw(bufnr) end,
  })
end

return M
