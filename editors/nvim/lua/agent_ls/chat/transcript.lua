-- The transcript buffer. Draws the items of a snapshot, each as one block of lines; an update rewrites only changed
-- lines. Does not depend on windows or sessions.
local log = require("agent_ls.log")
local render = require("agent_ls.chat.render")
local render_welcome = require("agent_ls.chat.render_welcome")
local scratch = require("agent_ls.scratch")
local welcome_data = require("agent_ls.chat.welcome")
local snapshot = require("agent_ls.snapshot")

local api = vim.api
local ns = api.nvim_create_namespace("agent_ls_transcript")
local progress_ns = api.nvim_create_namespace("agent_ls_progress")

local M = {}

---@class agent_ls.Block
---@field gap integer empty lines before it: 0 or 1
---@field count integer lines, the gap included
---@field final integer number of first lines of a stream that cannot change any more
---@field fence string? fence of the code block that is open after these lines
---@field is_stream boolean
---@field is_hidden boolean another item shows its content

local bufnr ---@type integer?
local blocks = {} ---@type agent_ls.Block[]
local footer = 0 -- lines below the last block: while the agent works, an empty line and the progress line
local welcome_actions = {} ---@type table<integer, agent_ls.StartAction>
local expanded = {} ---@type table<string, boolean>
local marked = {} ---@type table<string, table<integer, true>>
local shown ---@type agent_ls.Snapshot?
local context = { width = 80, keys = {}, relative = tostring } ---@type table

---Number of buffer lines that the last update wrote. Tests check that the cost of an update does not depend on
---earlier text.
M.lines_written = 0

---@return integer
function M.buffer()
  if bufnr and api.nvim_buf_is_loaded(bufnr) then
    return bufnr
  end
  -- For render-markdown.nvim, which a user may configure to draw this filetype too.
  vim.treesitter.language.register("markdown", "agent_ls_transcript")
  bufnr = scratch.make("agent-ls://transcript", "agent_ls_transcript")
  local options = vim.bo[bufnr]
  options.undolevels, options.modifiable = -1, false
  -- Wrapped lines are indented to the text after a glyph or a list marker ('breakindentopt' list), also in a block with
  -- a bar at its left.
  options.formatlistpat = [[^\s*\(┃\s*\)\?\(\d\+[.)]\|[-*+>❯↪▸✓✗●✎│┃±−→·!↻☐▶◆◇≡⋯↶]\)\s\+]]
  blocks, shown, footer = {}, nil, 0
  return bufnr
end

---Replaces lines of the buffer, which is otherwise not modifiable.
---@param first integer
---@param last integer
---@param lines string[]
local function set_lines(first, last, lines)
  local buf = M.buffer()
  vim.bo[buf].modifiable = true
  api.nvim_buf_set_lines(buf, first, last, false, lines)
  vim.bo[buf].modifiable = false
  M.lines_written = M.lines_written + #lines
end

---@param row integer
---@param rendered agent_ls.Rendered
local function set_marks(row, rendered)
  for _, mark in ipairs(rendered.marks) do
    api.nvim_buf_set_extmark(M.buffer(), ns, row + mark.row, mark.col, mark.opts)
  end
end

---@return agent_ls.RenderContext
local function render_context()
  context.expanded, context.marked, context.hunks = expanded, marked, shown and shown.hunks or {}
  context.agents = shown and shown.agents or {}
  context.failure = shown and shown.failure
  context.read_only = shown ~= nil and snapshot.is_read_only(shown)
  return context
end

---@param index integer
---@return integer row of the block's first line
local function row_of(index)
  -- Add up the block heights from the end, because most changes are near the end.
  local below = 0
  for i = index, #blocks do
    below = below + blocks[i].count
  end
  return api.nvim_buf_line_count(M.buffer()) - footer - below
end

---Guarded, so that an item that fails to render does not prevent the display of the others.
local render_item = log.guard("showing an entry", render.render_item)
local UNREADABLE = { lines = { "! this entry cannot be displayed" }, marks = {} } ---@type agent_ls.Rendered

---Renders an item. For a stream, omits the first lines, which cannot change any more.
---@param item agent_ls.Item
---@param block agent_ls.Block
---@return agent_ls.Rendered without the first `kept` lines
---@return integer kept number of lines at the start of the block that do not change
local function draw(item, block)
  local ctx = render_context()
  if not render.is_stream(item, ctx) then
    block.is_stream, block.final, block.fence = false, 0, nil
    return render_item(item, ctx) or UNREADABLE, 0
  end
  local part = item.part --[[@as agent_ls.Part]]
  -- When a part has ended, draw all of its lines, because its end event may contain text that the deltas lack.
  local goes_on = block.is_stream and part.open
  local kept = goes_on and block.final or 0
  local fence = goes_on and block.fence or nil
  local rendered, last_fence = render.render_stream(part, kept + 1, fence, item.kind == "reasoning", ctx.width)
  block.is_stream, block.final, block.fence = true, kept + #rendered.lines - 1, last_fence
  return rendered, kept
end

---@param old string[]
---@param new string[]
---@return integer prefix, integer suffix numbers of equal lines at the beginning and the end
local function count_common(old, new)
  local most = math.min(#old, #new)
  local prefix, suffix = 0, 0
  while prefix < most and old[prefix + 1] == new[prefix + 1] do
    prefix = prefix + 1
  end
  while suffix < most - prefix and old[#old - suffix] == new[#new - suffix] do
    suffix = suffix + 1
  end
  return prefix, suffix
end

---@param index integer
---@return integer 0 or 1 empty lines before the item
local function gap_before(index)
  local ctx = render_context()
  if render.is_hidden(shown.items[index], ctx) then
    return 0
  end
  local before = index - 1
  while before > 0 and render.is_hidden(shown.items[before], ctx) do
    before = before - 1
  end
  return render.has_gap(shown.items[before], shown.items[index]) and 1 or 0
end

local redraw ---@type fun(index: integer)

---Redraws the next visible item, because the empty line before it may have to be added or removed.
---@param index integer
local function redraw_next(index)
  local ctx = render_context()
  for i = index + 1, #blocks do
    if not render.is_hidden(shown.items[i], ctx) then
      return redraw(i)
    end
  end
end

function redraw(index)
  local block = blocks[index]
  local was_hidden = block.is_hidden
  block.is_hidden = render.is_hidden(shown.items[index], render_context())
  local top = row_of(index)
  local last = top + block.count
  local rendered, kept = draw(shown.items[index], block)
  if kept > 0 then
    top = top + block.gap + kept
  else
    block.gap = gap_before(index)
  end
  local gap = kept > 0 and 0 or block.gap
  local lines = vim.list_extend(gap == 1 and { "" } or {}, rendered.lines)
  local prefix, suffix = count_common(api.nvim_buf_get_lines(M.buffer(), top, last, false), lines)
  api.nvim_buf_clear_namespace(M.buffer(), ns, top, last)
  if prefix + suffix < math.max(last - top, #lines) then
    set_lines(top + prefix, last - suffix, vim.list_slice(lines, prefix + 1, #lines - suffix))
  end
  set_marks(top + gap, rendered)
  block.count = block.gap + kept + #rendered.lines
  if was_hidden ~= block.is_hidden then
    redraw_next(index)
  end
end

---Adds the items that have no block yet.
---@param from integer index of the first item that has no block yet
local function append(from)
  local lines, drawn = {}, {}
  local bottom = api.nvim_buf_line_count(M.buffer()) - footer
  local first = from == 1 and 0 or bottom
  for i = from, #shown.items do
    local is_hidden = render.is_hidden(shown.items[i], render_context())
    local block = { gap = gap_before(i), count = 0, final = 0, is_stream = false, is_hidden = is_hidden }
    blocks[i] = block
    local rendered = draw(shown.items[i], block)
    block.count = block.gap + #rendered.lines
    if block.gap == 1 then
      lines[#lines + 1] = ""
    end
    drawn[#drawn + 1] = { row = first + #lines, rendered = rendered }
    vim.list_extend(lines, rendered.lines)
  end
  -- The first block replaces the welcome text, or the empty line of a new buffer.
  api.nvim_buf_clear_namespace(M.buffer(), ns, first, -1)
  set_lines(first, bottom, lines)
  for _, one in ipairs(drawn) do
    set_marks(one.row, one.rendered)
  end
end

local function draw_all()
  M.show_progress(nil)
  blocks = {}
  api.nvim_buf_clear_namespace(M.buffer(), ns, 0, -1)
  if #shown.items > 0 then
    return append(1)
  end
  local welcome
  welcome, welcome_actions = render_welcome.render_welcome(render_context(), welcome_data.results())
  set_lines(0, -1, welcome.lines)
  set_marks(0, welcome)
end

---Redraws the welcome text after its data has changed.
function M.refresh_welcome()
  if shown and #shown.items == 0 then
    draw_all()
  end
end

---@param row integer from 0
---@return agent_ls.StartAction? the action of the welcome text on that row
function M.welcome_action_at(row) return shown and #shown.items == 0 and welcome_actions[row] or nil end

---Updates the buffer. Redraws everything if `s` is a different snapshot than before, else only the changed items.
---@param s agent_ls.Snapshot
function M.update(s)
  M.lines_written = 0
  local touched = snapshot.take_changed(s)
  if shown ~= s or #blocks > #s.items or vim.tbl_isempty(blocks) then
    shown = s
    return draw_all()
  end
  for _, index in ipairs(touched) do
    if index <= #blocks then
      redraw(index)
    end
  end
  if #s.items > #blocks then
    append(#blocks + 1)
  end
end

---Sets the width and the keys of the panel. Redraws everything if they have changed.
---@param options {width: integer, keys: table, relative: fun(path: string): string}
function M.configure(options)
  local changed = context.width ~= options.width or context.keys ~= options.keys
  context = vim.tbl_extend("force", context, options)
  if changed and shown then
    draw_all()
  end
end

---Shows the progress line below the last item, or removes it.
---@param chunks table[]? of virtual text; nil removes it
function M.show_progress(chunks)
  local buf = M.buffer()
  local wanted = chunks and #blocks > 0 and 2 or 0
  if wanted ~= footer then
    local bottom = api.nvim_buf_line_count(buf) - footer
    set_lines(bottom, -1, wanted > 0 and { "", "" } or {})
    footer = wanted
  end
  api.nvim_buf_clear_namespace(buf, progress_ns, 0, -1)
  if wanted > 0 then
    local mark = { virt_text = chunks, virt_text_pos = "overlay" }
    api.nvim_buf_set_extmark(buf, progress_ns, api.nvim_buf_line_count(buf) - 1, 0, mark)
  end
end

---Updates the progress line if there is one.
---@param chunks table[] of virtual text
function M.refresh_progress(chunks)
  if footer > 0 then
    M.show_progress(chunks)
  end
end

---@return boolean no item is shown
function M.is_empty() return #blocks == 0 end

---The context with which items are drawn.
---@return agent_ls.RenderContext
M.context = render_context

---@param row integer from 0
---@return agent_ls.Item?
function M.item_at(row)
  local bottom = api.nvim_buf_line_count(M.buffer()) - footer
  for i = #blocks, 1, -1 do
    local top = bottom - blocks[i].count
    if row >= top then
      return shown.items[i]
    end
    bottom = top
  end
end

---By item kind: an item's expansion state after the toggle key is pressed. nil: initial, true: expanded, false:
---collapsed.
---@type table<string, fun(now: boolean?): boolean?>
local NEXT = {
  -- A change initially shows its changed lines. The key switches to the whole diff, then to no diff, then back to
  -- the changed lines.
  file = function(now)
    if now == nil then
      return true
    elseif now then
      return false
    end
    return nil
  end,
  tool = function(now) return not now or nil end,
}
NEXT.reasoning, NEXT.approval, NEXT.subagent, NEXT.compaction, NEXT.user = NEXT.tool, NEXT.tool, NEXT.tool, NEXT.tool, NEXT.tool

---Redraws the items hidden in a subagent's entry, and the item directly after it.
---@param agent_id string
local function redraw_agent(agent_id)
  local was_its = false
  for index, item in ipairs(shown.items) do
    if item.agent_id == agent_id or was_its then
      redraw(index)
    end
    was_its = item.agent_id == agent_id
  end
end

---Expands or collapses the row of a group of calls.
---@param head agent_ls.Item the first of the group
local function toggle_group(head)
  local id = "group:" .. head.id
  expanded[id] = not expanded[id] or nil
  for _, item in ipairs(head.group) do
    redraw(item.index)
  end
  if shown.items[head.group[#head.group].index + 1] then
    redraw(head.group[#head.group].index + 1) -- the empty line before it may have to be added or removed
  end
end

---Expands or collapses an item, such as the output of a call, the reasoning, or the diff of a change.
---@param item agent_ls.Item
---@param line integer of the item, from 0
function M.toggle(item, line)
  if render.is_group_row(item) and (line == 0 or not expanded["group:" .. item.id]) then
    return toggle_group(item)
  end
  if NEXT[item.kind] then
    expanded[item.id] = NEXT[item.kind](expanded[item.id])
    redraw(item.index)
    if item.kind == "subagent" then
      redraw_agent(item.id)
    end
  end
end

---Marks or unmarks a choice of a question that allows several choices.
---@param item agent_ls.Item
---@param choice integer
function M.mark(item, choice)
  local of_item = marked[item.id] or {}
  marked[item.id] = of_item
  of_item[choice] = not of_item[choice] or nil
  redraw(item.index)
end

---@param item agent_ls.Item
---@return string[] the choices that are marked
function M.marked_choices(item)
  local out = {}
  for i, choice in ipairs(item.choices or {}) do
    if (marked[item.id] or {})[i] then
      out[#out + 1] = choice
    end
  end
  return out
end

---@param item agent_ls.Item
---@return boolean the item has lines; a new item has none before the next frame
function M.is_drawn(item) return blocks[item.index] ~= nil and shown ~= nil and shown.items[item.index] == item end

---Returns the row of an item's first line. The item must be drawn.
---@param item agent_ls.Item
---@return integer
function M.find_row(item) return row_of(item.index) + blocks[item.index].gap end

return M
