-- Renders questions, subagents, compactions and rollbacks as lines and highlights. Pure.
local canvas = require("agent_ls.chat.canvas")
local shared = require("agent_ls.shared_words")

local cut, plain, plural = canvas.shorten, canvas.plain_line, canvas.format_count

local M = {}

---@type agent_ls.Chunk
local BAR = { "┃ ", "AgentLsAsk" }

---@param item agent_ls.Item
---@return agent_ls.Chunk? name of the subagent that asks; nil for the main agent
local function asker(item) return item.agent_id and { item.agent_id .. ": ", "AgentLsDim" } or nil end

---@param out agent_ls.Canvas
---@param first agent_ls.Chunk
---@param text string
---@param group string?
local function add_text(out, first, text, group)
  for i, line in ipairs(vim.split(vim.trim(text), "\n", { plain = true })) do
    out:add({ i == 1 and first or { (" "):rep(vim.api.nvim_strwidth(first[1])) }, { plain(line), group } })
  end
end

---@param item agent_ls.Item
---@param ctx agent_ls.RenderContext
---@param out agent_ls.Canvas
local function draw_choices(item, ctx, out)
  local marked = ctx.marked[item.id] or {}
  for i, choice in ipairs(item.choices) do
    local glyph = not item.multiple and ("%d "):format(i) or marked[i] and "☑ " or "☐ "
    out:add({ BAR, { "  " }, { glyph, "AgentLsKey" }, { plain(choice) } })
  end
end

local GAP = 3 -- columns between two keys

---Draws the keys that answer a question, each on one line with its words.
---@param item agent_ls.Item
---@param ctx agent_ls.RenderContext
---@param out agent_ls.Canvas
local function draw_question_keys(item, ctx, out)
  local keys = ctx.keys
  local chunks, used = { BAR }, vim.api.nvim_strwidth(BAR[1])
  local add = function(key, words)
    local columns = vim.api.nvim_strwidth(key .. words)
    if #chunks > 1 and used + GAP + columns > ctx.width then
      out:add(chunks)
      chunks, used = { BAR }, vim.api.nvim_strwidth(BAR[1])
    end
    local gap = #chunks > 1 and GAP or 0
    vim.list_extend(chunks, { { (" "):rep(gap) }, { key, "AgentLsKey" }, { words, "AgentLsDim" } })
    used = used + gap + columns
  end
  if #item.choices > 0 and keys.expand then
    add(keys.expand, item.multiple and " mark" or " choose")
  end
  add(keys.allow or ":AgentLs answer", item.multiple and " answer with the marked choices" or " answer")
  add(keys.deny or ":AgentLs decline", " leave it open")
  if not item.is_limit then
    add("", "or write below")
  end
  out:add(chunks)
end

---Renders a question and its choices. `M.choice_at` maps its lines to choices.
function M.render_question(item, ctx, out)
  if item.status == "pending" then
    for _, line in ipairs(vim.split(vim.trim(item.text), "\n", { plain = true })) do
      local chunks = { BAR, { plain(line), "AgentLsAsk" } }
      if item.agent_id and line == vim.trim(item.text):match("^[^\n]*") then
        table.insert(chunks, 2, asker(item))
      end
      out:add(chunks)
    end
    draw_choices(item, ctx, out)
    if ctx.read_only then
      return out:add({ BAR, { "The editor that owns this session answers.", "AgentLsDim" } })
    end
    return draw_question_keys(item, ctx, out)
  end
  local is_open = item.status == "declined"
  out:add({ { is_open and "· " or "✓ ", is_open and "AgentLsDim" or "AgentLsDone" }, { cut(item.text, ctx.width - 4), "AgentLsDim" } })
  if not is_open then
    out:add({ { "  " .. plain(table.concat(item.answers or {}, ", ")) } })
  end
end

---@param item agent_ls.Item of kind question
---@param line integer of the item, from 0
---@return integer? index of the choice on that line
function M.choice_at(item, line)
  local at = line - #vim.split(vim.trim(item.text), "\n", { plain = true }) + 1
  return item.status == "pending" and item.choices[at] and at or nil
end

local AGENTS = {
  running = { "◇ ", "AgentLsRunning" },
  completed = { "◆ ", "AgentLsDone" },
  failed = { "◆ ", "AgentLsFailed" },
}

local MIN_TASK = 24 -- columns of a subagent's task beside its outcome; with less room the outcome is on its own line

function M.render_subagent(item, ctx, out)
  local glyph = AGENTS[item.status] or AGENTS.running
  local words = item.status == "running" and "at work" or shared.AGENT_WORDS[item.reason] or "done"
  if (item.turns or 0) > 0 then
    words = words .. " · " .. plural(item.turns, "round")
  end
  local group, room = item.status == "failed" and "AgentLsFailed" or "AgentLsDim", ctx.width - #item.id - 4
  local is_beside = room - vim.api.nvim_strwidth(words) - 4 >= MIN_TASK
  out:add({ glyph, { item.id .. " ", "AgentLsName" }, { cut(item.text or "", is_beside and room - vim.api.nvim_strwidth(words) - 4 or room) } })
  if is_beside then
    out:add_end(words, group, ctx.width)
  else
    out:add({ { "  " }, { words, group } })
  end
  local output = vim.trim(item.output or "")
  if output == "" then
    return
  elseif ctx.expanded[item.id] then
    add_text(out, { "  └ ", "AgentLsDim" }, output)
  else
    out:add({ { "  └ ", "AgentLsDim" }, { cut(output:match("^[^\n]*"), ctx.width - 6), "AgentLsDim" } })
  end
end

local COMPACTIONS = {
  started = { "⋯ ", "AgentLsRunning" },
  done = { "≡ ", "AgentLsDim" },
  failed = { "! ", "AgentLsWarn" },
  interrupted = { "· ", "AgentLsDim" },
}

function M.render_compaction(item, ctx, out)
  local glyph = COMPACTIONS[item.status] or COMPACTIONS.done
  local words = item.text ~= "" and item.text or "Summarising the conversation to free space…"
  out:add({ glyph, { plain(words), "AgentLsDim" } })
  if (item.summary or "") ~= "" then
    if ctx.expanded[item.id] then
      add_text(out, { "│ ", "AgentLsDim" }, item.summary, "AgentLsDim")
    else
      out:add_end(("summary (%s)"):format(ctx.keys.expand or "za"), "AgentLsDim", ctx.width)
    end
  end
end

function M.render_reverted(item, ctx, out)
  local data = item.data --[[@as table]]
  local is_back = #(data.restoredTurns or {}) > 0
  local words = is_back and "Reverted the roll back."
    or data.conversation and ("Rolled back %s."):format(plural(#data.turns, "message"))
    or "Rolled back files only."
  out:add({ { "↶ ", "AgentLsWarn" }, { words } })
  if ctx.keys.rollback then
    out:add_end(ctx.keys.rollback .. " reverts it", "AgentLsDim", ctx.width)
  end
  for _, file in ipairs(data.files or {}) do
    out:add({
      { "  " },
      { ctx.relative(file.path), "AgentLsPath" },
      { " " .. (shared.REVERTED_WORDS[file.state] or file.state), file.state == "conflict" and "AgentLsWarn" or "AgentLsDim" },
    })
  end
end

---Indents the items of a subagent below its entry.
---@param rendered agent_ls.Rendered
function M.indent(rendered)
  local prefix = "  ┊ "
  for i, line in ipairs(rendered.lines) do
    rendered.lines[i] = prefix .. line
  end
  for _, mark in ipairs(rendered.marks) do
    mark.col = mark.col + #prefix
    if mark.opts.end_col then
      mark.opts.end_col = mark.opts.end_col + #prefix
    end
  end
  for row = 0, #rendered.lines - 1 do
    table.insert(rendered.marks, { row = row, col = 0, opts = { end_col = #prefix, hl_group = "AgentLsDim" } })
  end
end

---Dims the lines of a rolled back item.
---@param rendered agent_ls.Rendered
function M.dim_lines(rendered)
  rendered.marks = vim.tbl_filter(function(mark) return mark.opts.virt_text ~= nil end, rendered.marks)
  for i, line in ipairs(rendered.lines) do
    rendered.marks[#rendered.marks + 1] = { row = i - 1, col = 0, opts = { end_col = #line, hl_group = "AgentLsOut" } }
  end
end

return M
