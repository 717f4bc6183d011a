-- Changes of files, and what the agent asks leave for, as lines and highlights. Pure.
local canvas = require("agent_ls.chat.canvas")

local cut, plural = canvas.cut, canvas.plural

local M = {}

---A change is seen at a glance; a longer one opens with a key.
M.DIFF_LINES = 16

---What is asked leave for is read with more care, and opens with the same key.
M.ASKED_LINES = 60

---Of what a rule would allow besides: the rest of the card is to stay in sight.
local MAX_EXAMPLES = 2

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

---Keeps of the unchanged lines only those next to a change.
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

---@class agent_ls.DiffOptions
---@field max_lines integer more are counted, not shown
---@field is_brief boolean without the lines that only surround a change
---@field key string|false|nil that opens the rest
---@field prefix agent_ls.Chunk

---@param out agent_ls.Canvas
---@param diff string
---@param options agent_ls.DiffOptions
local function draw_diff(out, diff, options)
  local lines = diff_lines(diff)
  lines = options.is_brief and without_context(lines) or lines
  for i, line in ipairs(lines) do
    if i > options.max_lines then
      local how = options.key and (" (%s)"):format(options.key) or ""
      local more = ("⋯ %s%s"):format(plural(#lines - options.max_lines, "more line"), how)
      return out:add({ options.prefix, { more, "AgentLsDim" } })
    end
    if line.sign ~= "@" then
      local group = DIFF_GROUPS[line.sign]
      -- In whole, control characters too: who looks at a change is to see all of it.
      local text = { (line.text:gsub("\r$", "")), not group and "AgentLsDim" or nil }
      out:add({ options.prefix, { line.sign .. " " }, text }, group and { line_hl_group = group } or nil)
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

function M.file(item, ctx, out)
  local words, group = review_state(item, ctx.hunks)
  out:add({
    { ACTION_GLYPHS[item.action] .. " ", "AgentLsDim" },
    { ctx.relative(item.path), "AgentLsPath" },
    { " " },
    { "+" .. item.added, "AgentLsAddedSign" },
    { " " },
    { "−" .. item.removed, "AgentLsRemovedSign" },
  })
  out:add_end(words, group, ctx.width)
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
---@return string[] ids of what the turn changed there
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
  for _, key in ipairs({ { "compare_file", "compare" }, { "keep_turn", "keep all" }, { "undo_turn", "undo all" } }) do
    if ctx.keys[key[1]] then
      vim.list_extend(chunks, { { ctx.keys[key[1]], "AgentLsKey" }, { " " .. key[2] .. "   ", "AgentLsDim" } })
    end
  end
  if #chunks > 1 then
    out:add(chunks)
  end
end

---How a turn ended, and all that it changed. Line n + 1 + (its words) is about file n: see `M.file_at`.
---@type fun(item: agent_ls.Item, ctx: agent_ls.RenderContext, out: agent_ls.Canvas)
M["end"] = function(item, ctx, out)
  if item.text then
    out:add({ { "· ", "AgentLsDim" }, { item.text, "AgentLsDim" } })
  end
  if #item.files == 0 then
    return
  end
  draw_total(item, out)
  local waits = false
  for _, file in ipairs(item.files) do
    out:add({
      { "  " .. ACTION_GLYPHS[file.action] .. " ", "AgentLsDim" },
      { ctx.relative(file.path), "AgentLsPath" },
      { (" +%d"):format(file.added), "AgentLsAddedSign" },
      { (" −%d"):format(file.removed), "AgentLsRemovedSign" },
    })
    local words, group = review_state({ hunk_ids = ids_of_turn(item, file.uri, ctx.hunks) }, ctx.hunks)
    out:add_end(words, group, ctx.width)
    waits = waits or group == "AgentLsAsk"
  end
  if waits then
    draw_turn_keys(ctx, out)
  end
end

---@param item agent_ls.Item of kind end
---@param line integer of the item, from 0
---@return agent_ls.TurnFile? the file that this line is about, else the first
function M.file_at(item, line) return item.files[line - (item.text and 1 or 0)] or item.files[1] end

---@type agent_ls.Chunk
local BAR = { "┃ ", "AgentLsAsk" }
---@type agent_ls.Chunk
local INDENTED_BAR = { "┃   ", "AgentLsAsk" }

---What exactly is asked: the command or the change, word for word.
---@param request agent_ls.wire.ApprovalRequested
---@param ctx agent_ls.RenderContext
---@param max_lines integer of each diff
local function draw_effect(request, ctx, out, max_lines)
  local effect = request.effect
  if effect.command then
    for _, line in ipairs(vim.split(effect.command, "\n", { plain = true })) do
      out:add({ INDENTED_BAR, { line, "AgentLsStrong" } })
    end
    local where = { effect.workingDir and "in " .. ctx.relative(effect.workingDir) or nil }
    for _, pair in ipairs(effect.envVars or {}) do
      where[#where + 1] = ("with %s=%s"):format(pair[1], pair[2])
    end
    where[#where + 1] = effect.background and "in the background" or nil
    where = effect.inputOf and { "typed into the background process " .. effect.inputOf } or where
    out:add({ INDENTED_BAR, { table.concat(where, ", "), "AgentLsDim" } })
  elseif effect.files then
    for _, file in ipairs(effect.files) do
      out:add({
        INDENTED_BAR,
        { file.action .. " " },
        { ctx.relative(file.path), "AgentLsPath" },
      })
      draw_diff(out, file.diff, {
        max_lines = max_lines,
        is_brief = false,
        key = ctx.keys.expand,
        prefix = BAR,
      })
    end
  elseif effect.folder then
    out:add({ INDENTED_BAR, { effect.folder, "AgentLsPath" } })
  elseif effect.text then
    for _, line in ipairs(vim.split(effect.text, "\n", { plain = true })) do
      out:add({ INDENTED_BAR, { line, "AgentLsStrong" } })
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
  end
  return effect.files and "Make this change?" or ("Allow %s?"):format(request.tool)
end

---What the first rule that has examples would allow besides, and what it would not: those after it have the same.
---@param rules agent_ls.wire.RuleOffer[]
---@param out agent_ls.Canvas
local function draw_examples(rules, out)
  for _, rule in ipairs(rules) do
    local allows, asked = rule.allows, rule.stillAsked
    if #allows > 0 or #asked > 0 then
      for _, told in ipairs({ { "also allows: ", allows }, { "still asked: ", asked } }) do
        if #told[2] > 0 then
          local shown = table.concat(vim.list_slice(told[2], 1, MAX_EXAMPLES), " · ")
          out:add({ INDENTED_BAR, { told[1] .. shown, "AgentLsDim" } })
        end
      end
      return
    end
  end
end

---@param request agent_ls.wire.ApprovalRequested
---@param ctx agent_ls.RenderContext
---@param out agent_ls.Canvas
local function draw_keys(request, ctx, out)
  local keys = ctx.keys
  local is_trust = request.effect.folder ~= nil
  local allow, deny = is_trust and " trust it" or " allow once", is_trust and " do not" or " deny"
  local chunks = { BAR, { keys.allow or ":AgentLs approve", "AgentLsKey" }, { allow } }
  vim.list_extend(chunks, { { "   " }, { keys.deny or ":AgentLs deny", "AgentLsKey" }, { deny } })
  local effect = request.effect
  if effect.command and not effect.inputOf then
    vim.list_extend(chunks, { { "   " }, { keys.edit_command or ":AgentLs edit", "AgentLsKey" }, { " change" } })
  end
  out:add(chunks)
  local key = keys.allow_rule or ":AgentLs allow"
  for i, rule in ipairs(request.rules) do
    local is_told = rule.label:find("this " .. rule.scope, 1, true)
    local label = is_told and rule.label or ("%s (this %s)"):format(rule.label, rule.scope)
    -- One key for all: it asks which, when there are several.
    local before = i == 1 and { key .. " ", "AgentLsKey" } or { (" "):rep(#key + 1) }
    out:add({ BAR, before, { label } })
  end
  draw_examples(request.rules, out)
end

local SCOPE_WORDS = { once = "once", turn = "for this turn", session = "for this session" }

function M.approval(item, ctx, out)
  local request = assert(item.request)
  local what = cut(request.summary, ctx.width - 20)
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
  draw_effect(request, ctx, out, ctx.expanded[item.id] and math.huge or M.ASKED_LINES)
  if request.reason ~= "" then
    out:add({ BAR, { request.reason, "AgentLsDim" } })
  end
  if ctx.read_only then
    return out:add({ BAR, { "Its owner decides.", "AgentLsDim" } })
  end
  draw_keys(request, ctx, out)
end

return M
