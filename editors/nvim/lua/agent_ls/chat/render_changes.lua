-- Renders file changes and approval requests as lines and highlights. Pure.
local calls = require("agent_ls.chat.render_calls")
local canvas = require("agent_ls.chat.canvas")
local code = require("agent_ls.chat.code")
local icons = require("agent_ls.icons")

local cut, plural = canvas.shorten, canvas.format_count

local M = {}

---Maximum number of displayed diff lines. A key expands a longer diff.
M.DIFF_LINES = 16

local DIFF_GROUPS = { ["+"] = "AgentLsAdded", ["-"] = "AgentLsRemoved" }

---@param diff string unified
---@return {sign: string, text: string}[]
local function diff_lines(diff)
  local out = {}
  for _, line in ipairs(vim.split(diff, "\n", { plain = true })) do
    local is_header = #out == 0 and (line:match("^%-%-%- ") or line:match("^%+%+%+ "))
    local sign = line:sub(1, 1)
    if sign == "@" then
      out[#out + 1] = { sign = sign, text = line }
    elseif not is_header and (DIFF_GROUPS[sign] or sign == " ") then
      out[#out + 1] = { sign = sign, text = line:sub(2) }
    end
  end
  return out
end

---Drops unchanged lines that are not next to a change.
---@param lines {sign: string, text: string}[]
---@return {sign: string, text: string}[]
local function without_context(lines)
  local function is_change(i) return lines[i] ~= nil and DIFF_GROUPS[lines[i].sign] ~= nil end
  local out = {}
  for i, line in ipairs(lines) do
    if is_change(i) or line.sign == "@" or is_change(i - 1) or is_change(i + 1) then
      out[#out + 1] = line
    end
  end
  return out
end

---Removes the indent that all lines share.
---@param lines {sign: string, text: string}[]
---@return {sign: string, text: string}[]
local function without_indent(lines)
  local shared ---@type string?
  for _, line in ipairs(lines) do
    if line.sign ~= "@" and line.text:find("%S") then
      shared = shared or line.text:match("^[ \t]*")
      while not vim.startswith(line.text, shared) do
        shared = shared:sub(1, -2)
      end
    end
  end
  return vim.tbl_map(function(line)
    return line.sign == "@" and line or { sign = line.sign, text = line.text:sub(#(shared or "") + 1) }
  end, lines)
end

---@class agent_ls.DiffOptions
---@field max_lines integer maximum of displayed lines; for the rest, only their number is displayed
---@field is_brief boolean without the context lines
---@field key string|false|nil key that shows the rest
---@field columns integer? width at which lines wrap, without their shared indent; nil: the window wraps
---@field prefix agent_ls.Chunk

---@param out agent_ls.Canvas
---@param diff string
---@param options agent_ls.DiffOptions
local function draw_diff(out, diff, options)
  local lines = diff_lines(diff)
  lines = options.is_brief and without_context(lines) or lines
  lines = options.columns and without_indent(lines) or lines
  for i, line in ipairs(lines) do
    if i > options.max_lines then
      local how = options.key and (" (%s)"):format(options.key) or ""
      local more = ("⋯ %s%s"):format(plural(#lines - options.max_lines, "more line"), how)
      return out:add({ options.prefix, { more, "AgentLsDim" } })
    end
    if line.sign ~= "@" then
      local group = DIFF_GROUPS[line.sign]
      -- Neither shorten the line nor remove control characters: the user must see the whole change.
      local text = line.text:gsub("\r$", "")
      for part, words in ipairs(options.columns and canvas.wrap(text, options.columns) or { text }) do
        local sign = part == 1 and line.sign .. " " or "  "
        out:add({ options.prefix, { sign }, { words, not group and "AgentLsDim" or nil } }, group and { line_hl_group = group } or nil)
      end
    elseif i > 1 then
      out:add({ options.prefix, { "⋯", "AgentLsDim" } })
    end
  end
end

local ACTION_GLYPHS = { create = "+", modify = "±", delete = "−" }
local STATE_ORDER = { "proposed", "pending", "edited", "stale", "kept", "undone", "gone" }
local STATE_WORDS = { pending = "to review", proposed = "proposed", edited = "edited by you", gone = "gone" }

---@param item agent_ls.Item
---@param hunks table<string, agent_ls.Hunk>
---@return string words
---@return string group
local function review_state(item, hunks)
  local counts, words = {}, {}
  for _, id in ipairs(item.hunk_ids) do
    local state = hunks[id] and hunks[id].state
    if state then
      counts[state] = (counts[state] or 0) + 1
    end
  end
  for _, state in ipairs(STATE_ORDER) do
    if counts[state] then
      words[#words + 1] = ("%d %s"):format(counts[state], STATE_WORDS[state] or state)
    end
  end
  local is_open = counts.pending or counts.proposed or counts.edited or counts.stale
  return table.concat(words, " · "), is_open and "AgentLsAsk" or "AgentLsDim"
end

function M.render_file(item, ctx, out)
  local words, group = review_state(item, ctx.hunks)
  local icon, icon_group = unpack(icons.find_icon(item.path) or {})
  local counts = ("+%d −%d"):format(item.added, item.removed)
  out:add({
    { ACTION_GLYPHS[item.action] .. " ", "AgentLsDim" },
    { icon and icon .. " " or "", icon_group },
    { canvas.shorten_path(ctx.relative(item.path), ctx.width - vim.api.nvim_strwidth(counts) - 6), "AgentLsPath" },
    { " " },
    { "+" .. item.added, "AgentLsAddedSign" },
    { " " },
    { "−" .. item.removed, "AgentLsRemovedSign" },
  })
  local decision = item.call and #(item.call.changes or {}) == 1 and calls.describe_decision(item.call.decision) or nil
  out:add_end(table.concat(vim.list_extend(words ~= "" and { words } or {}, { decision }), " · "), group, ctx.width)
  local opened = ctx.expanded[item.id]
  if opened == false then
    return
  end
  draw_diff(out, item.diff, {
    max_lines = opened and math.huge or M.DIFF_LINES,
    is_brief = not opened,
    key = ctx.keys.expand,
    prefix = { "  " },
  })
end

---@param item agent_ls.Item of kind end
---@param uri string
---@param hunks table<string, agent_ls.Hunk>
---@return string[] ids of the turn's pending changes in the file
local function ids_of_turn(item, uri, hunks)
  local ids = {}
  for id, hunk in pairs(hunks) do
    if hunk.turn_id == item.turn_id and hunk.uri == uri then
      ids[#ids + 1] = id
    end
  end
  return ids
end

---@param item agent_ls.Item
---@param out agent_ls.Canvas
local function draw_total(item, out)
  local added, removed = 0, 0
  for _, file in ipairs(item.files) do
    added, removed = added + file.added, removed + file.removed
  end
  out:add({
    { plural(#item.files, "file") .. " changed ", "AgentLsStrong" },
    { "+" .. added, "AgentLsAddedSign" },
    { " " },
    { "−" .. removed, "AgentLsRemovedSign" },
  })
end

---@param ctx agent_ls.RenderContext
---@param out agent_ls.Canvas
local function draw_turn_keys(ctx, out)
  local chunks = { { "  " } }
  for _, key in ipairs({ { "review_turn", "review" }, { "guide_turn", "in order" }, { "keep_turn", "keep" }, { "undo_turn", "undo" } }) do
    if ctx.keys[key[1]] then
      vim.list_extend(chunks, { { ctx.keys[key[1]], "AgentLsKey" }, { " " .. key[2] .. "  ", "AgentLsDim" } })
    end
  end
  if #chunks > 1 then
    out:add(chunks)
  end
end

---Draws which checks ran after the last change of the turn.
---@param item agent_ls.Item of kind end
---@param ctx agent_ls.RenderContext
local function draw_facts(item, ctx, out)
  local facts = item.facts
  if not facts then
    return
  end
  local mark, group = "· ", "AgentLsDim"
  for _, check in ipairs(facts.checks) do
    if check.result == "failed" or check.result == "stopped" then
      mark, group = "✗ ", "AgentLsFailed"
    elseif check.result == "passed" and mark == "· " then
      mark, group = "✓ ", "AgentLsDone"
    end
  end
  for at, line in ipairs(canvas.wrap(facts.text, math.max(16, ctx.width - 4))) do
    out:add({ { "  " .. (at == 1 and mark or "  "), group }, { line, "AgentLsDim" } })
  end
end

---Renders how a turn ended, and the files that it changed. `M.file_at` maps its lines to files.
---@type fun(item: agent_ls.Item, ctx: agent_ls.RenderContext, out: agent_ls.Canvas)
M["end"] = function(item, ctx, out)
  if item.text then
    out:add({ { "· ", "AgentLsDim" }, { item.text, "AgentLsDim" } })
  end
  if #item.files == 0 then
    return draw_facts(item, ctx, out)
  end
  draw_total(item, out)
  local waits = false
  for _, file in ipairs(item.files) do
    -- The total of a single file says the same as its row, so the row is left out.
    if #item.files > 1 then
      out:add({
        { "  " .. ACTION_GLYPHS[file.action] .. " ", "AgentLsDim" },
        { canvas.shorten_path(ctx.relative(file.path), ctx.width - #(" +%d -%d"):format(file.added, file.removed) - 5), "AgentLsPath" },
        { (" +%d"):format(file.added), "AgentLsAddedSign" },
        { (" −%d"):format(file.removed), "AgentLsRemovedSign" },
      })
    end
    local words, group = review_state({ hunk_ids = ids_of_turn(item, file.uri, ctx.hunks) }, ctx.hunks)
    out:add_end(words, group, ctx.width)
    waits = waits or group == "AgentLsAsk"
  end
  draw_facts(item, ctx, out)
  if waits then
    draw_turn_keys(ctx, out)
  end
end

---@param item agent_ls.Item of kind end
---@param line integer of the item, from 0
---@return agent_ls.TurnFile? the file on this line, else the first
function M.file_at(item, line) return item.files[line - (item.text and 1 or 0)] or item.files[1] end

---@type agent_ls.Chunk
local BAR = { "┃ ", "AgentLsAsk" }
---@type agent_ls.Chunk
local INDENTED_BAR = { "┃   ", "AgentLsAsk" }
---@type agent_ls.Chunk the bar before another program's own words
local QUOTED_BAR = { "┃   | ", "AgentLsAsk" }

---Adds a text, with a bar before each of its lines.
---@param out agent_ls.Canvas
---@param ctx agent_ls.RenderContext
---@param bar agent_ls.Chunk
---@param text string
---@param group string?
local function add_text(out, ctx, bar, text, group)
  local columns = math.max(16, ctx.width - vim.api.nvim_strwidth(bar[1]))
  for _, line in ipairs(vim.split(text, "\n", { plain = true })) do
    for _, part in ipairs(canvas.wrap(line, columns)) do
      out:add({ bar, { part, group } })
    end
  end
end

---Draws what a request would do: the exact command or change.
---@param request agent_ls.wire.ApprovalRequested
---@param ctx agent_ls.RenderContext
---@param is_brief boolean without the context lines of changes
local function draw_effect(request, ctx, out, is_brief)
  local effect = request.effect
  if effect.command then
    local lines, places = vim.split(effect.command, "\n", { plain = true }), {}
    for i, line in ipairs(lines) do
      places[i] = { row = #out.lines, col = #INDENTED_BAR[1] }
      out:add({ INDENTED_BAR, { line, "AgentLsStrong" } })
    end
    code.mark(out.marks, lines, effect.inputOf and "" or "sh", places)
    local where = { effect.workingDir and "in " .. ctx.relative(effect.workingDir) or nil }
    for _, pair in ipairs(effect.envVars or {}) do
      where[#where + 1] = ("with %s=%s"):format(pair[1], pair[2])
    end
    where[#where + 1] = effect.background and "in the background" or nil
    where = effect.inputOf and { "typed into the background process " .. effect.inputOf } or where
    if #where > 0 then
      out:add({ INDENTED_BAR, { table.concat(where, ", "), "AgentLsDim" } })
    end
  elseif effect.files then
    for _, file in ipairs(effect.files) do
      out:add({
        INDENTED_BAR,
        { file.action .. " " },
        { ctx.relative(file.path), "AgentLsPath" },
      })
      draw_diff(out, file.diff, {
        max_lines = math.huge,
        is_brief = is_brief,
        columns = math.max(16, ctx.width - vim.api.nvim_strwidth(BAR[1]) - 2),
        prefix = BAR,
      })
    end
  elseif effect.folder then
    out:add({ INDENTED_BAR, { effect.folder, "AgentLsPath" } })
  elseif effect.text then
    add_text(out, ctx, INDENTED_BAR, effect.text, "AgentLsStrong")
    if effect.server then
      out:add({ INDENTED_BAR, { ("the server %s describes its tool:"):format(effect.server), "AgentLsDim" } })
      add_text(out, ctx, QUOTED_BAR, effect.about or "", nil)
    end
    if effect.change and effect.change ~= "" then
      out:add({ INDENTED_BAR, { "the server has changed it since you approved it:", "AgentLsDim" } })
      add_text(out, ctx, QUOTED_BAR, effect.change, nil)
    end
    for _, pair in ipairs(effect.envVars or {}) do
      out:add({ INDENTED_BAR, { ("with %s=%s"):format(pair[1], pair[2]), "AgentLsDim" } })
    end
  else
    out:add({ INDENTED_BAR, { effect.url or request.summary } })
    for _, path in ipairs(effect.paths or {}) do
      out:add({ INDENTED_BAR, { ctx.relative(path), "AgentLsPath" } })
    end
  end
end

---@param request agent_ls.wire.ApprovalRequested
---@return string
local function question(request)
  local effect = request.effect
  if effect.command then
    return effect.inputOf and "Type this?" or "Run this command?"
  end
  if effect.folder then
    return "Do you trust this folder?"
  elseif effect.url then
    return "Fetch this page?"
  end
  return effect.files and "Make this change?" or ("Allow %s?"):format(request.tool)
end

---@param rule agent_ls.wire.RuleOffer
---@return string label with its scope
function M.rule_label(rule)
  local names_scope = rule.label:find("this " .. rule.scope, 1, true)
  return names_scope and rule.label or ("%s (this %s)"):format(rule.label, rule.scope)
end

---@param request agent_ls.wire.ApprovalRequested
---@param ctx agent_ls.RenderContext
---@param out agent_ls.Canvas
local function draw_keys(request, ctx, out)
  local keys = ctx.keys
  local is_trust = request.effect.folder ~= nil
  local allow, deny = is_trust and " trust it" or " allow once", is_trust and " do not" or " deny"
  local chunks = { BAR, { keys.allow or ":AgentLs approve", "AgentLsKey" }, { allow } }
  local gap = { ctx.width < 36 and "  " or "   " }
  vim.list_extend(chunks, { gap, { keys.deny or ":AgentLs deny", "AgentLsKey" }, { deny } })
  local effect = request.effect
  if effect.command and not effect.inputOf then
    vim.list_extend(chunks, { gap, { keys.edit_command or ":AgentLs edit", "AgentLsKey" }, { " change" } })
  end
  out:add(chunks)
  local first, count = request.rules[1], #request.rules
  if first then
    local is_narrow = ctx.width < 40
    local others = count < 2 and "" or is_narrow and (" +%d"):format(count - 1) or (" · %s"):format(plural(count - 1, "more rule"))
    -- Use one line only, so that the command stays visible. The key opens a menu of all rules with examples.
    local label = M.rule_label(first)
    label = count > 1 and cut(label, math.max(20, ctx.width - vim.api.nvim_strwidth(others) - 6)) or label
    out:add({ BAR, { keys.allow_rule or ":AgentLs allow", "AgentLsKey" }, { " " .. label }, { others, "AgentLsDim" } })
  end
end

local SCOPE_WORDS = { once = "once", turn = "for this turn", session = "for this session" }

function M.render_approval(item, ctx, out)
  local request = assert(item.request)
  local what = cut(request.summary, 2 * ctx.width - 20)
  local trusted = request.effect.folder
  if trusted and item.status ~= "pending" and item.decided_by ~= "interrupt" then
    local is_allowed = item.status == "allow"
    local mark = { is_allowed and "✓ " or "✗ ", is_allowed and "AgentLsDone" or "AgentLsFailed" }
    return out:add({ mark, { is_allowed and "trusted: " or "not trusted: ", "AgentLsDim" }, { trusted } })
  end
  if item.status == "allow" then
    local scope = SCOPE_WORDS[item.scope] or item.scope or ""
    return out:add({ { "✓ ", "AgentLsDone" }, { ("allowed %s: "):format(scope), "AgentLsDim" }, { what } })
  end
  if item.status == "deny" and item.decided_by == "interrupt" then
    return out:add({ { "· ", "AgentLsDim" }, { "was not answered: ", "AgentLsDim" }, { what } })
  end
  if item.status == "deny" then
    out:add({ { "✗ ", "AgentLsFailed" }, { "denied: ", "AgentLsDim" }, { what } })
    return item.reason and out:add({ { "  “" .. item.reason .. "”", "AgentLsDim" } })
  end
  out:add({ BAR, { question(request), "AgentLsAsk" } })
  draw_effect(request, ctx, out, not ctx.expanded[item.id])
  item.head_lines = #out.lines
  if request.reason ~= "" then
    add_text(out, ctx, BAR, request.reason, "AgentLsDim")
  end
  if ctx.read_only then
    return out:add({ BAR, { "The editor that owns this session decides.", "AgentLsDim" } })
  end
  draw_keys(request, ctx, out)
end

return M
