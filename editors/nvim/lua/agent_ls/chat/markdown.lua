-- Highlights for one line of markdown at a time, so that a stream costs what its new lines cost. Pure.
-- Marks are { col, opts } with the options of nvim_buf_set_extmark; the text itself is never changed.
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

---Pairs of delimiters, the first one to match wins: what is in code is not looked at again.
local INLINE = {
  { pattern = "()`()[^`]+()`()", group = "AgentLsInlineCode" },
  { pattern = "()%*%*()[^%s*].-()%*%*()", group = "AgentLsStrong" },
  { pattern = "()%*()[^%s*][^*]-()%*()", group = "AgentLsEmphasis" },
}

---@param line string
---@param marks agent_ls.LineMark[]
local function inline(line, marks)
  local at = 1
  while true do
    local best ---@type {[1]: integer, [2]: integer, [3]: integer, [4]: integer, group: string}?
    for _, rule in ipairs(INLINE) do
      local open, first, close, after = line:match(rule.pattern, at)
      if open and (not best or open < best[1]) then
        best = { open, first, close, after, group = rule.group }
      end
    end
    if not best then
      return
    end
    hide(marks, best[1] - 1, best[2] - 1)
    span(marks, best[2] - 1, best[3] - 1, best.group)
    hide(marks, best[3] - 1, best[4] - 1)
    at = best[4]
  end
end

---@param line string
---@return string? fence the run of backticks or tildes that opens or closes a block
local function fence_of(line) return line:match("^%s*(```+)") or line:match("^%s*(~~~+)") end

---@param line string
---@param fence string
local function closes(line, fence)
  local own = fence_of(line)
  return own and own:sub(1, 1) == fence:sub(1, 1) and #own >= #fence and vim.trim(line) == own
end

---@param line string
---@param fence string? the fence of the code block that this line is in
---@return agent_ls.LineMark[] marks
---@return string? fence for the next line
function M.line(line, fence)
  local marks = {} ---@type agent_ls.LineMark[]
  local own = fence_of(line)
  if fence or own then
    marks[1] = { col = 0, opts = { line_hl_group = "AgentLsCode" } }
  end
  if fence then
    if not closes(line, fence) then
      return marks, fence
    end
    hide(marks, 0, #line)
    return marks, nil
  end
  if own then
    local from = assert(line:find(own, 1, true)) - 1
    hide(marks, from, from + #own)
    span(marks, from + #own, #line, "AgentLsDim")
    return marks, own
  end
  local hashes = line:match("^#+ +")
  if hashes then
    hide(marks, 0, #hashes)
    span(marks, #hashes, #line, "AgentLsHeading")
    return marks, nil
  end
  local indent = line:match("^(%s*)[-*+] ")
  if indent then
    marks[1] =
      { col = #indent, opts = { virt_text = { { "•", "AgentLsKey" } }, virt_text_pos = "overlay" } }
  elseif line:match("^%s*>") then
    span(marks, 0, #line, "AgentLsDim")
  end
  inline(line, marks)
  return marks, nil
end

return M
