-- req: H3, H10
local snapshot = require("agent_ls.snapshot")
local support = require("support")

local spec = {}

---@param item agent_ls.Item
---@param wanted table the expected item; only its fields are compared
local function view_of(item, wanted)
  local out = {}
  for name in pairs(wanted) do
    out[name] = item[name]
  end
  if wanted.text and item.part then
    out.text = table.concat(item.part.lines, "\n")
  end
  if wanted.open ~= nil then
    out.open = item.part.open
  end
  return out
end

for _, case in ipairs(support.golden("folds.json").cases) do
  spec["golden: " .. case.name] = function()
    local s = snapshot.new()
    local outcomes = {}
    for i, step in ipairs(case.steps) do
      outcomes[i] = step.event and snapshot.apply(s, step.event) or snapshot.apply_subscription(s, step.subscribed)
    end
    support.same(outcomes, case.outcomes, "outcomes")
    support.same(s.last_seq, case.view.lastSeq, "last seq")
    support.same(s.state, case.view.state, "state")
    support.same(#s.items, #case.view.items, "number of items")
    for i, wanted in ipairs(case.view.items) do
      support.same(view_of(s.items[i], wanted), wanted, "item " .. i)
    end
    local pending = vim.tbl_map(function(item) return item.id end, snapshot.pending_approvals(s))
    support.same(pending, case.view.pending or {}, "pending")
    local queued = vim.tbl_map(function(item) return item.queuedId end, s.queue)
    support.same(queued, case.view.queue or {}, "queue")
  end
end

spec["a session of another editor is read-only, and its requests are not pending here"] = function()
  local s = snapshot.new()
  local asked = { requestId = "r1", callId = "c1", tool = "shell", summary = "make", effect = {}, rules = {} }
  snapshot.apply(s, { sessionId = "s1", seq = 1, kind = "approval_requested", data = asked })
  support.same(#snapshot.pending_approvals(s), 1)

  local event = support.golden("access.json").event
  support.same(snapshot.apply(s, event), "applied")
  support.same({ s.last_seq, snapshot.is_read_only(s), #snapshot.pending_approvals(s) }, { 1, true, 0 })
  support.same(s.session.owner, event.data.owner)
  support.same(s.items[2].text, "Neovim (process 4711 on ada) has this session open, so it is read-only here.")
  support.same(snapshot.describe_activity(s), "idle")

  snapshot.apply(s, { sessionId = "s1", seq = 2, kind = "session_end", data = { state = "CLOSED", reason = "completed" } })
  support.same(#s.items, 2, "that it ended here is no closed session")
  snapshot.apply(s, { sessionId = "s1", kind = "access", data = { access = "owner" } })
  support.same({ #snapshot.pending_approvals(s), s.items[3].text }, { 1, "This editor now owns the session." })
end

---@return agent_ls.Snapshot
local function whole_session()
  local s = snapshot.new()
  for _, event in ipairs(support.golden("session.json").events) do
    support.same(snapshot.apply(s, event), "applied", event.kind)
  end
  return s
end

spec["the golden session gives the expected items"] = function()
  local shown = vim.tbl_map(
    function(item) return item.kind .. (item.status and " " .. item.status or "") end,
    whole_session().items
  )
  support.same(shown, {
    "user",
    "reasoning",
    "text",
    "tool done",
    "tool done",
    "file",
    "tool done",
    "approval allow",
    "steer injected",
    "steer removed",
    "retry done",
    "notice",
    "notice",
    "compaction done",
    "notice",
    "plan",
    "tool failed",
    "approval deny",
    "subagent completed",
    "text",
    "question answered",
    "notice",
    "end",
    "reverted",
    "notice",
  })
end

spec["the golden session gives the state that views use"] = function()
  local s = whole_session()
  support.same(s.session.title, "Never let the total be negative")
  support.same(s.usage, {
    input = 1200,
    output = 80,
    context = 1280,
    window = 200000,
    cost = 0.00264,
    parts = { system = 500, tools = 300, documents = 60, history = 220, toolOutput = 200 },
  })
  support.same(s.hunks.h1.state, "kept")
  support.same(s.terminals.term1.exit_code, 0)
  support.same(s.terminals.term1.running, false)
  support.same(s.calls.c3.terminal_id, "term1")
  support.same(s.queue, {})
  support.same(snapshot.describe_activity(s), "closed")
end

spec["live events and a subscription give the same items"] = function()
  local events = vim.tbl_filter(function(event) return event.seq end, support.golden("session.json").events)
  local result = {
    events = events,
    lastSeq = #events,
    session = { state = "CLOSED" },
    openParts = {},
    pending = { approvals = {}, questions = {}, hunks = {} },
  }
  local s = snapshot.new()
  support.same(snapshot.apply_subscription(s, result), "applied")
  local live = whole_session()
  support.same(#s.items, #live.items)
  for i, item in ipairs(s.items) do
    support.same(
      { item.kind, item.id, item.status },
      { live.items[i].kind, live.items[i].id, live.items[i].status }
    )
    support.same(item.part and item.part.lines, live.items[i].part and live.items[i].part.lines)
  end
end

spec["take_changed reports each changed item once, by index"] = function()
  local s = whole_session()
  support.same(#snapshot.take_changed(s), #s.items)
  support.same(snapshot.take_changed(s), {})
  snapshot.add_notice(s, "warn", "careful", "do this")
  support.same(snapshot.take_changed(s), { #s.items })
end

-- req: T7
spec["a plan is updated in place until the next message of the user"] = function()
  local s = snapshot.new()
  local function plan(seq, ...)
    local steps = vim.tbl_map(function(status) return { text = "a step", status = status } end, { ... })
    snapshot.apply(s, { seq = seq, kind = "plan", data = { explanation = "", items = steps } })
  end
  plan(1, "active", "pending")
  plan(2, "done", "active")
  support.same(#s.items, 1)
  support.same(s.items[1].steps[2].status, "active")
  snapshot.apply(s, { seq = 3, kind = "user_input", data = { text = "And now?" } })
  plan(4, "pending")
  plan(5)
  plan(6, "done")
  support.same(vim.tbl_map(function(item) return item.kind end, s.items), { "plan", "user", "plan", "plan" })
end

-- req: H6
spec["rolled back items are marked until the rollback is reverted"] = function()
  local s = snapshot.new()
  local event = function(seq, kind, turn_id, data)
    snapshot.apply(s, { seq = seq, kind = kind, turnId = turn_id, data = data })
  end
  local function out() return vim.tbl_map(function(item) return item.is_out or false end, s.items) end
  event(1, "user_input", "t1", { text = "one" })
  event(2, "user_input", "t2", { text = "two" })
  local roll_back = { revertId = "r1", atTurnId = "t2", conversation = true, turns = { "t2" }, restoredTurns = {}, files = {} }
  event(3, "reverted", nil, roll_back)
  support.same(out(), { false, true, false })
  local back = { revertId = "r2", atTurnId = "r1", conversation = true, turns = {}, restoredTurns = { "t2" }, files = {} }
  event(4, "reverted", nil, back)
  support.same(out(), { false, false, false, false })
  event(5, "reverted", nil, vim.tbl_extend("force", roll_back, { conversation = false }))
  support.same(out(), { false, false, false, false, false })
end

-- req: E5
spec["items of a subagent have its id, and its usage does not change the session's context"] = function()
  local s = snapshot.new()
  local event = function(seq, kind, data, agent_id)
    snapshot.apply(s, { seq = seq, kind = kind, turnId = "t1", agentId = agent_id, data = data })
  end
  local usage = function(input, context)
    local total = { inputTokens = input, outputTokens = 1 }
    return { total = total, contextTokens = context, contextWindowTokens = 100, totalCostUsd = 0.5 }
  end
  event(1, "usage", usage(10, 50))
  event(2, "subagent", { agentId = "agent_1", status = "running", task = "Look", turnsUsed = 0, output = "", reason = "" })
  event(3, "tool_call_start", { callId = "c1", name = "grep", arguments = "{}", summary = "x" }, "agent_1")
  event(4, "plan", { items = { { text = "a", status = "active" } } }, "agent_1")
  event(5, "usage", usage(30, 90), "agent_1")
  event(6, "subagent", { agentId = "agent_1", status = "completed", task = "Look", turnsUsed = 2, output = "Found.", reason = "" })
  support.same(vim.tbl_map(function(item) return item.kind end, s.items), { "subagent", "tool" })
  support.same({ s.items[1].status, s.items[1].turns, s.items[2].agent_id }, { "completed", 2, "agent_1" })
  support.same({ s.usage.input, s.usage.context }, { 30, 50 })
end

spec["describe_activity follows the turn and its approvals"] = function()
  local s = snapshot.new()
  support.same(snapshot.describe_activity(s), "idle")
  snapshot.apply(s, { seq = 1, kind = "state", data = { state = "PROCESSING" } })
  support.same(snapshot.describe_activity(s), "working")
  local request = { requestId = "a", callId = "c", tool = "shell", summary = "ls", rules = {} }
  snapshot.apply(s, { seq = 2, kind = "approval_requested", data = request })
  support.same(snapshot.describe_activity(s), "waiting")
  snapshot.apply(s, { seq = 3, kind = "approval_resolved", data = { requestId = "a", decision = "allow" } })
  support.same(snapshot.describe_activity(s), "working")
end

return spec
