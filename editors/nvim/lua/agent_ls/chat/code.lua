-- Highlights code inside other texts. Uses tree-sitter if Neovim has a parser and queries for the language, else the
-- syntax file. Caches the results, because the same command or block is drawn many times.
local api = vim.api

local M = {}

---@class agent_ls.CodeSpan
---@field row integer from 0
---@field col integer
---@field end_col integer
---@field group string

local MAX_LINES = 150 -- syntax highlighting is queried for every column, which is slow
local MAX_COLUMNS = 200
local REMEMBERED = 64

local memo, memo_order = {}, {} ---@type table<string, agent_ls.CodeSpan[]>, string[]

---@type table<string, string> file types by alias: other names that models use for a language
local ALIASES = {
  py = "python",
  js = "javascript",
  ts = "typescript",
  tsx = "typescriptreact",
  jsx = "javascriptreact",
  shell = "sh",
  console = "sh",
  bash = "bash",
  zsh = "zsh",
  yml = "yaml",
  rs = "rust",
  rb = "ruby",
  md = "markdown",
  ["c++"] = "cpp",
  viml = "vim",
}

---@param name string language name from a code fence, or a file type
---@return string filetype
function M.find_filetype(name)
  name = name:lower()
  return ALIASES[name] or name
end

---@param text string
---@param filetype string
---@return agent_ls.CodeSpan[]? nil without a parser
local function highlight_by_tree(text, filetype)
  local language = vim.treesitter.language.get_lang(filetype) or filetype
  local has_parser, parser = pcall(vim.treesitter.get_string_parser, text, language)
  local has_query, query = pcall(vim.treesitter.query.get, language, "highlights")
  if not has_parser or not has_query or not query then
    return nil
  end
  local out = {}
  local tree = parser:parse()[1]
  for id, node in query:iter_captures(tree:root(), text) do
    local name = query.captures[id]
    local row, col, end_row, end_col = node:range()
    if name:sub(1, 1) ~= "_" and name ~= "spell" and name ~= "nospell" and name ~= "conceal" then
      for line = row, end_row do
        out[#out + 1] = {
          row = line,
          col = line == row and col or 0,
          end_col = line == end_row and end_col or -1,
          group = ("@%s.%s"):format(name, language),
        }
      end
    end
  end
  return out
end

---@param lines string[]
---@param filetype string
---@return agent_ls.CodeSpan[]
local function highlight_by_syntax(lines, filetype)
  if #vim.api.nvim_get_runtime_file(("syntax/%s.vim"):format(filetype), false) == 0 then
    return {}
  end
  local bufnr = api.nvim_create_buf(false, true)
  api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  local out = {}
  api.nvim_buf_call(bufnr, function()
    vim.bo.syntax = filetype
    for row = 1, math.min(#lines, MAX_LINES) do
      local first, group
      for column = 1, math.min(#lines[row], MAX_COLUMNS) + 1 do
        local id = column <= #lines[row] and vim.fn.synIDtrans(vim.fn.synID(row, column, 1)) or 0
        local name = id > 0 and vim.fn.synIDattr(id, "name") or nil
        if name ~= group then
          if group then
            out[#out + 1] = { row = row - 1, col = first - 1, end_col = column - 1, group = group }
          end
          first, group = column, name
        end
      end
    end
  end)
  api.nvim_buf_delete(bufnr, { force = true })
  return out
end

---@param lines string[]
---@param filetype string
---@return agent_ls.CodeSpan[] in drawing order: later spans override earlier ones
function M.find_spans(lines, filetype)
  if filetype == "" or not filetype:match("^[%w_+-]+$") then
    return {}
  end
  local text = table.concat(lines, "\n")
  local key = filetype .. "\n" .. text
  if not memo[key] then
    local ok, found = pcall(function() return highlight_by_tree(text, filetype) or highlight_by_syntax(lines, filetype) end)
    memo[key] = ok and found or {}
    table.insert(memo_order, key)
    if #memo_order > REMEMBERED then
      memo[table.remove(memo_order, 1)] = nil
    end
  end
  return memo[key]
end

---Adds highlights to code lines that are already drawn.
---@param marks {row: integer, col: integer, opts: table}[]
---@param lines string[] the code
---@param filetype string
---@param at {row: integer, col: integer}[] position at which each line of the code begins
function M.mark(marks, lines, filetype, at)
  for _, span in ipairs(M.find_spans(lines, filetype)) do
    local place, line = at[span.row + 1], lines[span.row + 1]
    if place and line then
      local last = span.end_col < 0 and #line or math.min(span.end_col, #line)
      if last > span.col then
        marks[#marks + 1] = {
          row = place.row,
          col = place.col + span.col,
          opts = { end_col = place.col + last, hl_group = span.group },
        }
      end
    end
  end
end

return M
