-- Renders tool calls for display: "Read util.py 40–60", "Ran pytest -q · 3 failed · 2.1 s". Pure.
local canvas = require("agent_ls.chat.canvas")
local icons = require("agent_ls.icons")
local tool_words = require("agent_ls.tool_words")

local cut, line_count, plain, plural = canvas.shorten, canvas.line_count, canvas.plain_line, canvas.format_count

local M = {}

local TAIL_LINES = 4 -- last lines of a running command's output that are shown
local OUTPUT_LINES = 200 -- output lines of an expanded call that are shown; the terminal buffer has all of them
local MIN_OUTCOME = 8 -- columns in which the outcome of a call says something
local MIN_OBJECT = 12 -- minimum of columns for the object of a call, before its outcome

local FILE_TOOLS = { read_file = true, edit_file = true, write_file = true }

---@param item agent_ls.Item
---@return table arguments {} while they are streamed, or if they are not a JSON object
local function arguments_of(item)
  if not item.arguments or item.arguments.open then
    return {}
  end
  local ok, found = pcall(vim.json.decode, table.concat(item.arguments.lines, "\n"), { luanil = { object = true } })
  return ok and type(found) == "table" and found or {}
end

---@param arguments table of read_file
---@return string range of lines, "" for the whole file
local function line_range(arguments)
  local first = tonumber(arguments.offset) or 1
  local last = tonumber(arguments.end_line) or 0
  if last <= 0 and tonumber(arguments.limit) then
    last = first + arguments.limit - 1
  end
  if last > 0 then
    return (" %d–%d"):format(first, last)
  end
  return first > 1 and (" %d–"):format(first) or ""
end

---@param item agent_ls.Item
---@param ctx agent_ls.RenderContext
---@return string the object that the tool works on, such as a path or a command
local function object_of(item, ctx)
  -- The server's fallback summary begins with the name of the tool. Remove it, because the name is already the verb.
  local prefix = item.name .. ": "
  local summary = vim.startswith(item.summary, prefix) and item.summary:sub(#prefix + 1) or item.summary
  if FILE_TOOLS[item.name] and summary:sub(1, 1) == "/" then
    summary = ctx.relative(summary)
  end
  return item.name == "read_file" and summary .. line_range(arguments_of(item)) or summary
end

---Whether the object of a call is a file.
---@param item agent_ls.Item
local function is_of_file(item) return FILE_TOOLS[item.name] == true end

---@param item agent_ls.Item
---@return string verb
function M.choose_verb(item)
  local is_denied = item.decision ~= nil and item.decision.status == "deny"
  -- A shell command that failed has run, so its verb is in the past tense. Any other failed tool has not done its work.
  local has_happened = item.status == "done" or item.status == "failed" and item.name == "shell"
  return tool_words.choose_verb(item, has_happened and not is_denied)
end

---Describes a running call for the progress line.
---@param item agent_ls.Item
---@param ctx agent_ls.RenderContext
---@return string
function M.describe_activity(item, ctx)
  local object = object_of(item, ctx)
  return object == "" and M.choose_verb(item) .. "…" or ("%s %s"):format(M.choose_verb(item), object)
end

local GLYPHS = {
  writing = { "✎", "AgentLsRunning" },
  running = { "●", "AgentLsRunning" },
  done = { "✓", "AgentLsDone" },
  failed = { "✗", "AgentLsFailed" },
}

local SCOPES = { once = "allowed once", turn = "allowed for this turn", session = "allowed for this session" }

---@param approval agent_ls.Item?
---@return string? description of the decision about a call; nil if there was no approval request or it is pending
function M.describe_decision(approval)
  if not approval or approval.decided_by == "interrupt" then
    return nil
  end
  if approval.status == "allow" then
    return SCOPES[approval.scope] or ("allowed by a rule (%s)"):format(approval.scope or "")
  end
  local reason = approval.reason and (": “%s”"):format(approval.reason) or ""
  return approval.status == "deny" and "denied" .. reason or nil
end

---@param result agent_ls.wire.ToolCallEnd
---@return string? the outcome; for a command the last line of its output, which says more than the exit code
local function result_words(result)
  local last_line = result.summary:match("^exit %-?%d+: (.+)$")
  if last_line then
    return last_line
  end
  if result.summary ~= "" then
    return result.summary ~= "exit 0" and result.summary or nil
  end
  return result.exitCode and result.exitCode ~= 0 and "exit " .. result.exitCode or nil
end

---@param item agent_ls.Item
---@return string
local function outcome(item)
  local result = item.result
  local decision = M.describe_decision(item.decision)
  if item.status == "writing" then
    return plural(item.arguments.length, "character")
  end
  if not result then
    return item.background and "in the background" or ""
  end
  local is_denied = item.decision and item.decision.status == "deny" and decision
  local words = { is_denied or result_words(result) }
  if (result.durationMs or 0) >= 1000 then
    words[#words + 1] = ("%.1f s"):format(result.durationMs / 1000)
  end
  words[#words + 1] = not is_denied and decision or nil
  return table.concat(words, " · ")
end

---@param text string JSON, which may be incomplete
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

---Adds the arguments and the output of an expanded call.
---@param item agent_ls.Item
---@param out agent_ls.Canvas
local function draw_details(item, out)
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

---Draws the row of one call.
---@param item agent_ls.Item
---@param ctx agent_ls.RenderContext
---@param out agent_ls.Canvas
local function draw_row(item, ctx, out)
  local glyph, group = unpack(GLYPHS[item.status])
  local verb, object, outcome_text = M.choose_verb(item), object_of(item, ctx), outcome(item)
  local chunks = { { glyph .. " ", group }, { verb, "AgentLsName" } }
  local room = ctx.width - vim.api.nvim_strwidth(verb) - 3
  local is_long = vim.api.nvim_strwidth(object) + vim.api.nvim_strwidth(outcome_text) + 3 > room
  if object ~= "" then
    -- Cut a long command, so that its outcome stays visible. The reason of a failure is on a separate line below.
    local wanted = item.status == "failed" and room
      or room - math.min(vim.api.nvim_strwidth(outcome_text) + 3, math.floor(room / 2))
    local icon, icon_group = unpack(is_of_file(item) and icons.find_icon(item.summary) or {})
    chunks[#chunks + 1] = { " " }
    chunks[#chunks + 1] = icon and { icon .. " ", icon_group } or nil
    local shorten, least = cut, MIN_OBJECT
    if is_of_file(item) then -- the name of the file says more than its number of lines
      shorten, least = canvas.shorten_path, math.min(room, 2 + vim.api.nvim_strwidth(object:match("[^/]*$")))
    end
    chunks[#chunks + 1] = { is_long and shorten(object, math.max(least, wanted)) or plain(object) }
  end
  local outcome_group = item.status == "failed" and "AgentLsFailed" or "AgentLsDim"
  local used = 0
  for _, chunk in ipairs(chunks) do
    used = used + vim.api.nvim_strwidth(chunk[1])
  end
  local fits = used + vim.api.nvim_strwidth(outcome_text) + 3 <= ctx.width
  if outcome_text ~= "" and (fits or item.status ~= "failed" and ctx.width - used > MIN_OUTCOME) then
    local text = fits and outcome_text or cut(outcome_text, math.max(1, ctx.width - used - 3))
    chunks[#chunks + 1] = { " · " .. plain(text), outcome_group }
  end
  out:add(chunks)
  local clock = ctx.elapsed and ctx.elapsed(item)
  if clock then
    out:add_end(clock, "AgentLsDim", ctx.width)
  end
  if outcome_text ~= "" and not fits and item.status == "failed" then
    out:add({ { "  " .. plain(outcome_text), outcome_group } }) -- the whole reason of the failure
  end
end

local SEVERITIES = { error = { "✗ ", "AgentLsFailed" }, warning = { "! ", "AgentLsWarn" }, info = { "· ", "AgentLsRunning" } }

---Draws a finding of a review: its severity and place, and below them what is wrong.
---@param item agent_ls.Item of kind tool
---@param ctx agent_ls.RenderContext
---@param out agent_ls.Canvas
---@return boolean is_drawn false if the call reports no finding
local function draw_finding(item, ctx, out)
  local given = item.name == "report_finding" and item.status ~= "failed" and arguments_of(item) or {}
  local path, line, message = given.file_path, tonumber(given.start_line), given.message
  if type(path) ~= "string" or not line or type(message) ~= "string" then
    return false
  end
  local place = ("%s:%d"):format(ctx.relative(path), line)
  out:add({ SEVERITIES[given.severity] or SEVERITIES.info, { canvas.shorten_path(place, ctx.width - 3), "AgentLsPath" } })
  for _, words in ipairs(vim.split(vim.trim(message), "\n", { plain = true })) do
    out:add({ { "  " }, { plain(words) } })
  end
  return true
end

---@param item agent_ls.Item of kind tool
---@param ctx agent_ls.RenderContext
---@param out agent_ls.Canvas
function M.render_tool(item, ctx, out)
  if M.is_group_head(item) then
    M.render_group(item, ctx, out)
    if not M.is_group_open(item, ctx) then
      return
    end
  end
  if not draw_finding(item, ctx, out) then
    draw_row(item, ctx, out)
  end
  if item.waiting then
    out:add({ { "  waits for your input  (:AgentLs terminal)", "AgentLsWarn" } })
  end
  if ctx.expanded[item.id] == true then
    draw_details(item, out)
  elseif item.status == "running" then
    local count = line_count(item.part)
    output_lines(out, item.part.lines, math.max(1, count - TAIL_LINES + 1), count)
  end
end

---@param item agent_ls.Item of kind tool
---@return boolean true for a finished edit call with exactly one change: the block of the change replaces its row
function M.is_one_change(item)
  return item.status == "done" and tool_words.is_edit(item) and item.changes ~= nil and #item.changes == 1
end

---Returns the file that a call works on.
---@param item agent_ls.Item of kind tool
---@return {path: string, uri: string, line: integer?}?
function M.find_file(item)
  local arguments = arguments_of(item)
  local path = (is_of_file(item) or item.name == "report_finding") and arguments.file_path
  if type(path) ~= "string" then
    return nil
  end
  path = vim.fs.abspath(vim.fs.normalize(path))
  return { path = path, uri = vim.uri_from_fname(path), line = tonumber(arguments.offset or arguments.start_line) }
end

-- Groups of read-only calls ----------------------------------------------------------------------------------------

local GROUP_LEAST = 3 -- minimum of calls in a group; fewer are as quick to read as a summary

---@param item agent_ls.Item
---@return boolean the item draws the row of its group
function M.is_group_head(item)
  local group = item.group
  return group ~= nil and #group >= GROUP_LEAST and group[1] == item
end

---@param item agent_ls.Item a call in a group
---@param ctx agent_ls.RenderContext
---@return boolean
function M.is_group_open(item, ctx) return ctx.expanded["group:" .. item.group[1].id] == true end

---@param item agent_ls.Item
---@param ctx agent_ls.RenderContext
---@return boolean the row of its collapsed group shows the item
function M.is_in_closed_group(item, ctx)
  local group = item.group
  return group ~= nil and #group >= GROUP_LEAST and group[1] ~= item and not M.is_group_open(item, ctx)
end

---@param head agent_ls.Item
---@param ctx agent_ls.RenderContext
---@param out agent_ls.Canvas
function M.render_group(head, ctx, out)
  local counts, order = {}, {}
  for _, item in ipairs(head.group) do
    if not counts[item.look] then
      order[#order + 1] = item.look
    end
    counts[item.look] = (counts[item.look] or 0) + 1
  end
  local words = table.concat(vim.tbl_map(function(look) return tool_words.describe_group(look, counts[look]) end, order), ", ")
  out:add({
    { M.is_group_open(head, ctx) and "▾ " or "▸ ", "AgentLsDim" },
    { cut(words:sub(1, 1):upper() .. words:sub(2), ctx.width - 3), "AgentLsName" },
  })
end

return M
