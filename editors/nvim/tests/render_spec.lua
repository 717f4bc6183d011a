-- req: H10
local markdown = require("agent_ls.chat.markdown")
local render = require("agent_ls.chat.render")
local snapshot = require("agent_ls.snapshot")
local support = require("support")

local spec = {}

local context = support.render_context

---@return agent_ls.Snapshot
local function session_until(kind)
  local s = snapshot.new()
  for _, event in ipairs(support.golden("session.json").events) do
    -- Skip the rollback, which would dim the items; another spec tests that.
    snapshot.apply(s, event.kind == "reverted" and { seq = event.seq, kind = "nothing" } or event)
    if event.kind == kind then
      break
    end
  end
  return s
end

---@param s agent_ls.Snapshot
---@param kind string
---@return agent_ls.Item
local function last_of(s, kind)
  return vim.iter(s.items):rev():find(function(item) return item.kind == kind end)
end

---@param item agent_ls.Item
---@param ctx agent_ls.RenderContext
---@return string[] lines, each with its virtual text at the end
local function drawn(item, ctx)
  local rendered = render.render_item(item, ctx)
  local lines = vim.list_slice(rendered.lines)
  for _, mark in ipairs(rendered.marks) do
    if mark.opts.virt_text and mark.opts.virt_text_pos ~= "overlay" then
      lines[mark.row + 1] = lines[mark.row + 1] .. mark.opts.virt_text[1][1]
    end
  end
  return lines
end

spec["an approval shows the exact command, the reason and the offered rule"] = function()
  local s = session_until("approval_requested")
  support.same(drawn(last_of(s, "approval"), context(s)), {
    "┃ Run this command?",
    "┃   python -m pytest -q",
    "┃   in the project folder",
    "┃ Commands are asked about in this mode.",
    "┃ a allow once   d deny   c change",
    "┃ A commands that start with python -m pytest (this session)",
  })
end

spec["an approval of a change shows its diff"] = function()
  local s = snapshot.new()
  for _, event in ipairs(support.golden("session.json").events) do
    if event.kind == "approval_requested" and event.data.requestId == "a2" then
      s.last_seq = event.seq - 1
      snapshot.apply(s, event)
    end
  end
  local lines = drawn(s.items[1], context(s))
  support.same(
    vim.list_slice(lines, 1, 3),
    { "┃ Make this change?", "┃   create notes.md", "┃ + hello" }
  )
end

-- req: X8
spec["the request to trust a folder shows its path and the answers"] = function()
  local request = {
    requestId = "a",
    tool = "trust",
    summary = "trust /home/ada/shop",
    reason = "Why.",
    effect = { folder = "/home/ada/shop", owner = "1000" },
    rules = {},
  }
  local item = { kind = "approval", id = "a", index = 1, status = "pending", request = request }
  support.same(drawn(item, context()), {
    "┃ Do you trust this folder?",
    "┃   /home/ada/shop",
    "┃ Why.",
    "┃ a trust it   d do not",
  })
  item.status = "allow"
  support.same(drawn(item, context()), { "✓ trusted: /home/ada/shop" })
  item.status = "deny"
  support.same(drawn(item, context()), { "✗ not trusted: /home/ada/shop" })
end

spec["an approval shows every line of a command unchanged"] = function()
  local request =
    { requestId = "a", tool = "shell", summary = "s", reason = "", effect = { command = "a &&\n  b\t-c" }, rules = {} }
  local item = { kind = "approval", id = "a", index = 1, status = "pending", request = request }
  local lines = drawn(item, context())
  support.same(vim.list_slice(lines, 2, 3), { "┃   a &&", "┃     b\t-c" })
end

spec["an approval of process input shows the text and the process"] = function()
  local effect = { command = "yes\n", workingDir = "/w", inputOf = "p1" }
  local request = { requestId = "a", tool = "processes", summary = "write p1 yes", reason = "", effect = effect, rules = {} }
  local lines = drawn({ kind = "approval", id = "a", index = 1, status = "pending", request = request }, context())
  support.same(lines[2], "┃   yes")
  assert(table.concat(lines, "\n"):find("typed into the background process p1", 1, true), vim.inspect(lines))
end

spec["an approval of a fetch shows the whole URL"] = function()
  local url = "https://a.example/" .. ("b"):rep(150)
  local request = { requestId = "a", tool = "web_fetch", summary = "s", reason = "", effect = { url = url }, rules = {} }
  local lines = drawn({ kind = "approval", id = "a", index = 1, status = "pending", request = request }, context())
  support.same(lines[2], "┃   " .. url)
end

spec["an approval of a custom tool shows its whole command and environment"] = function()
  local effect = { tool = "deploy", text = "./deploy --to production", envVars = { { "TOKEN", "${TOKEN}" } } }
  local request = { requestId = "a", tool = "deploy", summary = "./dep…", reason = "", effect = effect, rules = {} }
  local item = { kind = "approval", id = "a", index = 1, status = "pending", request = request }
  local lines = drawn(item, context())
  support.same(
    vim.list_slice(lines, 1, 3),
    { "┃ Allow deploy?", "┃   ./deploy --to production", "┃   with TOKEN=${TOKEN}" }
  )
end

spec["the row of a call shows the decision, with the reason of a denial"] = function()
  local s = session_until("session_end")
  support.same(drawn(s.requests.a1, context(s)), {})
  support.same(drawn(s.requests.a2, context(s)), {})
  support.same(drawn(s.calls.c4, context(s)), { "✗ Writing notes.md · denied: “not now”" })
end

spec["a decision without a call is one line, with the reason of a denial"] = function()
  local s = session_until("session_end")
  s.requests.a1.call, s.requests.a2.call = nil, nil
  support.same(drawn(s.requests.a1, context(s)), { "✓ allowed for this session: python -m pytest -q" })
  support.same(drawn(s.requests.a2, context(s)), { "✗ denied: notes.md", "  “not now”" })
end

spec["a call is one line, with its outcome"] = function()
  local s = session_until("session_end")
  support.same(drawn(s.calls.c1, context(s)), { "✓ Read shop/cart.py · 14 lines" })
  support.same(drawn(s.calls.c3, context(s)), {
    "✓ Ran python -m pytest -q · 3 passed · 1.2 s · allowed for …",
  })
end

---@param fields table
---@return agent_ls.Item
local function call_item(fields)
  local text = fields.arguments or "{}"
  local arguments = { lines = { text }, length = #text, open = false }
  local item = { kind = "tool", id = "c", index = 1, status = "done", part = { lines = { "" } } }
  item = vim.tbl_extend("force", item, fields)
  item.arguments = arguments
  return item
end

---@type table<string, {[1]: table, [2]: string}>
local ROWS = {
  ["a range of lines"] = {
    { name = "read_file", look = "read", doing = "Reading", done = "Read", summary = "util.py", arguments = '{"offset": 40, "limit": 21}' },
    "✓ Read util.py 40–60",
  },
  ["a last line"] = {
    { name = "read_file", look = "read", doing = "Reading", done = "Read", summary = "util.py", arguments = '{"offset": 40, "end_line": 60}' },
    "✓ Read util.py 40–60",
  },
  ["the rest of a file"] = {
    { name = "read_file", look = "read", doing = "Reading", done = "Read", summary = "util.py", arguments = '{"offset": 40}' },
    "✓ Read util.py 40–",
  },
  ["a failed command by its last line"] = {
    {
      name = "shell",
      look = "execute",
      doing = "Running",
      done = "Ran",
      summary = "pytest -q",
      status = "failed",
      result = { summary = "exit 1: 3 failed", durationMs = 2100, exitCode = 1 },
    },
    "✗ Ran pytest -q · 3 failed · 2.1 s",
  },
  ["a tool without a verb"] = {
    { name = "deploy", summary = "deploy: to production", result = { summary = "", durationMs = 5 } },
    "✓ deploy to production",
  },
}

for name, case in pairs(ROWS) do
  spec["a row of a call says " .. name] = function()
    support.same(drawn(call_item(case[1]), context()), { case[2] })
  end
end

spec["the outcome of a long command stays visible"] = function()
  local result = { summary = "exit 0: 12 passed", durationMs = 2100, exitCode = 0 }
  local lines = drawn(call_item({ name = "shell", done = "Ran", summary = ("make "):rep(30), result = result }), context())
  support.same(#lines, 1)
  assert(lines[1]:find("… · 12 passed · 2.1 s", 1, true), lines[1])
end

spec["an expanded call shows its arguments and output"] = function()
  local s = session_until("session_end")
  local ctx = context(s)
  ctx.expanded.c3 = true
  support.same(drawn(s.calls.c3, ctx), {
    "✓ Ran python -m pytest -q · 3 passed · 1.2 s · allowed for …",
    "  command: python -m pytest -q",
    "│ ...",
    "│ 3 passed",
  })
end

spec["a long output is cut in the middle, with a note"] = function()
  local s = session_until("session_end")
  local ctx, lines = context(s), {}
  for i = 1, 1000 do
    lines[i] = "line " .. i
  end
  s.calls.c3.part.lines, ctx.expanded.c3 = lines, true
  local shown = drawn(s.calls.c3, ctx)
  support.same(#shown, 2 + 200 + 1)
  support.same(shown[103], "│ ⋯ 800 lines not shown here")
  support.same(shown[#shown], "│ line 1000")
end

spec["a running command shows its last lines without colours"] = function()
  local part =
    { lines = { "1", "2", "3", "\27[31m4\27[0m", "10%\r50%\r100%\r", "" }, length = 20, open = true }
  local arguments = { lines = { "{}" }, length = 2, open = false }
  local item = { kind = "tool", id = "c", index = 1, name = "shell", doing = "Running", done = "Ran", summary = "make", status = "running" }
  item.part, item.arguments = part, arguments
  support.same(drawn(item, context()), { "● Running make", "│ 2", "│ 3", "│ 4", "│ 100%" })
end

spec["a change shows its diff and the states of its hunks"] = function()
  local s = session_until("file_change")
  support.same(drawn(last_of(s, "file"), context(s)), {
    "± shop/cart.py +2 −1  1 to review",
    "        total = sum(prices)",
    "  -     return total - discount",
    "  +     total -= discount",
    "  +     return max(total, 0)",
    "    ",
  })
  s = session_until("session_end")
  support.same(drawn(last_of(s, "file"), context(s))[1], "± shop/cart.py +2 −1  1 kept")
end

spec["a long diff is cut, and can be expanded"] = function()
  local s = session_until("file_change")
  local item, ctx = last_of(s, "file"), context(s)
  item.diff = "--- a\n+++ b\n@@ -0,0 +1,30 @@\n" .. ("+x\n"):rep(30)
  local shown = drawn(item, ctx)
  support.same(shown[#shown], "  ⋯ 15 more lines (<CR>)")
  ctx.expanded[item.id] = true
  support.same(#drawn(item, ctx), 31)
  ctx.expanded[item.id] = false
  support.same(#drawn(item, ctx), 1)
end

spec["reasoning is one line until it is expanded"] = function()
  local s = session_until("reasoning_end")
  support.same(drawn(last_of(s, "reasoning"), context(s)), { "▸ Thought: The total may be negative 😀." })
  local ctx = context(s)
  ctx.expanded.r1 = true
  support.same(render.is_stream(last_of(s, "reasoning"), ctx), true)
end

spec["an error says what to do next, with its key while it is the newest one"] = function()
  local s = session_until("error")
  local error_item, ctx = last_of(s, "notice"), context(s)
  support.same(drawn(error_item, ctx), {
    "✗ The key was refused by the provider.",
    "┃ Enter a key with :AgentLs key, then send the message again. :AgentLs demo needs no key.",
  })
  ctx.failure = s.failure
  support.same(drawn(error_item, ctx)[3], "┃ <CR> set a key… · send again · choose a model… · walkthrough without a key")
  ctx.keys = vim.tbl_extend("force", ctx.keys, { expand = false })
  support.same(drawn(error_item, ctx)[3], "┃ :AgentLs key · :AgentLs retry · :AgentLs model · :AgentLs demo")
  s.last_seq = s.last_seq + 1
  snapshot.apply(s, { seq = s.last_seq + 1, kind = "user_input", data = { text = "again" } })
  support.same(s.failure, nil)
end

spec["a retry says when and why"] = function()
  local s = session_until("retry")
  local shown = drawn(last_of(s, "retry"), context(s))
  support.same(shown, { "↻ Trying again in 2 s (attempt 1): The provider is overloaded." })
end

spec["a finished retry says how it ended"] = function()
  local retry = { kind = "retry", attempt = 2, delay_ms = 2000, text = "The provider is overloaded." }
  local ctx = context(session_until("retry"))
  support.same(drawn(vim.tbl_extend("force", retry, { status = "done" }), ctx), {
    "↻ Tried again: The provider is overloaded.",
  })
  support.same(drawn(vim.tbl_extend("force", retry, { status = "failed" }), ctx), { "↻ Tried 3 times." })
end

spec["the reason of a failed call is below its row if it does not fit in it"] = function()
  local item = {
    kind = "tool",
    id = "c1",
    name = "shell",
    doing = "Running",
    done = "Ran",
    summary = "make test",
    status = "failed",
    part = { lines = { "" } },
    result = { summary = "exit 2: no rule to make the target, and a long story about why", durationMs = 5 },
  }
  local ctx = context(session_until("retry"))
  support.same(drawn(item, vim.tbl_extend("force", ctx, { width = 40 })), {
    "✗ Ran make test",
    "  no rule to make the target, and a long story about why",
  })
end

spec["a stream drawn delta by delta equals the text drawn at once"] = function()
  local text = "# Title\n\nSome **bold** and `code`.\n\n```lua\nlocal x = 1\n# no title\n```\n- item\n"
  local whole = render.render_stream({ lines = vim.split(text, "\n"), length = 0, open = true }, 1, nil, false)
  local lines, marks, fence, final = {}, {}, nil, 0
  for cut = 1, #text do
    local part = { lines = vim.split(text:sub(1, cut), "\n"), length = 0, open = true }
    local piece, last_fence = render.render_stream(part, final + 1, fence, false)
    for i = final + 1, #lines do
      lines[i] = nil
    end
    marks = vim.tbl_filter(function(mark) return mark.row < final end, marks)
    for i, line in ipairs(piece.lines) do
      lines[final + i] = line
    end
    for _, mark in ipairs(piece.marks) do
      table.insert(marks, { row = mark.row + final, col = mark.col, opts = mark.opts })
    end
    final, fence = final + #piece.lines - 1, last_fence
  end
  support.same(lines, whole.lines)
  support.same(marks, whole.marks)
end

---@type table<string, {[1]: string, [2]: string}>
local INLINE = {
  ["bold"] = { "a **b c** d", "Strong" },
  ["code keeps stars"] = { "see `**kwargs**` there", "InlineCode" },
  ["emphasis"] = { "an *important* word", "Emphasis" },
  ["a multiplication is no emphasis"] = { "2 * 3 * 4", "" },
  ["a name with underscores"] = { "some_name_here", "" },
  ["a heading"] = { "## Next", "Heading" },
}

for name, case in pairs(INLINE) do
  spec["markdown: " .. name] = function()
    local groups = {}
    for _, mark in ipairs((markdown.render_line(case[1], nil))) do
      groups[#groups + 1] = mark.opts.hl_group and mark.opts.hl_group:gsub("AgentLs", "") or nil
    end
    support.same(table.concat(groups, " "), case[2])
  end
end

spec["markdown: a link to a web page shows its label, and the mark has the address"] = function()
  local marks, _, text = markdown.render_line("- see [the *docs*](https://example.org/a?b=c) and **[here](b.md)**, `x`", nil)
  support.same(text, "- see the *docs* and **[here](b.md)**, `x`")
  support.same(marks[2], { col = 6, opts = { end_col = 16, hl_group = "AgentLsLink", url = "https://example.org/a?b=c" } })
  local code = marks[#marks - 1]
  support.same(text:sub(code.col + 1, code.opts.end_col), "x")
end

spec["markdown: marks of a quote with a link end within its text"] = function()
  local marks, _, text = markdown.render_line("> see [docs](https://example.org/a/b)", nil)
  support.same(text, "> see docs")
  for _, mark in ipairs(marks) do
    support.same(mark.col <= #text and (mark.opts.end_col or 0) <= #text, true)
  end
end

spec["markdown: the target of a link to a file is concealed and stays in the text"] = function()
  for _, line in ipairs({ "[a](b.md)", "[a](https://x/\27]0;title\7)", "[a](javascript:alert)" }) do
    local marks, _, text = markdown.render_line(line, nil)
    support.same(text, line)
    support.same(marks[#marks].opts.conceal, "")
    support.same(vim.iter(marks):any(function(mark) return mark.opts.url ~= nil end), false)
  end
end

spec["markdown: a fence is closed only by a matching fence"] = function()
  local _, fence = markdown.render_line("````md", nil)
  support.same(fence, "````")
  _, fence = markdown.render_line("```", fence)
  support.same(fence, "````")
  _, fence = markdown.render_line("````", fence)
  support.same(fence, nil)
end

---@param seq integer
---@param kind string
---@param data table
---@param agent_id string?
---@return agent_ls.wire.Event
local function event(seq, kind, data, agent_id)
  return { seq = seq, kind = kind, turnId = "t1", agentId = agent_id, data = data, sessionId = "s1" }
end

spec["an attachment of a message is one line that can be expanded"] = function()
  local text = "Selected in /home/ada/shop/cart.py, lines 9 to 11:\n```\na\nb\n```\n\nuse a table\nplease"
  local item, ctx = { kind = "user", id = "u", index = 1, text = text }, context()
  support.same(drawn(item, ctx), { "▸ cart.py lines 9 to 11", "❯ use a table", "  please" })
  ctx.expanded.u = true
  support.same(#drawn(item, ctx), 8)
end

spec["an edit is one block that holds its decision and its diff"] = function()
  local s = snapshot.new()
  local request = { requestId = "a", callId = "c1", tool = "edit_file", summary = "a.py", reason = "", effect = {}, rules = {} }
  local change = {
    callId = "c1",
    path = "/home/ada/shop/a.py",
    uri = "file:///home/ada/shop/a.py",
    action = "modify",
    added = 1,
    removed = 0,
    diff = "@@ -1 +1,2 @@\n one\n+two\n",
    hunks = {},
  }
  local ended = { callId = "c1", name = "edit_file", output = "", summary = "1 replacement", isError = false, durationMs = 5 }
  local allowed = { requestId = "a", decision = "allow", scope = "once", decidedBy = "u", reason = "" }
  snapshot.apply(s, event(1, "tool_call_start", { callId = "c1", name = "edit_file", arguments = "{}", summary = "a.py", look = "edit", doing = "Editing", done = "Edited" }))
  snapshot.apply(s, event(2, "approval_requested", request))
  snapshot.apply(s, event(3, "approval_resolved", allowed))
  snapshot.apply(s, event(4, "file_change", change))
  snapshot.apply(s, event(5, "tool_call_end", ended))
  local lines = {}
  for _, item in ipairs(s.items) do
    vim.list_extend(lines, drawn(item, context(s)))
  end
  support.same(lines, { "± a.py +1 −0  allowed once", "    one", "  + two" })
end

spec["consecutive read-only calls are one row that can be expanded"] = function()
  local s = snapshot.new()
  for i, name in ipairs({ "read_file", "read_file", "grep" }) do
    local id = "c" .. i
    local started = { callId = id, name = name, arguments = "{}", summary = "x" .. i }
    local look = name == "grep" and { look = "search", done = "Searched" } or { look = "read", done = "Read" }
    snapshot.apply(s, event(2 * i - 1, "tool_call_start", vim.tbl_extend("error", started, look)))
    local ended = { callId = id, name = name, output = "", summary = "", isError = false, durationMs = 5 }
    snapshot.apply(s, event(2 * i, "tool_call_end", ended))
  end
  local ctx = context(s)
  local all = function()
    return vim.iter(s.items):map(function(item) return drawn(item, ctx) end):flatten():totable()
  end
  support.same(all(), { "▸ Read 2 files, searched 1 time" })
  ctx.expanded["group:c1"] = true
  support.same(all(), { "▾ Read 2 files, searched 1 time", "✓ Read x1", "✓ Read x2", "✓ Searched x3" })
end

-- req: H18
spec["at a limit, only the choices are offered"] = function()
  local s = snapshot.new()
  local question = { questionId = "q1", question = "More?", choices = { "Go on", "Stop here" }, multiple = false, purpose = "limit" }
  snapshot.apply(s, event(1, "question_asked", question))
  support.same(render.render_item(s.items[1], context(s)).lines, {
    "┃ More?",
    "┃   1 Go on",
    "┃   2 Stop here",
    "┃ <CR> choose   a answer   d leave it open",
  })
end

-- req: E5
spec["the entry of a subagent hides its items, except requests to the user"] = function()
  local s = snapshot.new()
  local about = { agentId = "agent_1", status = "running", task = "Look for it", turnsUsed = 1, output = "", reason = "" }
  snapshot.apply(s, event(1, "subagent", about))
  snapshot.apply(s, event(2, "tool_call_start", { callId = "c1", name = "grep", doing = "Searching", arguments = "{}", summary = "total" }, "agent_1"))
  local question = { questionId = "q1", agentId = "agent_1", question = "Which one?", choices = { "A", "B" }, multiple = false }
  snapshot.apply(s, event(3, "question_asked", question, "agent_1"))
  local ctx = context(s)
  support.same(render.render_item(s.items[1], ctx).lines, { "◇ agent_1 Look for it" })
  support.same(render.render_item(s.items[2], ctx).lines, {})
  support.same(render.render_item(s.items[3], ctx).lines, {
    "  ┊ ┃ agent_1: Which one?",
    "  ┊ ┃   1 A",
    "  ┊ ┃   2 B",
    "  ┊ ┃ <CR> choose   a answer   d leave it open   or write below",
  })
  ctx.expanded.agent_1 = true
  support.same(render.render_item(s.items[2], ctx).lines, { "  ┊ ● Searching total" })
  local answered = { questionId = "q1", answers = { "B" }, declined = false, decidedBy = "", clientKey = "" }
  snapshot.apply(s, event(4, "question_answered", answered, "agent_1"))
  support.same(render.render_item(s.items[3], ctx).lines, { "  ┊ ✓ Which one?", "  ┊   B" })
  about.status, about.output = "completed", "It is in cart.py.\nLine 3."
  snapshot.apply(s, event(5, "subagent", about))
  ctx.expanded.agent_1 = nil
  support.same(render.render_item(s.items[1], ctx).lines, { "◆ agent_1 Look for it", "  └ It is in cart.py." })
end

spec["a compaction summary can be expanded, and rolled back items are dimmed"] = function()
  local s = snapshot.new()
  local data = { compactionId = "k1", status = "started", message = "", summary = "" }
  snapshot.apply(s, event(1, "compaction", data))
  local ctx = context(s)
  support.same(render.render_item(s.items[1], ctx).lines, { "⋯ Summarising the conversation to free space…" })
  data.status, data.message, data.summary = "done", "Made room.", "# So far\n- read"
  snapshot.apply(s, event(2, "compaction", data))
  support.same(#s.items, 1)
  ctx.expanded[s.items[1].id] = true
  support.same(render.render_item(s.items[1], ctx).lines, { "≡ Made room.", "│ # So far", "  - read" })
  snapshot.apply(s, event(3, "user_input", { text = "go" }))
  local back = { revertId = "r1", conversation = true, turns = { "t1" }, restoredTurns = {} }
  back.files = { { path = "/home/ada/shop/cart.py", action = "modify", state = "conflict" } }
  snapshot.apply(s, event(4, "reverted", back))
  support.same(support.groups(render.render_item(s.items[2], ctx)), { "Out" })
  support.same(render.render_item(s.items[3], ctx).lines, {
    "↶ Rolled back 1 message.",
    "  cart.py left unchanged, because the file was edited later",
  })
end

return spec
