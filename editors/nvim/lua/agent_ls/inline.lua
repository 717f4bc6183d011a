-- The inline prompt: a small input at the selected lines. The user requests a change and reviews it there, without the
-- panel. While the agent works, a virtual line above the selection shows its activity.
local float = require("agent_ls.float")
local input = require("agent_ls.chat.input")
local protocol = require("agent_ls.protocol")
local session = require("agent_ls.session")
local snapshot = require("agent_ls.snapshot")

local api = vim.api
local ns = api.nvim_create_namespace("agent_ls_inline")

local M = {}

local MAX_CHARACTERS = 60 -- characters of the message in the line above the selection

---@class agent_ls.InlineAsk
---@field bufnr integer
---@field mark integer extmark of the virtual line
---@field text string the instruction of the user
---@field has_begun boolean its turn has started

local asked ---@type agent_ls.InlineAsk?

---Shows the instruction and an activity in the virtual line above the selection.
---@param words string
local function show_activity(words)
  local place = asked and api.nvim_buf_is_valid(asked.bufnr) and api.nvim_buf_get_extmark_by_id(asked.bufnr, ns, asked.mark, {})
  if not asked or not place or not place[1] then
    return
  end
  local text = vim.fn.strcharpart(asked.text:gsub("%s+", " "), 0, MAX_CHARACTERS)
  local line = { { "● ", "AgentLsRunning" }, { text, "AgentLsUserMark" }, { "  " .. words, "AgentLsDim" } }
  local options = { id = asked.mark, virt_lines = { line }, virt_lines_above = place[1] > 0 }
  api.nvim_buf_set_extmark(asked.bufnr, ns, place[1], 0, options)
end

local function clear_activity()
  if asked and api.nvim_buf_is_valid(asked.bufnr) then
    api.nvim_buf_clear_namespace(asked.bufnr, ns, 0, -1)
  end
  asked = nil
end

---@param change agent_ls.Change
local function on_change(change)
  if not asked or change.session_id ~= session.current_id() then
    return
  end
  local s = session.snapshot()
  local activity = snapshot.describe_activity(s)
  if activity == "working" then
    asked.has_begun = true
    local view = require("agent_ls.chat.transcript")
    show_activity(require("agent_ls.chat.progress").describe_activity(s, view.context()))
  elseif activity == "waiting" then
    asked.has_begun = true
    show_activity("The agent waits for you: :AgentLs shows its question")
  elseif asked.has_begun or change.event and change.event.kind == "error" then
    clear_activity()
  end
end

---@param bufnr integer
---@param first integer row, from 0
---@param last integer row after the last
---@param text string
local function send(bufnr, first, last, text)
  clear_activity()
  local lines = api.nvim_buf_get_lines(bufnr, first, last, false)
  asked = { bufnr = bufnr, mark = 0, text = text, has_begun = false }
  asked.mark = api.nvim_buf_set_extmark(bufnr, ns, first, 0, {})
  show_activity("sending")
  local selected = table.concat(lines, "\n") .. "\n"
  input.submit(text, { protocol.selection_input(vim.uri_from_bufnr(bufnr), first, last, selected) }, function(has_arrived)
    if not has_arrived then
      clear_activity()
    end
  end)
end

---Lets the user write an instruction for some lines of the current buffer.
---@param first integer row, from 0
---@param last integer row after the last
function M.ask(first, last)
  local bufnr = api.nvim_get_current_buf()
  if not require("agent_ls.files").is_file(bufnr) then
    return require("agent_ls.log").notify("You can only ask about lines of a file.")
  end
  local name = vim.fs.basename(api.nvim_buf_get_name(bufnr))
  local options = {
    title = ("change %s:%d-%d"):format(name, first + 1, last),
    footer = "<C-s> sends · @ file · / command · q leaves",
    at_row = last - 1,
    insert = true,
  }
  local written = float.write({ "" }, options, function(lines)
    local text = vim.trim(table.concat(lines, "\n"))
    if text ~= "" and api.nvim_buf_is_valid(bufnr) then
      send(bufnr, first, last, text)
    end
  end)
  require("agent_ls.chat.mentions").setup(written)
end

function M.setup() session.listen(on_change) end

return M
