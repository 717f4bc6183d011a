-- Builds lines with highlights, and makes the output of programs safe to display. Pure.
local M = {}

---@class agent_ls.Rendered
---@field lines string[]
---@field marks {row: integer, col: integer, opts: table}[] extmarks; `row` is an index of `lines`, from 0

---@class agent_ls.RenderContext
---@field width integer columns of the panel
---@field expanded table<string, boolean> by item id: whether the user has expanded or collapsed the item
---@field marked table<string, table<integer, true>> by question id: indexes of the marked choices
---@field agents table<string, agent_ls.Item> the subagents, by id
---@field hunks table<string, agent_ls.Hunk>
---@field keys table<string, string|false>
---@field failure agent_ls.Item? the newest error that the user can act on
---@field elapsed (fun(item: agent_ls.Item): string?)? returns how long a call has been running
---@field read_only boolean? another process owns the session, and its user answers requests
---@field relative fun(path: string): string

---@alias agent_ls.Chunk {[1]: string, [2]: string?}

---@class agent_ls.Canvas: agent_ls.Rendered
local Canvas = {}
Canvas.__index = Canvas

---@return agent_ls.Canvas
function M.new() return setmetatable({ lines = {}, marks = {} }, Canvas) end

local BAR = "┃"

---Adds a line of chunks, each a text and its highlight group. A bar at the left is repeated where the window wraps the
---line.
---@param chunks agent_ls.Chunk[]
---@param opts table? options of an extmark at the start of the line
function Canvas:add(chunks, opts)
  local row, text = #self.lines, ""
  if chunks[1] and vim.startswith(chunks[1][1], BAR) then
    local bar = { virt_text = { { BAR, chunks[1][2] } }, virt_text_pos = "overlay", virt_text_repeat_linebreak = true }
    self.marks[#self.marks + 1] = { row = row, col = 0, opts = bar }
  end
  for _, chunk in ipairs(chunks) do
    local piece = chunk[1]:gsub("\n", " ")
    if chunk[2] and piece ~= "" then
      local mark = { row = row, col = #text, opts = { end_col = #text + #piece, hl_group = chunk[2] } }
      self.marks[#self.marks + 1] = mark
    end
    text = text .. piece
  end
  self.lines[row + 1] = text
  if opts then
    self.marks[#self.marks + 1] = { row = row, col = 0, opts = opts }
  end
end

---@param text string
---@param columns integer
---@return string the beginning of the text that has at most this width on screen
local function beginning(text, columns) return vim.fn.printf("%.*S", columns, text) end

---Breaks a line at spaces into parts of at most `columns`, so that the caller can put a prefix before each part.
---@param line string
---@param columns integer
---@return string[] parts; their concatenation is the line
function M.wrap(line, columns)
  local out, current = {}, ""
  for word, spaces in line:gmatch("(%S*)(%s*)") do
    if current ~= "" and vim.api.nvim_strwidth(current .. word .. spaces) > columns then
      out[#out + 1], current = current, ""
    end
    while vim.api.nvim_strwidth(word) > columns do
      local part = beginning(word, columns)
      out[#out + 1], word = part, word:sub(#part + 1)
    end
    current = current .. word .. spaces
  end
  out[#out + 1] = current ~= "" and current or #out == 0 and "" or nil
  return out
end

---@param line string output of a program
---@return string without escape sequences, and without text before the last carriage return
function M.plain_line(line)
  line = line:gsub("\27%[[%d;:?<=>]*[ -/]*[@-~]", ""):gsub("\27[%]PX^_][^\7\27]*\7?", "")
  line = line:gsub("\27[ -/]+[0-~]", ""):gsub("\27.", "")
  line = line:gsub("\r+$", ""):gsub("^.*\r", "")
  return (line:gsub("[%z\1-\8\11-\31]", ""))
end

---Joins the lines of a text and truncates it to `columns`.
---@param text string
---@param columns integer
function M.shorten(text, columns)
  text = M.plain_line((text:gsub("\n", " ")))
  if vim.api.nvim_strwidth(text) <= columns then
    return text
  end
  return beginning(text, math.max(1, columns - 1)) .. "…"
end

---Truncates a path to `columns`: first folders at its beginning, then the middle of the file's name. What follows the
---name, such as a range of lines, stays.
---@param path string
---@param columns integer
function M.shorten_path(path, columns)
  path = M.plain_line(path)
  if vim.api.nvim_strwidth(path) <= columns then
    return path
  end
  for at in path:gmatch("()/") do
    if vim.api.nvim_strwidth(path:sub(at)) < columns then
      return "…" .. path:sub(at)
    end
  end
  local name = path:match("[^/]*$")
  local from = vim.fn.strchars(name)
  while vim.api.nvim_strwidth(vim.fn.strcharpart(name, from - 1)) <= columns / 2 do
    from = from - 1
  end
  local ending = vim.fn.strcharpart(name, from)
  return beginning(name, math.max(1, columns - 1 - vim.api.nvim_strwidth(ending))) .. "…" .. ending
end

---Returns extmark options for virtual text after the end of a line, truncated to `room` columns; nil if it does
---not fit.
---@param text string
---@param group string
---@param room integer columns
---@return table?
local function at_end(text, group, room)
  if text == "" or room < 6 then
    return nil
  end
  return {
    virt_text = { { "  " .. M.shorten(text, room - 2), group } },
    virt_text_pos = "eol",
    hl_mode = "combine",
  }
end

---Adds a virtual text after the end of the last line, if there is room.
---@param text string
---@param group string
---@param width integer columns of the panel
function Canvas:add_end(text, group, width)
  local row = #self.lines
  local opts = at_end(text, group, width - vim.api.nvim_strwidth(self.lines[row]) - 1)
  if opts then
    self.marks[#self.marks + 1] = { row = row - 1, col = 0, opts = opts }
  end
end

---@param part agent_ls.Part
---@return integer number of lines without the empty ones at the end
function M.line_count(part)
  local count = #part.lines
  while count > 0 and part.lines[count]:match("^%s*$") do
    count = count - 1
  end
  return count
end

---@param count integer
---@param word string
function M.format_count(count, word) return ("%d %s%s"):format(count, word, count == 1 and "" or "s") end

return M
