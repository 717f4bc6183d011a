-- Renders one item of a snapshot as lines and highlights. Pure.
local calls = require("agent_ls.chat.render_calls")
local canvas = require("agent_ls.chat.canvas")
local changes = require("agent_ls.chat.render_changes")
local code = require("agent_ls.chat.code")
local markdown = require("agent_ls.chat.markdown")
local more = require("agent_ls.chat.render_more")
local remedies = require("agent_ls.remedies")

local cut, line_count, plain = canvas.shorten, canvas.line_count, canvas.plain_line

local M = {}

M.DIFF_LINES = changes.DIFF_LINES

---Highlights the code of a complete text and aligns its tables.
---@param out agent_ls.Canvas
---@param width integer
local function add_blocks(out, width)
  local add = function(line, mark)
    out.marks[#out.marks + 1] = { row = line - 1, col = mark.col, opts = mark.opts }
  end
  markdown.render_blocks(out.lines, width, add, function(first, last, language)
    local places = {}
    for line = first, last do
      places[#places + 1] = { row = line - 1, col = 0 }
    end
    code.mark(out.marks, vim.list_slice(out.lines, first, last), code.find_filetype(language), places)
  end)
end

---Renders a text part from line `first` on. Each input line of an open part gives one output line, so that a stream
---redraws only its last lines. Wide tables become lists when the part ends.
---@param part agent_ls.Part
---@param first integer line, from 1
---@param fence string? fence of the code block that line `first` is in
---@param is_dim boolean
---@param width integer? columns of the panel
---@return agent_ls.Rendered
---@return string? fence of the code block that the last line is in; the next delta continues there
function M.render_stream(part, first, fence, is_dim, width)
  local out = canvas.new()
  local last = part.open and #part.lines or math.max(first, line_count(part))
  local before, is_ours = fence, is_dim or not markdown.is_drawn_elsewhere()
  local is_whole = first == 1 and not part.open and not is_dim and is_ours
  local lines = part.lines
  if is_whole then
    lines = markdown.unfold_tables(vim.list_slice(lines, 1, last), width or math.huge)
    last = #lines
  end
  for i = first, last do
    local line = lines[i] or ""
    before = fence
    local marks, text
    if is_dim then
      marks = { { col = 0, opts = { end_col = #line, hl_group = "AgentLsDim" } } }
    else
      marks, fence, text = markdown.render_line(line, fence)
    end
    for _, mark in ipairs(is_ours and marks or {}) do
      out.marks[#out.marks + 1] = { row = #out.lines, col = mark.col, opts = mark.opts }
    end
    out.lines[#out.lines + 1] = is_ours and text or line
  end
  if is_whole then
    add_blocks(out, width or math.huge)
  end
  return out, before
end

---@param item agent_ls.Item
---@param ctx agent_ls.RenderContext
---@return boolean
function M.is_expanded(item, ctx) return ctx.expanded[item.id] == true end

---Whether the item is drawn as a stream, line by line: assistant text, and reasoning while it is expanded.
---@param item agent_ls.Item
---@param ctx agent_ls.RenderContext
function M.is_stream(item, ctx)
  if item.is_out or item.agent_id then
    return false
  end
  return item.kind == "text" or (item.kind == "reasoning" and M.is_expanded(item, ctx))
end

---Whether another entry already shows this item. The row of a call shows the decision about it. An approval request
---shows the pending call. The block of a change shows the edit call. The row of a collapsed group shows its calls.
---@param item agent_ls.Item
---@param ctx agent_ls.RenderContext
---@return boolean
local function is_redundant(item, ctx)
  if item.kind == "approval" then
    return item.call ~= nil and item.status ~= "pending"
  end
  local is_asking = item.decision ~= nil and item.decision.status == "pending"
  return item.kind == "tool" and (is_asking or calls.is_one_change(item) or calls.is_in_closed_group(item, ctx))
end

---Whether an item is not drawn, because another entry shows it or its subagent is collapsed. Pending requests to the
---user are always drawn.
---@param item agent_ls.Item
---@param ctx agent_ls.RenderContext
function M.is_hidden(item, ctx)
  if is_redundant(item, ctx) then
    return true
  end
  local is_asked = (item.kind == "approval" or item.kind == "question") and item.status == "pending"
  return item.agent_id ~= nil
    and not is_asked
    and ctx.agents[item.agent_id] ~= nil
    and not ctx.expanded[item.agent_id]
end

---@param item agent_ls.Item
---@return boolean the item's first line is the row of a group of calls
function M.is_group_row(item) return item.kind == "tool" and calls.is_group_head(item) end

---@type table<string, fun(item: agent_ls.Item, ctx: agent_ls.RenderContext, out: agent_ls.Canvas)>
local by_kind = {
  tool = calls.render_tool,
  file = changes.render_file,
  approval = changes.render_approval,
  ["end"] = changes["end"],
  question = more.render_question,
  subagent = more.render_subagent,
  compaction = more.render_compaction,
  reverted = more.render_reverted,
}

local ATTACHED = { "Selected in ", "Git diff", "Git commit ", "Symbol ", "Terminal ", "Page " } -- starts of headings

---Splits a message into its attachments and its text. The server puts the attachments first, each as a heading and a
---code block.
---@param text string
---@return {path: string, lines: string}[] attachments
---@return string rest
local function split_attachments(text)
  local found = {}
  while true do
    local heading, fence, at = text:match("^([^\n]+):\n(```+)\n()")
    local _, last = text:find("\n" .. (fence or "`") .. "\n", (at or 2) - 1, true)
    local is_ours = heading and vim.iter(ATTACHED):any(function(start) return vim.startswith(heading, start) end)
    if not is_ours or not last then
      return found, text
    end
    local path, lines = heading:match("^Selected in (.+), (lines? [%d to]+)$")
    found[#found + 1] = { path = path or heading, lines = lines or "" }
    text = vim.trim(text:sub(last + 1)) .. "\n"
  end
end

---Renders the user's message. An attachment is one line, which can be expanded.
function by_kind.user(item, ctx, out)
  local selections, rest = split_attachments(item.text .. "\n")
  if M.is_expanded(item, ctx) or #selections == 0 then
    selections, rest = {}, item.text
  end
  for _, selected in ipairs(selections) do
    local path = selected.path:sub(1, 1) == "/" and ctx.relative(selected.path) or selected.path
    out:add({ { "▸ ", "AgentLsDim" }, { path, "AgentLsPath" }, { " " .. selected.lines, "AgentLsDim" } }, { line_hl_group = "AgentLsUser" })
  end
  for i, line in ipairs(vim.split(vim.trim(rest), "\n", { plain = true })) do
    out:add(
      { { i == 1 and "❯ " or "  ", "AgentLsUserMark" }, { plain(line) } },
      { line_hl_group = "AgentLsUser" }
    )
  end
end

local STEER_WORDS = { waiting = "waiting", injected = "", removed = "cancelled" }

function by_kind.steer(item, ctx, out)
  local is_in = item.status == "injected"
  for i, line in ipairs(vim.split(item.text, "\n", { plain = true })) do
    out:add(
      { { i == 1 and "↪ " or "  ", "AgentLsUserMark" }, { plain(line), not is_in and "AgentLsDim" or nil } },
      is_in and { line_hl_group = "AgentLsUser" } or nil
    )
    if i == 1 then
      out:add_end(STEER_WORDS[item.status], "AgentLsDim", ctx.width)
    end
  end
end

function by_kind.reasoning(item, ctx, out)
  local part = item.part --[[@as agent_ls.Part]]
  -- Show the newest line while the model reasons, and the first line afterwards, so that the user can decide whether to
  -- expand the reasoning.
  local label = part.open and "Thinking: " or "Thought: "
  local line = part.lines[part.open and math.max(line_count(part), 1) or 1]
  local text = cut(vim.trim(line), math.max(10, ctx.width - #label - 3))
  out:add({ { "▸ ", "AgentLsDim" }, { label, "AgentLsDim" }, { text, "AgentLsDim" } })
end

function by_kind.retry(item, _, out)
  local seconds = math.ceil((item.delay_ms or 0) / 1000)
  local words = item.status == "failed" and ("Tried %d times."):format(item.attempt + 1)
    or item.status == "done" and "Tried again: " .. item.text
    or ("Trying again in %d s (attempt %d): %s"):format(seconds, item.attempt, item.text)
  out:add({ { "↻ ", "AgentLsWarn" }, { words, "AgentLsDim" } })
end

local STEPS = {
  pending = { "☐ ", "AgentLsDim", nil },
  active = { "▶ ", "AgentLsRunning", nil },
  done = { "✓ ", "AgentLsDone", "AgentLsDim" },
}

function by_kind.plan(item, _, out)
  for _, step in ipairs(item.steps) do
    local glyph, group, text_group = unpack(STEPS[step.status] or STEPS.pending, 1, 3)
    out:add({ { glyph, group }, { plain(step.text), text_group } })
  end
end

local NOTICES = {
  info = { "· ", "AgentLsDim", "AgentLsDim" },
  warn = { "! ", "AgentLsWarn", nil },
}

---@param actions string[]
---@param ctx agent_ls.RenderContext
---@param out agent_ls.Canvas
local function draw_remedies(actions, ctx, out)
  local key = ctx.keys.expand
  local words = table.concat(vim.tbl_map(key and remedies.label or remedies.command, actions), " · ")
  out:add({ { "┃ ", "AgentLsFailed" }, { key and key .. " " or "", "AgentLsKey" }, { words } })
end

---Draws an error block: what happened, what to do, and for the newest error also the keys of its remedies.
---@param item agent_ls.Item
---@param ctx agent_ls.RenderContext
---@param out agent_ls.Canvas
local function draw_error(item, ctx, out)
  local lead = { "✗ ", "AgentLsFailed" }
  for _, line in ipairs(vim.split(item.text, "\n", { plain = true })) do
    out:add({ lead, { plain(line), "AgentLsFailed" } })
    lead = { "  " }
  end
  for _, line in ipairs(item.hint and vim.split(item.hint, "\n", { plain = true }) or {}) do
    out:add({ { "┃ ", "AgentLsFailed" }, { plain(line), "AgentLsDim" } })
  end
  if item.actions and ctx.failure == item then
    draw_remedies(item.actions, ctx, out)
  end
end

function by_kind.notice(item, ctx, out)
  if item.level == "error" then
    return draw_error(item, ctx, out)
  end
  local glyph, group, text_group = unpack(NOTICES[item.level], 1, 3)
  for i, line in ipairs(vim.split(item.text, "\n", { plain = true })) do
    out:add({ { i == 1 and glyph or "  ", group }, { line, text_group } })
  end
  if item.hint then
    out:add({ { "  → " .. item.hint, "AgentLsDim" } })
  end
end

---@param item agent_ls.Item
---@param ctx agent_ls.RenderContext
---@return agent_ls.Rendered
local function draw(item, ctx)
  local is_text = item.kind == "text" or item.kind == "reasoning" and M.is_expanded(item, ctx)
  if is_text then
    return (M.render_stream(item.part, 1, nil, item.kind == "reasoning", ctx.width))
  end
  local out = canvas.new()
  by_kind[item.kind](item, ctx, out)
  return out
end

---@param item agent_ls.Item not a stream
---@param ctx agent_ls.RenderContext
---@return agent_ls.Rendered without lines if the item is hidden
function M.render_item(item, ctx)
  if M.is_hidden(item, ctx) then
    return canvas.new()
  end
  local rendered = draw(item, ctx)
  if item.agent_id and ctx.agents[item.agent_id] then
    more.indent(rendered)
  end
  if item.is_out then
    more.dim_lines(rendered)
  end
  return rendered
end

---Whether there is an empty line between two items. There is none between consecutive calls.
---@param before agent_ls.Item?
---@param item agent_ls.Item
---@return boolean
function M.has_gap(before, item)
  if not before then
    return false
  end
  local compact =
    { tool = true, file = true, approval = true, reasoning = true, retry = true, subagent = true, compaction = true }
  local is_words = function(each) return each.kind == "notice" or each.kind == "end" and #each.files == 0 end
  if is_words(before) and is_words(item) then
    return false
  end
  local asks = (item.kind == "approval" or item.kind == "question") and item.status == "pending"
  if item.agent_id and not asks then
    return false
  end
  return asks or not (compact[before.kind] and compact[item.kind])
end

return M
