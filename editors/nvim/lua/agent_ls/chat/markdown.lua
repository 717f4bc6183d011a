-- Highlights markdown line by line, so that a streamed update only processes its new lines. Pure. Marks are {
-- col, opts } with the options of nvim_buf_set_extmark. A link to a web page is replaced by its label, and its
-- mark contains the address. The address is not concealed instead, because Neovim counts concealed columns when
-- it wraps a line, which would leave empty rows. All other text is kept.
local M = {}

---@alias agent_ls.LineMark {col: integer, opts: table}

---@param marks agent_ls.LineMark[]
local function span(marks, first, last, group)
  marks[#marks + 1] = { col = first, opts = { end_col = last, hl_group = group } }
end

---@param marks agent_ls.LineMark[]
local function hide(marks, first, last)
  marks[#marks + 1] = { col = first, opts = { end_col = last, conceal = "" } }
end

---Delimiters of inline markup. The first match wins, so that markup inside code is ignored.
local INLINE = {
  { pattern = "()%[()[^%[%]]+()%]%([^()%s]+%)()", group = "AgentLsLink" },
  { pattern = "()`()[^`]+()`()", group = "AgentLsInlineCode" },
  { pattern = "()%*%*()[^%s*].-()%*%*()", group = "AgentLsStrong" },
  { pattern = "()%*()[^%s*][^*]-()%*()", group = "AgentLsEmphasis" },
}

---Addresses of links. They must be printable ASCII, because Neovim writes them to the terminal in an escape sequence.
local PAGE = "^https?://[\33-\126]+$"

---Adds marks for the inline markup of a line.
---@param line string
---@param marks agent_ls.LineMark[]
---@return string line without the addresses of links to web pages
local function inline(line, marks)
  local at, text = 1, ""
  while true do
    local best ---@type {[1]: integer, [2]: integer, [3]: integer, [4]: integer, group: string}?
    for _, rule in ipairs(INLINE) do
      local open, first, close, after = line:match(rule.pattern, at)
      if open and (not best or open < best[1]) then
        best = { open, first, close, after, group = rule.group }
      end
    end
    if not best then
      return text .. line:sub(at)
    end
    local open, first, close, after = best[1], best[2], best[3], best[4]
    text = text .. line:sub(at, open - 1)
    local address = best.group == "AgentLsLink" and line:sub(close + 2, after - 2) or ""
    local from = #text
    if address:match(PAGE) then
      text = text .. line:sub(first, close - 1)
      local opts = { end_col = #text, hl_group = best.group, url = address }
      marks[#marks + 1] = { col = from, opts = opts }
    else
      text = text .. line:sub(open, after - 1)
      hide(marks, from, from + first - open)
      span(marks, from + first - open, from + close - open, best.group)
      hide(marks, from + close - open, #text)
    end
    at = after
  end
end

---@param line string
---@return string? fence the backticks or tildes that open or close a code block
local function fence_of(line) return line:match("^%s*(```+)") or line:match("^%s*(~~~+)") end

---Whether the line closes the code block that `fence` has opened.
---@param line string
---@param fence string
local function closes_fence(line, fence)
  local own = fence_of(line)
  return own and own:sub(1, 1) == fence:sub(1, 1) and #own >= #fence and vim.trim(line) == own
end

---@param line string
---@param fence string? the fence of the code block that this line is in
---@return agent_ls.LineMark[] marks
---@return string? fence of the code block that the next line is in
---@return string text to show
function M.render_line(line, fence)
  local marks = {} ---@type agent_ls.LineMark[]
  local own = fence_of(line)
  if fence or own then
    marks[1] = { col = 0, opts = { line_hl_group = "AgentLsCode" } }
  end
  if fence then
    if not closes_fence(line, fence) then
      return marks, fence, line
    end
    hide(marks, 0, #line)
    return marks, nil, line
  end
  if own then
    local from = assert(line:find(own, 1, true)) - 1
    hide(marks, from, from + #own)
    span(marks, from + #own, #line, "AgentLsDim")
    return marks, own, line
  end
  local hashes = line:match("^#+ +")
  if hashes then
    hide(marks, 0, #hashes)
    span(marks, #hashes, #line, "AgentLsHeading")
    return marks, nil, line
  end
  local task_indent, done = line:match("^(%s*)[-*+] %[([ xX])%] ")
  local indent = line:match("^(%s*)[-*+] ")
  if task_indent then
    local is_done = done ~= " "
    local box = { is_done and "☑" or "☐", is_done and "AgentLsDone" or "AgentLsKey" }
    hide(marks, #task_indent, #task_indent + 2)
    hide(marks, #task_indent + 3, #task_indent + 5)
    marks[#marks + 1] = { col = #task_indent + 2, opts = { virt_text = { box }, virt_text_pos = "overlay" } }
  elseif indent then
    marks[1] =
      { col = #indent, opts = { virt_text = { { "•", "AgentLsKey" } }, virt_text_pos = "overlay" } }
  end
  local text = inline(line, marks)
  if not indent and line:match("^%s*>") then
    span(marks, 0, #text, "AgentLsDim") -- must follow `inline`, which shortens the text
  end
  return marks, nil, text
end

---@return boolean render-markdown.nvim draws the transcript, so this plugin must not
function M.is_drawn_elsewhere()
  local state = package.loaded["render-markdown.state"]
  local types = state and state.file_types
  return type(types) == "table" and vim.list_contains(types, "agent_ls_transcript")
end

---@param text string
---@return integer columns on screen, without the concealed delimiters of inline markup
local function shown_width(text)
  local bare = text:gsub("`([^`]+)`", "%1"):gsub("%*%*([^*]+)%*%*", "%1"):gsub("%[([^%[%]]+)%]%([^()%s]+%)", "%1")
  return vim.api.nvim_strwidth(bare)
end

---@param line string
---@return {first: integer, last: integer, width: integer}[]? cells of a table row; nil if the line is not one
local function cells_of(line)
  if not line:match("^%s*|.*|%s*$") then
    return nil
  end
  local out, at = {}, assert(line:find("|", 1, true)) + 1
  for cell, bar in line:sub(at):gmatch("([^|]*)()|") do
    local first = at + bar - 1 - #cell
    out[#out + 1] = { first = first - 1, last = first - 1 + #cell, width = shown_width(cell) }
  end
  return out
end

---@param rows table[] cells by line
---@param first integer
---@param last integer
---@return integer columns of the aligned table
---@return integer[] widths
local function measure(rows, first, last)
  local widths = {}
  for i = first, last do
    for column, cell in ipairs(rows[i]) do
      widths[column] = math.max(widths[column] or 0, cell.width)
    end
  end
  local whole = #widths + 1
  vim.iter(widths):each(function(each) whole = whole + each end)
  return whole, widths
end

local RULE = "^[%s|:-]+$"

---Calls `found` with each table of a text that has a header and a rule.
---@param lines string[]
---@param found fun(first: integer, last: integer, rows: table[])
local function each_table(lines, found)
  local rows, fence, first = {}, nil, nil ---@type table[], string?, integer?
  for i = 1, #lines + 1 do
    local line = lines[i]
    rows[i] = line and not fence and cells_of(line) or nil
    if rows[i] then
      first = first or i
    elseif first then
      if i - first >= 2 and lines[first + 1]:match(RULE) then
        found(first, i - 1, rows)
      end
      first = nil
    end
    if line and fence and closes_fence(line, fence) then
      fence = nil
    elseif line and not fence then
      fence = fence_of(line)
    end
  end
end

---@param line string of a table
---@return string[] texts of its cells
local function texts_of(line)
  line = line:gsub("\\|", "\1")
  local out = {}
  for column, cell in ipairs(cells_of(line) or {}) do
    out[column] = vim.trim(line:sub(cell.first + 1, cell.last)):gsub("\1", "|")
  end
  return out
end

---Makes a list of each row of a table: the first cell, and the others with the names of their columns.
---@param lines string[]
---@param first integer
---@param last integer
---@return string[]
local function list_rows(lines, first, last)
  local names, out = texts_of(lines[first]), {}
  for i = first + 2, last do
    local texts = texts_of(lines[i])
    local is_plain = texts[1] and texts[1] ~= "" and not texts[1]:find("[*`%[]")
    out[#out + 1] = is_plain and ("**%s**"):format(texts[1]) or texts[1] or ""
    for column = 2, #texts do
      local name = names[column] or ""
      if texts[column] ~= "" then
        out[#out + 1] = name == "" and "- " .. texts[column] or ("- %s: %s"):format(name, texts[column])
      end
    end
  end
  return out
end

---Replaces the tables that are wider than the panel by lists: their wrapped rows cannot be read.
---@param lines string[] of a complete text
---@param width integer available columns
---@return string[]
function M.unfold_tables(lines, width)
  local out, done = {}, 0
  each_table(lines, function(first, last, rows)
    if last - first >= 2 and measure(rows, first, last) > width then
      vim.list_extend(out, lines, done + 1, first - 1)
      vim.list_extend(out, list_rows(lines, first, last))
      done = last
    end
  end)
  return done == 0 and lines or vim.list_extend(out, lines, done + 1)
end

---Marks the header, the rule and the bars of a table, and aligns its columns if it fits the width.
---@param lines string[]
---@param first integer
---@param last integer
---@param rows table[] cells by line
---@param width integer available columns
---@param add fun(line: integer, mark: agent_ls.LineMark)
local function align(lines, first, last, rows, width, add)
  local whole, widths = measure(rows, first, last)
  local fits = whole <= width -- a header alone, which has no rows to list
  for i = first, last do
    local is_rule = lines[i]:match(RULE) ~= nil
    if is_rule then
      add(i, { col = 0, opts = { end_col = #lines[i], hl_group = "AgentLsDim" } })
    end
    for column, cell in ipairs(rows[i]) do
      local room = widths[column] - cell.width
      if fits and room > 0 then
        local fill = { (is_rule and "-" or " "):rep(room), "AgentLsDim" }
        local trailing = is_rule and #lines[i]:sub(cell.first + 1, cell.last):match("%s*$") or 0
        add(i, { col = cell.last - trailing, opts = { virt_text = { fill }, virt_text_pos = "inline" } })
      end
      if i == first then
        add(i, { col = cell.first, opts = { end_col = cell.last, hl_group = "AgentLsStrong" } })
      end
    end
    for at in lines[i]:gmatch("()|") do
      add(i, { col = at - 1, opts = { end_col = at, hl_group = "AgentLsDim" } })
    end
  end
end

---Finds the tables and code blocks of a complete text. Aligns the columns of tables by virtual spaces, and passes code
---blocks to `add_code`.
---@param lines string[]
---@param width integer available columns
---@param add fun(line: integer, mark: agent_ls.LineMark) `line` counts from 1
---@param add_code fun(first: integer, last: integer, language: string) lines of a block, without its fences
function M.render_blocks(lines, width, add, add_code)
  each_table(lines, function(first, last, rows) align(lines, first, last, rows, width, add) end)
  local fence, language, began ---@type string?, string?, integer?
  for i, line in ipairs(lines) do
    if fence and closes_fence(line, fence) then
      if i > began + 1 then
        add_code(began + 1, i - 1, assert(language))
      end
      fence = nil
    elseif not fence and fence_of(line) then
      fence, began = fence_of(line), i
      language = line:match("^%s*[`~]+%s*([%w_+-]*)")
    end
  end
end

return M
