-- req: H2, H10
-- The annotations of agent_ls/wire are generated from the server's types. These specs check every field of the golden
-- messages against them. They also check that the plugin reads only fields that a message of its type can have.
local protocol = require("agent_ls.protocol")
local render = require("agent_ls.chat.render")
local snapshot = require("agent_ls.snapshot")
local support = require("support")
local wire_types = require("wire_types")

local spec = {}

---@param value any
---@param class string name of a class whose fields are types, such as "Params"
---@param name string
local function is_of(value, class, name)
  local type_ = wire_types.field("agent_ls.wire." .. class, name)
  assert(type_, ("%s has no %s"):format(class, name))
  support.same(wire_types.misfit(value, type_), nil, name)
end

---@param event agent_ls.wire.Event
local function is_event(event)
  support.same(wire_types.misfit(event, "agent_ls.wire.Event"), nil, event.kind)
  is_of(event.data, "EventData", event.kind)
end

---Calls `take` with each message of the golden file folds.json and its type, except for the event of an unknown kind.
---@param take fun(message: table, type_: string)
local function each_golden_message(take)
  for _, case in ipairs(support.golden("folds.json").cases) do
    for _, step in ipairs(case.steps) do
      if step.subscribed then
        take(step.subscribed, "agent_ls.wire.SubscribeResult")
      elseif step.event.kind ~= "from_the_future" then
        take(step.event, "agent_ls.wire.Event")
      end
    end
  end
end

spec["every golden request and its result match their types"] = function()
  for _, example in ipairs(support.golden("requests.json").requests) do
    is_of(example.params, "Params", example.method)
    if example.result then
      is_of(example.result, "Results", example.method)
    end
  end
end

spec["every golden event matches its type"] = function()
  vim.iter(support.golden("session.json").events):each(is_event)
  is_event(support.golden("access.json").event)
  is_event(support.golden("client_request.json").event)
  each_golden_message(function(message, type_)
    support.same(wire_types.misfit(message, type_), nil, message.kind)
    vim.iter(message.events or { message }):each(is_event)
  end)
end

spec["requests of the server and their answers match their types"] = function()
  for what, example in pairs(support.golden("client_request.json").asked) do
    is_of(example.params, "AskedParams", what)
    is_of(example.result, "AskedResults", what)
  end
  for what, answer in pairs(support.golden("language.json").answers) do
    is_of(answer, "AskedResults", what)
  end
end

spec["misfit describes why a value does not match a type"] = function()
  local event = support.golden("access.json").event
  local function wrong(change, expected)
    local changed = vim.tbl_deep_extend("force", event, change)
    local found = wire_types.misfit(changed, "agent_ls.wire.Event")
      or wire_types.misfit(changed.data, "agent_ls.wire.AccessData")
    assert(found and found:find(expected, 1, true), vim.inspect(found))
  end
  wrong({ when = "now" }, "Event.when: agent_ls.wire.Event has no such field")
  wrong({ data = { access = "mine" } }, 'AccessData.access: "mine" is not')
  wrong({ data = { owner = { pid = "one" } } }, 'AccessData.owner.pid: "one" is no integer')
  event.data.access = nil
  support.same(wire_types.misfit(event.data, "agent_ls.wire.AccessData"), "agent_ls.wire.AccessData.access: it is missing")
end

---@param event agent_ls.wire.Event
local function watched_event(event)
  local class = wire_types.field("agent_ls.wire.EventData", event.kind)
  if class then
    wire_types.watched(event.data, class)
  end
  return wire_types.watched(event, "agent_ls.wire.Event")
end

spec["the plugin reads only fields that a message can have"] = function()
  local whole = snapshot.new()
  for _, event in ipairs(support.golden("session.json").events) do
    support.same(snapshot.apply(whole, watched_event(event)) ~= "gap", true, event.kind)
  end
  local shown = { whole }
  each_golden_message(function(message, type_)
    local s = snapshot.new()
    shown[#shown + 1] = s
    if type_ == "agent_ls.wire.Event" then
      s.last_seq = (message.seq or 1) - 1
      return snapshot.apply(s, watched_event(message))
    end
    vim.iter(message.events):each(watched_event)
    snapshot.apply_subscription(s, wire_types.watched(message, type_))
  end)
  for _, s in ipairs(shown) do
    for _, item in ipairs(s.items) do
      render.render_item(item, support.render_context(s))
    end
  end
end

spec["reading a field that a message cannot have raises an error"] = function()
  local event = watched_event(support.golden("access.json").event)
  support.same(event.turnId, nil)
  support.same(pcall(function() return event.turn_id end), false)
  support.same(pcall(function() return event.data.owner.name end), false)
end

spec["the message parts that the plugin builds match their types"] = function()
  local text = protocol.text_input("hi")
  support.same(wire_types.misfit(text, "agent_ls.wire.TextInput"), nil)
  local lines = protocol.selection_input("file:///a", 1, 2, "x\n")
  support.same(wire_types.misfit(lines, "agent_ls.wire.SelectionInput"), nil)
end

return spec
