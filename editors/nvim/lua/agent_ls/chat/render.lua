-- One item of a snapshot as lines and highlights. Pure: it draws on no buffer and asks nobody.
local canvas = require("agent_ls.chat.canvas")
local changes = require("agent_ls.chat.render_changes")
local markdown = require("agent_ls.chat.markdown")
local more = require("agent_ls.chat.render_more")

local cut, line_count, plain, plural = canvas.cut, canvas.line_count, canvas.plain, canvas.plural

local M = {}

M.DIFF_LINES = changes.DIFF_LINES

local TAIL_LINES = 4 -- of a running command
local OUTPUT_LINES = 200 -- of an opened call: the terminal buffer has all of it

---Lines of a text part from `first` on, one for one, so that a stream redraws its tail only.
---@param part agent_ls.Part
---@param first integer line, from 1
---@param fence string? state of markdown before that line
---@param is_dim boolean
---@return agent_ls.Rendered
---@return string? fence before the last line, where the next piece of the stream goes on
function M.stream(part, first, fence, is_dim)
  local out = canvas.new()
  local last = part.open and #part.lines or math.max(first, line_count(part))
  local before = fence
  for i = first, last do
    local line = part.lines[i] or ""
    before = fence
    local marks
    if is_dim then
      marks = { { col = 0, opts = { end_col = #line, hl_group = "AgentLsDim" } } }
    else
      marks, fence = markdown.line(line, fence)
    end
    for _, mark in ipairs(marks) do
      out.marks[#out.marks + 1] = { row = #out.lines, col = mark.col, opts = mark.opts }
    end
    out.lines[#out.lines + 1] = line
  end
  return out, before
end

---@param item agent_ls.Item
---@param ctx agent_ls.RenderContext
---@return boolean
function M.is_expanded(item, ctx) return ctx.expanded[item.id] == true end

---Streamed line by line: assistant text always, reasoning when it is open.
---@param item agent_ls.Item
---@param ctx agent_ls.RenderContext
function M.is_stream(item, ctx)
  if item.is_out or item.agent_id then
    return false
  end
  return item.kind == "text" or (item.kind == "reasoning" and M.is_expanded(item, ctx))
end

---What a subagent does is folded into its entry, but for what it asks the user.
---@param item agent_ls.Item
---@param ctx agent_ls.RenderContext
function M.is_hidden(item, ctx)
  local is_asked = (item.kind == "approval" or item.kind == "question") and item.status == "pending"
  return item.agent_id ~= nil
    and not is_asked
    and ctx.agents[item.agent_id] ~= nil
    and not ctx.expanded[item.agent_id]
end

---@type table<string, fun(item: agent_ls.Item, ctx: agent_ls.RenderContext, out: agent_ls.Canvas)>
local by_kind = {
  file = changes.file,
  approval = changes.approval,
  ["end"] = changes["end"],
  question = more.question,
  subagent = more.subagent,
  compaction = more.compaction,
  reverted = more.reverted,
}

function by_kind.user(item, _, out)
  for i, line in ipairs(vim.split(item.text, "\n", { plain = true })) do
    out:add(
      { { i == 1 and "❯ " or "  ", "AgentLsUserMark" }, { plain(line) } },
      { line_hl_group = "AgentLsUser" }
    )
  end
end

local STEER_WORDS = { waiting = "waiting", injected = "", removed = "taken back" }

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
  -- While it thinks its newest line, then how it began: enough to know whether to open it.
  local label = part.open and "Thinking: " or "Thought: "
  local line = part.lines[part.open and math.max(line_count(part), 1) or 1]
  local text = cut(vim.trim(line), math.max(10, ctx.width - #label - 3))
  out:add({ { "▸ ", "AgentLsDim" }, { label, "AgentLsDim" }, { text, "AgentLsDim" } })
end

---@param item agent_ls.Item
---@return string glyph
---@return string group
local function tool_glyph(item)
  local glyphs = {
    writing = { "✎", "AgentLsRunning" },
    running = { "●", "AgentLsRunning" },
    done = { "✓", "AgentLsDone" },
    failed = { "✗", "AgentLsFailed" },
  }
  return unpack(glyphs[item.status])
end

---@param item agent_ls.Item
---@return string
local function tool_outcome(item)
  local result = item.result
  if item.status == "writing" then
    return plural(item.arguments.length, "character")
  end
  if not result then
    return item.background and "in the background" or ""
  end
  local words = {}
  if result.exitCode and result.exitCode ~= 0 and not result.summary:match("^exit") then
    words[1] = "exit " .. result.exitCode
  end
  if result.summary ~= "" then
    words[#words + 1] = result.summary
  end
  if (result.durationMs or 0) >= 1000 then
    words[#words + 1] = ("%.1f s"):format(result.durationMs / 1000)
  end
  return table.concat(words, " · ")
end

---@param text string JSON, perhaps not whole
---@return agent_ls.Chunk[][]
local function argument_lines(text)
  local ok, arguments = pcall(vim.json.decode, text, { luanil = { object = true } })
  if not ok or type(arguments) ~= "table" then
    return { { { cut(text, 400), "AgentLsDim" } } }
  end
  local names, out = vim.tbl_keys(arguments), {}
  table.sort(names, function(a, b) return tostring(a) < tostring(b) end)
  for _, name in ipairs(names) do
    local value = arguments[name]
    local shown = type(value) == "string" and value or vim.json.encode(value)
    local lines = vim.split(shown, "\n", { plain = true })
    local more = #lines > 1 and (" … %s"):format(plural(#lines, "line")) or ""
    out[#out + 1] = { { tostring(name) .. ": ", "AgentLsKey" }, { cut(lines[1], 200) .. more, "AgentLsDim" } }
  end
  return out
end

---@param out agent_ls.Canvas
---@param lines string[]
---@param first integer
---@param last integer
local function output_lines(out, lines, first, last)
  for i = first, last do
    out:add({ { "│ ", "AgentLsDim" }, { plain(lines[i]), "AgentLsDim" } })
  end
end

---@param item agent_ls.Item
local function tool_details(item, out)
  for _, chunks in ipairs(argument_lines(table.concat(item.arguments.lines, "\n"))) do
    table.insert(chunks, 1, { "  " })
    out:add(chunks)
  end
  local lines, count = item.part.lines, line_count(item.part)
  if count <= OUTPUT_LINES then
    return output_lines(out, lines, 1, count)
  end
  local half = OUTPUT_LINES / 2
  output_lines(out, lines, 1, half)
  out:add({ { ("│ ⋯ %d lines not shown here"):format(count - OUTPUT_LINES), "AgentLsWarn" } })
  output_lines(out, lines, count - half + 1, count)
end

---Behind the call; why one failed stands below it where there is no room, so that it can be read.
---@param item agent_ls.Item
---@param ctx agent_ls.RenderContext
---@param out agent_ls.Canvas
local function draw_outcome(item, ctx, out)
  local words = tool_outcome(item)
  local room = ctx.width - vim.api.nvim_strwidth(out.lines[#out.lines]) - 3
  if item.status ~= "failed" then
    return out:add_end(words, "AgentLsDim", ctx.width)
  end
  if vim.api.nvim_strwidth(words) <= room then
    return out:add_end(words, "AgentLsFailed", ctx.width)
  end
  out:add({ { "  " .. plain(words), "AgentLsFailed" } })
end

function by_kind.tool(item, ctx, out)
  local glyph, group = tool_glyph(item)
  local chunks = { { glyph .. " ", group }, { item.name, "AgentLsName" } }
  -- A call that no tool knows what to say of is summed up by its name, which stands there already.
  local prefix = item.name .. ": "
  local summary = vim.startswith(item.summary, prefix) and item.summary:sub(#prefix + 1) or item.summary
  if summary ~= "" then
    chunks[3] = { " " .. cut(summary, math.max(20, ctx.width - #item.name - 5)) }
  end
  out:add(chunks)
  draw_outcome(item, ctx, out)
  if item.waiting then
    out:add({ { "  waits for your input  (:AgentLs terminal)", "AgentLsWarn" } })
  end
  if M.is_expanded(item, ctx) then
    tool_details(item, out)
  elseif item.status == "running" then
    local count = line_count(item.part)
    output_lines(out, item.part.lines, math.max(1, count - TAIL_LINES + 1), count)
  end
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
  error = { "✗ ", "AgentLsFailed", "AgentLsFailed" },
}

function by_kind.notice(item, _, out)
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
    return (M.stream(item.part, 1, nil, item.kind == "reasoning"))
  end
  local out = canvas.new()
  by_kind[item.kind](item, ctx, out)
  return out
end

---@param item agent_ls.Item not a stream
---@param ctx agent_ls.RenderContext
---@return agent_ls.Rendered without lines for what is folded away
function M.item(item, ctx)
  if M.is_hidden(item, ctx) then
    return canvas.new()
  end
  local rendered = draw(item, ctx)
  if item.agent_id and ctx.agents[item.agent_id] then
    more.indent(rendered)
  end
  if item.is_out then
    more.dim(rendered)
  end
  return rendered
end

---Whether an empty line stands between two items: calls that follow each other stand together.
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

---What an empty panel says.
---@param ctx agent_ls.RenderContext
---@return agent_ls.Rendered
function M.welcome(ctx)
  local out = canvas.new()
  out:add({ { "agent-ls", "AgentLsHeading" } })
  out:add({ { "" } })
  out:add({
    {
      "Say below what should change in this project. Edits land in your buffers and wait there "
        .. "for you to keep or undo them.",
    },
  })
  out:add({ { "" } })
  local rows = {
    { ctx.keys.send or "", "send; while it works: steer" },
    { ctx.keys.stop or "", "stop" },
    { ctx.keys.help or "", "all keys" },
    { ":AgentLs resume", "go on with the last session" },
    { ":AgentLs demo", "a walkthrough, no key needed" },
  }
  for _, row in ipairs(rows) do
    out:add({ { ("%-16s"):format(row[1]), "AgentLsKey" }, { row[2], "AgentLsDim" } })
  end
  return out
end

return M
