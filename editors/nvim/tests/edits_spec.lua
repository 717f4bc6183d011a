-- req: H4, H10
local edits = require("agent_ls.edits")
local support = require("support")

local spec = {}

---@return lsp.TextEdit
local function edit(line, column, to_line, to_column, text)
  return {
    range = {
      start = { line = line, character = column },
      ["end"] = { line = to_line, character = to_column },
    },
    newText = text,
  }
end

---@type {[1]: string, [2]: integer[], [3]: lsp.TextEdit[], [4]: integer[]}[]
local CASES = {
  { "an insertion above moves it down", { 5, 3 }, { edit(1, 0, 1, 0, "x\ny\n") }, { 7, 3 } },
  { "an insertion below leaves it", { 1, 3 }, { edit(5, 0, 5, 0, "x\n") }, { 1, 3 } },
  { "a removal above moves it up", { 5, 3 }, { edit(1, 0, 3, 0, "") }, { 3, 3 } },
  { "an edit before it on its line moves its column", { 5, 8 }, { edit(5, 2, 5, 4, "abcd") }, { 5, 10 } },
  { "an edit after it on its line leaves it", { 5, 2 }, { edit(5, 4, 5, 6, "") }, { 5, 2 } },
  {
    "inside a replaced block it stays as far below its start",
    { 5, 3 },
    { edit(4, 0, 8, 0, "a\nb\nc\nd\n") },
    { 5, 3 },
  },
  {
    "inside a block that shrinks it goes to its last line",
    { 7, 3 },
    { edit(4, 0, 8, 0, "a\nb\n") },
    { 5, 3 },
  },
  { "several edits add up", { 9, 0 }, { edit(1, 0, 2, 0, ""), edit(5, 0, 5, 0, "x\ny\n") }, { 10, 0 } },
}

for _, case in ipairs(CASES) do
  spec["a cursor: " .. case[1]] = function()
    support.same({ edits.shift_position(case[2][1], case[2][2], case[3]) }, case[4])
  end
end

---@param text string of the file, as bytes
---@return integer bufnr
local function file_buffer(text)
  local path = vim.fn.tempname()
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  local bufnr = vim.fn.bufadd(path)
  vim.fn.bufload(bufnr)
  return bufnr
end

---@param text string
---@param list lsp.TextEdit[]
---@return string text after the edits, as Neovim would send it to a server
local function applied(text, list)
  local bufnr = file_buffer(text)
  local change = { textDocument = { uri = vim.uri_from_bufnr(bufnr) }, edits = list }
  local result = edits.apply_changes({ edit = { documentChanges = { change } } }, { offset_encoding = "utf-8" })
  support.same(result, { applied = true })
  return vim.lsp._buf_get_full_text(bufnr)
end

---@type table<string, {[1]: string, [2]: lsp.TextEdit[], [3]: string}>
local TEXTS = {
  ["in the middle"] = { "a\nb\nc\n", { edit(1, 0, 2, 0, "B\nBB\n") }, "a\nB\nBB\nc\n" },
  ["appending after the last line"] = { "a\nb\n", { edit(2, 0, 2, 0, "c\nd\n") }, "a\nb\nc\nd\n" },
  ["the last lines"] = { "a\nb\nc\n", { edit(1, 0, 3, 0, "x\n") }, "a\nx\n" },
  ["removing the last lines"] = { "a\nb\nc\n", { edit(1, 0, 3, 0, "") }, "a\n" },
  ["from within a line to the end"] = { "abc\ndef\n", { edit(0, 1, 2, 0, "X\nY\n") }, "aX\nY\n" },
  ["the whole file"] = { "a\nb\n", { edit(0, 0, 2, 0, "x\ny\nz\n") }, "x\ny\nz\n" },
  ["an empty file"] = { "", { edit(0, 0, 1, 0, "x\ny\n") }, "x\ny\n" },
  ["no newline at the end"] = { "a\nb", { edit(1, 0, 1, 1, "B") }, "a\nB" },
  ["adding the newline at the end"] = { "a\nb", { edit(1, 0, 1, 1, "B\n") }, "a\nB\n" },
  ["CRLF line ends"] = { "a\r\nb\r\nc\r\n", { edit(1, 0, 2, 0, "x\r\ny\r\n") }, "a\r\nx\r\ny\r\nc\r\n" },
  ["a CR inside a line is text"] = { "a\r\nb\nc\n", { edit(0, 0, 1, 0, "x\r\n") }, "x\r\nb\nc\n" },
  ["several edits"] = {
    "a\nb\nc\nd\n",
    { edit(0, 0, 1, 0, ""), edit(2, 0, 2, 1, "C"), edit(4, 0, 4, 0, "e\n") },
    "b\nC\nd\ne\n",
  },
  ["wide characters"] = { "ä😀b\n", { edit(0, 2, 0, 6, "x") }, "äxb\n" },
}

for name, case in pairs(TEXTS) do
  spec["the text after an edit: " .. name] = function() support.same(applied(case[1], case[2]), case[3]) end
end

spec["columns are read in the server's encoding"] = function()
  local bufnr = file_buffer("😀ab\n")
  local change = { textDocument = { uri = vim.uri_from_bufnr(bufnr) }, edits = { edit(0, 2, 0, 3, "X") } }
  edits.apply_changes({ edit = { documentChanges = { change } } }, { offset_encoding = "utf-16" })
  support.same(vim.api.nvim_buf_get_lines(bufnr, 0, -1, false), { "😀Xb" })
end

spec["an edit of a file without a loaded buffer is refused"] = function()
  local change = { textDocument = { uri = "file:///nowhere/x.txt" }, edits = { edit(0, 0, 0, 0, "x") } }
  local result = edits.apply_changes({ edit = { documentChanges = { change } } }, { offset_encoding = "utf-8" })
  support.same(result, { applied = false, failureReason = "closed", failedChange = 0 })
end

spec["no buffer changes if one buffer of the edit is not modifiable"] = function()
  local open, locked = file_buffer("a\n"), file_buffer("b\n")
  vim.bo[locked].modifiable = false
  local changes = {}
  for i, bufnr in ipairs({ open, locked }) do
    changes[i] = { textDocument = { uri = vim.uri_from_bufnr(bufnr) }, edits = { edit(0, 0, 0, 0, "x") } }
  end
  local result = edits.apply_changes({ edit = { documentChanges = changes } }, { offset_encoding = "utf-8" })
  support.same(result, { applied = false, failureReason = "not modifiable", failedChange = 1 })
  support.same(vim.api.nvim_buf_get_lines(open, 0, -1, false), { "a" })
end

spec["local marks of replaced lines keep their position"] = function()
  local bufnr = file_buffer("a\nb\nc\nd\n")
  vim.api.nvim_buf_set_mark(bufnr, "a", 2, 0, {})
  vim.api.nvim_buf_set_mark(bufnr, "b", 4, 0, {})
  local change =
    { textDocument = { uri = vim.uri_from_bufnr(bufnr) }, edits = { edit(0, 0, 3, 0, "x\ny\nz\nzz\n") } }
  edits.apply_changes({ edit = { documentChanges = { change } } }, { offset_encoding = "utf-8" })
  support.same(vim.api.nvim_buf_get_mark(bufnr, "a"), { 2, 0 })
  support.same(vim.api.nvim_buf_get_mark(bufnr, "b"), { 5, 0 })
end

return spec
