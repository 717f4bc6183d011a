-- Handles workspace/applyEdit in place of Neovim's own handler, which has two faults: it answers `applied: true` for an
-- edit that it has dropped as stale, and in Insert mode it joins an edit and the typing around it in one undo step.
local files = require("agent_ls.files")

local M = {}

local api = vim.api

---Returns the position of a character after disjoint LSP text edits. All columns are in bytes. Pure.
---@param row integer from 0
---@param col integer bytes
---@param edits lsp.TextEdit[]
---@return integer row
---@return integer col
function M.shift_position(row, col, edits)
  local sorted = vim.list_slice(edits)
  table.sort(sorted, function(a, b) return a.range.start.line > b.range.start.line end)
  for _, edit in ipairs(sorted) do
    local from, to = edit.range.start, edit.range["end"]
    local text = vim.split(edit.newText, "\n", { plain = true })
    local last = from.line + #text - 1
    local after = row > to.line or (row == to.line and col >= to.character)
    if after then
      if row == to.line then
        col = col - to.character + #text[#text] + (#text == 1 and from.character or 0)
      end
      row = row - to.line + last
    elseif row > from.line or (row == from.line and col > from.character) then
      -- The position is inside replaced text: keep its line distance from the start of that text.
      row = math.min(row, math.max(from.line, to.character == 0 and last - 1 or last))
    end
  end
  return row, col
end

---@param bufnr integer
---@return table<integer, table> views by window
local function save_views(bufnr)
  local out = {}
  for _, win in ipairs(vim.fn.win_findbuf(bufnr)) do
    out[win] = api.nvim_win_call(win, vim.fn.winsaveview)
  end
  return out
end

---Restores the windows' views, shifted to where the edits moved them.
---@param bufnr integer
---@param before table<integer, table>
---@param edits lsp.TextEdit[]
local function restore_views(bufnr, before, edits)
  local count = api.nvim_buf_line_count(bufnr)
  for win, view in pairs(before) do
    local row, col = M.shift_position(view.lnum - 1, view.col, edits)
    local top = M.shift_position(view.topline - 1, 0, edits)
    view.lnum, view.col = math.min(row + 1, count), col
    view.topline = math.max(1, math.min(top + 1, view.lnum))
    api.nvim_win_call(win, function() vim.fn.winrestview(view) end)
  end
end

---@param bufnr integer
---@return integer[]? row and column at which the selection in this buffer starts; nil without a selection
local function selection_start(bufnr)
  local is_visual = api.nvim_get_mode().mode:match("^[vV\22]")
  if is_visual and api.nvim_get_current_buf() == bufnr then
    local position = vim.fn.getpos("v")
    return { position[2] - 1, position[3] - 1 }
  end
end

---Shifts the selection's start to where the edits moved it. Neovim shifts only the cursor.
---@param start integer[]?
---@param edits lsp.TextEdit[]
local function restore_selection(start, edits)
  if not start then
    return
  end
  local cursor = api.nvim_win_get_cursor(0)
  local row, col = M.shift_position(start[1], start[2], edits)
  vim.cmd("normal! o")
  api.nvim_win_set_cursor(0, { math.min(row + 1, api.nvim_buf_line_count(0)), col })
  vim.cmd("normal! o")
  api.nvim_win_set_cursor(0, cursor)
end

---Closes the buffer's open undo step by setting 'undolevels', even to the same value (:help undo-break).
---@param bufnr integer
local function break_undo(bufnr) vim.bo[bufnr].undolevels = vim.bo[bufnr].undolevels end

---@param bufnr integer
---@param position lsp.Position
---@param encoding "utf-8"|"utf-16"|"utf-32"
---@return integer bytes
local function byte_column(bufnr, position, encoding)
  local line = api.nvim_buf_get_lines(bufnr, position.line, position.line + 1, false)[1]
  return line and vim.str_byteindex(line, encoding, position.character, false) or 0
end

local LINE_ENDS = { unix = "\n", dos = "\r\n", mac = "\r" }

---Splits a text at the line ends of the buffer's 'fileformat'. Neovim's own function would also split at a CR inside a
---line.
---@param bufnr integer
---@param text string
local function split_lines(bufnr, text)
  local line_end = LINE_ENDS[vim.bo[bufnr].fileformat]
  return vim.split(line_end == "\n" and text or text:gsub(line_end, "\n"), "\n", { plain = true })
end

---Applies one LSP text edit to the buffer.
---@param bufnr integer
---@param edit lsp.TextEdit
---@param encoding "utf-8"|"utf-16"|"utf-32"
local function apply_one(bufnr, edit, encoding)
  local from, to, count = edit.range.start, edit.range["end"], api.nvim_buf_line_count(bufnr)
  local lines = split_lines(bufnr, edit.newText)
  local first_column = byte_column(bufnr, from, encoding)
  if to.line < count then
    return api.nvim_buf_set_text(
      bufnr,
      from.line,
      first_column,
      to.line,
      byte_column(bufnr, to, encoding),
      lines
    )
  end
  -- The edit ends after the last line end of the file, where the buffer has no line.
  if lines[#lines] == "" then
    table.remove(lines)
  end
  if first_column == 0 then
    return api.nvim_buf_set_lines(bufnr, math.min(from.line, count), -1, false, lines)
  end
  api.nvim_buf_set_text(bufnr, from.line, first_column, count - 1, -1, #lines > 0 and lines or { "" })
end

---@param bufnr integer
---@param edits lsp.TextEdit[]
---@param encoding "utf-8"|"utf-16"|"utf-32"
local function apply_all(bufnr, edits, encoding)
  local order = {}
  for i, edit in ipairs(edits) do
    order[i] = { edit = edit, index = i }
  end
  -- Apply the edits from the end to the start, so that no edit shifts the position of another.
  table.sort(order, function(a, b)
    local one, other = a.edit.range.start, b.edit.range.start
    if one.line ~= other.line then
      return one.line > other.line
    end
    if one.character ~= other.character then
      return one.character > other.character
    end
    return a.index > b.index
  end)
  for _, entry in ipairs(order) do
    apply_one(bufnr, entry.edit, encoding)
  end
end

---Saves the marks a-z, because Neovim deletes the marks of replaced lines.
---@param bufnr integer
---@return table<string, integer[]> positions
local function save_marks(bufnr)
  local out = {}
  for _, mark in ipairs(vim.fn.getmarklist(bufnr)) do
    if mark.mark:match("^'%l$") then
      out[mark.mark:sub(2)] = { mark.pos[2], mark.pos[3] - 1 }
    end
  end
  return out
end

---@param bufnr integer
---@param before table<string, integer[]>
---@param edits lsp.TextEdit[]
local function restore_marks(bufnr, before, edits)
  local now, count = save_marks(bufnr), api.nvim_buf_line_count(bufnr)
  for name, position in pairs(before) do
    if not now[name] then
      local row = M.shift_position(position[1] - 1, position[2], edits)
      pcall(api.nvim_buf_set_mark, bufnr, name, math.min(row + 1, count), 0, {})
    end
  end
end

---@param bufnr integer
---@param edits lsp.TextEdit[]
---@param encoding "utf-8"|"utf-16"|"utf-32"
---@return string? problem
local function apply_to_buffer(bufnr, edits, encoding)
  local before, marks, selected = save_views(bufnr), save_marks(bufnr), selection_start(bufnr)
  break_undo(bufnr)
  local ok, err = pcall(apply_all, bufnr, edits, encoding)
  break_undo(bufnr)
  if not ok then
    return tostring(err)
  end
  restore_marks(bufnr, marks, edits)
  restore_views(bufnr, before, edits)
  restore_selection(selected, edits)
end

---Returns why a change cannot be applied; nil if it can.
---@param change lsp.TextDocumentEdit
---@return string? reason
local function find_refusal(change)
  local bufnr = files.find_loaded(change.textDocument.uri)
  if not bufnr then
    return "closed"
  end
  if not vim.bo[bufnr].modifiable then
    return "not modifiable"
  end
  local version = change.textDocument.version
  if version and version ~= vim.NIL and version ~= vim.lsp.util.buf_versions[bufnr] then
    return "stale"
  end
end

---@param edit lsp.WorkspaceEdit
---@return lsp.TextDocumentEdit[]
local function changes_of(edit)
  if edit.documentChanges then
    return edit.documentChanges
  end
  local out = {}
  for uri, edits in pairs(edit.changes or {}) do
    out[#out + 1] = { textDocument = { uri = uri }, edits = edits }
  end
  return out
end

---Applies all changes or none: checks the version of every file before it applies the first change.
---@param params lsp.ApplyWorkspaceEditParams
---@param client vim.lsp.Client
---@return lsp.ApplyWorkspaceEditResult
function M.apply_changes(params, client)
  local changes = changes_of(params.edit)
  for i, change in ipairs(changes) do
    local reason = change.kind and "resource operations are done by the server" or find_refusal(change)
    if reason then
      return { applied = false, failureReason = reason, failedChange = i - 1 }
    end
  end
  for i, change in ipairs(changes) do
    local bufnr = assert(files.find_loaded(change.textDocument.uri))
    local err = apply_to_buffer(bufnr, change.edits, client.offset_encoding)
    if err then
      return { applied = false, failureReason = err, failedChange = i - 1 }
    end
  end
  return { applied = true }
end

return M
