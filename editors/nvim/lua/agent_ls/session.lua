-- The sessions of this editor: subscribes to them, applies their events to snapshots, and sends the user's requests.
-- Views register listeners, and draw the reported changes.
local client = require("agent_ls.client")
local client_requests = require("agent_ls.client_requests")
local editor_state = require("agent_ls.editor_state")
local files = require("agent_ls.files")
local log = require("agent_ls.log")
local next_session = require("agent_ls.next_session")
local protocol = require("agent_ls.protocol")
local snapshot = require("agent_ls.snapshot")

local M = {}

local method = protocol.method

---@class agent_ls.Live
---@field snapshot agent_ls.Snapshot
---@field subscribing boolean a subscribe request is pending
---@field early agent_ls.wire.Event[] events that arrived before the answer to that request
---@field gaps integer number of gaps found since the last event that could be applied

local MAX_GAPS = 3 -- after as many gaps stop subscribing again

local sessions = {} ---@type table<string, agent_ls.Live>
local current_id ---@type string?
local empty_snapshot = snapshot.new() -- used while there is no session
local listeners = {} ---@type fun(change: agent_ls.Change)[]

---@class agent_ls.Change
---@field session_id string?
---@field event agent_ls.wire.Event? the event that was applied; nil after a subscription or a notice
---@field files agent_ls.wire.FileHunks[]? the hunks in the answer to a subscription
---@field switched boolean? another session has become the current one
---@field forgotten boolean? the server has ended, so its hunks are no longer valid

---@param listener fun(change: agent_ls.Change)
function M.listen(listener) listeners[#listeners + 1] = log.guard("showing a change", listener) end

---@param change agent_ls.Change
local function tell(change)
  for _, listener in ipairs(listeners) do
    listener(change)
  end
end

---Returns the snapshot of the current session; an empty snapshot if there is none.
---@return agent_ls.Snapshot
function M.snapshot()
  local live = current_id and sessions[current_id]
  return live and live.snapshot or empty_snapshot
end

---@return string?
function M.current_id() return current_id end

---Adds a notice to the panel, and shows its text with vim.notify.
---@param level "warn"|"error"
---@param text string
---@param hint string?
---@param actions string[]? names of remedies
function M.add_notice(level, text, hint, actions)
  snapshot.add_notice(M.snapshot(), level, text, hint, actions)
  log.warn(text)
  tell({ session_id = current_id })
end

local TAKE_OVER = ":AgentLs takeover moves the session to this editor; :AgentLs fork continues in a copy."

---@param id string? of a session; default: the current one
---@return boolean another process owns the session, so that it is read-only here
function M.is_owned_elsewhere(id)
  local live = sessions[id or current_id or ""]
  return live ~= nil and snapshot.is_read_only(live.snapshot)
end

---Warns that an action was refused because another editor owns the session.
---@param what string the action as a participle, such as "sent"
function M.warn_read_only(what) M.add_notice("warn", ("Not %s: another editor has this session."):format(what), TAKE_OVER) end

---@param problem agent_ls.Problem
function M.report(problem)
  if problem.kind == "session_busy" then return M.add_notice("warn", problem.message, TAKE_OVER) end
  if problem.kind ~= client.SERVER_ENDED then
    M.add_notice("error", problem.message, problem.hint, require("agent_ls.remedies").find(nil, problem.kind))
  end
end

---Wraps a callback for a result. If there is a problem, reports it to the user and does not call the callback.
---@param done fun(result: any)?
---@return fun(problem: agent_ls.Problem?, result: any)
function M.report_or(done)
  return function(problem, result)
    if problem then
      M.report(problem)
    elseif done then
      done(result)
    end
  end
end

local subscribe ---@type fun(id: string, done: fun(problem: agent_ls.Problem?)?)

---@param id string
---@param live agent_ls.Live
---@param event agent_ls.wire.Event
local function take(id, live, event)
  local outcome = snapshot.apply(live.snapshot, event)
  if outcome == "applied" then
    live.gaps = 0
    tell({ session_id = id, event = event })
  elseif outcome == "gap" and live.gaps < MAX_GAPS then
    live.gaps = live.gaps + 1
    subscribe(id)
  end
end

---@param id string
---@param live agent_ls.Live
---@param result agent_ls.wire.SubscribeResult
local function on_subscribed(id, live, result)
  if snapshot.apply_subscription(live.snapshot, result) == "gap" and live.gaps < MAX_GAPS then
    live.snapshot, live.gaps = snapshot.new(), live.gaps + 1
    return subscribe(id)
  end
  tell({ session_id = id, files = result.pending.hunks })
  local early = live.early
  live.early = {}
  for _, event in ipairs(early) do
    if live.subscribing then
      table.insert(live.early, event)
    else
      take(id, live, event)
    end
  end
end

function subscribe(id, done)
  local live = sessions[id] or { snapshot = snapshot.new(), early = {}, gaps = 0 }
  sessions[id] = live
  live.subscribing = true
  local params = { sessionId = id, since = live.snapshot.last_seq }
  client.request(method.subscribe, params, function(problem, result)
    live.subscribing = false
    if problem then
      live.early = {}
    else
      on_subscribed(id, live, result)
    end
    if done then
      done(problem)
    elseif problem then
      M.report(problem)
    end
  end)
end

---@param event agent_ls.wire.Event
local function on_event(event)
  if event.kind == "client_request" then
    return client_requests.answer(event)
  end
  local live = sessions[event.sessionId]
  if not live then
    return
  end
  if live.subscribing then
    table.insert(live.early, event)
  else
    take(event.sessionId, live, event)
  end
end

---@param exit agent_ls.Exit
local function on_exit(exit)
  local is_clean = exit.code == 0 and exit.signal == 0
  for _, live in pairs(sessions) do
    live.snapshot.state = "IDLE"
    live.gaps = 0
  end
  tell({ forgotten = true })
  if not is_clean or exit.unanswered > 0 then
    local why = exit.signal ~= 0 and ("signal %d"):format(exit.signal) or ("exit code %d"):format(exit.code)
    local log_path = vim.fn.fnamemodify(vim.lsp.log.get_filename(), ":~")
    local hint = "Your next message restarts the server and continues the session. The log of the server: " .. log_path
    M.add_notice("error", "The server ended unexpectedly (" .. why .. ").", hint)
  end
end

client.on_event = on_event
client.on_exit = on_exit

---Removes a deleted or closed session.
---@param id string
function M.forget(id)
  sessions[id] = nil
  if current_id == id then
    current_id = nil
  end
  tell({ session_id = id, switched = true, files = {} })
end

---@param id string
local function show(id)
  current_id = id
  tell({ session_id = id, switched = true })
end

---@alias agent_ls.Done fun(problem: agent_ls.Problem?)

local awaited ---@type agent_ls.Done[]? requests that wait for the session that is being created, looked up or opened
local openings = 0 -- number of sessions being created, looked up or opened

---Holds messages back until the returned function is called, which sends them to the session that is then current.
---@return agent_ls.Done settle
local function await_session()
  awaited = awaited or {}
  openings = openings + 1
  return function(problem)
    openings = openings - 1
    if openings > 0 then
      return
    end
    local waiting = awaited or {}
    awaited = nil
    for _, each in ipairs(waiting) do
      each(problem)
    end
  end
end

---Whether a session is being created, looked up or opened.
---@return boolean
function M.is_awaited() return awaited ~= nil end

---Opens a live or stored session and makes it current.
---@param id string
---@param done agent_ls.Done?
function M.open(id, done)
  local settle = await_session()
  subscribe(id, function(problem)
    if problem then
      sessions[id] = nil
      M.report(problem)
    else
      editor_state.watch()
      require("agent_ls.diagnostics").watch()
      show(id)
    end
    if done then
      done(problem)
    end
    settle(problem)
  end)
end

---Opens the session that `find` looks up. Messages that are sent before the lookup ends wait for it. If it finds no
---session, they create a new one.
---@param find fun(found: fun(problem: agent_ls.Problem?, id: string?))
function M.open_result(find)
  local settle = await_session()
  tell({ session_id = current_id })
  find(function(problem, id)
    if problem or not id then
      settle(problem)
      return tell({ session_id = current_id })
    end
    M.open(id, settle)
  end)
end

local is_making = false

---@param options table? provider, model, effort, mode, review, title
---@param done agent_ls.Done?
function M.create(options, done)
  local settle = await_session()
  table.insert(assert(awaited), done or function() end)
  if is_making and not options then
    return -- a session is being created already
  end
  is_making = true
  local made = function(problem)
    is_making = false
    settle(problem)
  end
  tell({ session_id = current_id })
  client.request(method.new_session, next_session.request(options), function(problem, result)
    if problem then
      M.report(problem)
      return made(problem)
    end
    M.open(result.session.id, made)
    next_session.begun(result.session.id)
  end)
end

---Calls `ready` when the current session can take requests. Creates a session if there is none. Opens the session again
---if it was closed or the server has ended.
---@param ready fun(id: string)
---@param failed fun(problem: agent_ls.Problem)?
local function with_session(ready, failed)
  if not current_id then
    return M.create(nil, function(problem)
      if problem then
        return failed and failed(problem)
      end
      return ready(assert(current_id))
    end)
  end
  local is_open = M.snapshot().state ~= "CLOSED" or snapshot.is_read_only(M.snapshot())
  if client.is_running() and is_open then
    return ready(current_id)
  end
  subscribe(current_id, function(problem)
    if not problem then
      return ready(assert(current_id))
    end
    M.report(problem)
    return failed and failed(problem)
  end)
end

---Like with_session, but if another session is being created or opened, waits for that session.
---@param ready fun(id: string)
---@param failed fun(problem: agent_ls.Problem)?
local function with_next_session(ready, failed)
  if not awaited then
    return with_session(ready, failed)
  end
  table.insert(awaited, function(problem)
    if problem then
      return failed and failed(problem)
    end
    with_session(ready, failed)
  end)
end

---Methods that wait for a session that is being created or opened. All other methods use the current session.
local FOR_NEXT_SESSION = {
  [method.steer] = true,
  [method.follow_up] = true,
  [method.configure] = true,
  [method.compact] = true,
}

---Sends a read-only request for the current session. Shows a warning if there is no session.
---@param name string
---@param params table
---@param done fun(result: any)?
function M.request_for_current(name, params, done)
  if not current_id and not awaited then
    local how = "Write a message, or use :AgentLs new or :AgentLs resume."
    return M.add_notice("warn", "There is no session yet.", how)
  end
  local with = FOR_NEXT_SESSION[name] and with_next_session or with_session
  with(function(id)
    params.sessionId = id
    client.request(name, params, M.report_or(done))
  end)
end

---Sends a request that changes the current session. Shows a warning if there is no session or it is read-only.
---@param name string
---@param params table
---@param done fun(result: any)?
function M.change_current(name, params, done)
  if M.is_owned_elsewhere() and name ~= method.fork then
    return M.warn_read_only("done")
  end
  params.clientKey = protocol.client_key()
  M.request_for_current(name, params, done)
end

---Sends a message: starts a turn, or steers the running one.
---@param input agent_ls.wire.InputPart[]
---@param done fun(has_arrived: boolean)?
function M.submit(input, done)
  local key = protocol.client_key()
  local ended = function(has_arrived) return done and done(has_arrived) end
  with_next_session(function(id)
    if M.is_owned_elsewhere(id) then
      M.warn_read_only("sent")
      return ended(false)
    end
    local params = { sessionId = id, clientKey = key, input = input, whenBusy = "steer" }
    client.request(method.submit, params, function(problem)
      if problem then
        M.report(problem)
      end
      ended(problem == nil)
    end)
  end, function() ended(false) end)
end

---@param agent_id string? a running subagent; without it, the turn is steered
function M.steer(text, agent_id) M.change_current(method.steer, { input = { protocol.text_input(text) }, agentId = agent_id }) end

---Withdraws the newest steering message that the model has not received yet.
function M.unsteer()
  local items = M.snapshot().items
  for i = #items, 1, -1 do
    if items[i].kind == "steer" and items[i].status == "waiting" then
      return M.change_current(method.unsteer, { steerId = items[i].steer_id })
    end
  end
  log.notify("No steering message is waiting.")
end

---@param text string
function M.follow_up(text) M.change_current(method.follow_up, { input = { protocol.text_input(text) } }) end

---Ends the current turn, or only one subagent. The session stays open.
function M.interrupt(agent_id) M.change_current(method.interrupt, { agentId = agent_id }) end

---Takes over the current session from the editor that owns it. If the owner does not answer, asks the user whether to
---force the take-over.
---@param force boolean?
function M.take_over(force)
  if not snapshot.is_read_only(M.snapshot()) then
    return log.notify("This editor already owns this session.")
  end
  local id = assert(current_id)
  local params = { sessionId = id, clientKey = protocol.client_key(), force = force or nil }
  client.request(method.take_over, params, function(problem)
    if not problem then
      return subscribe(id) -- gets the pending requests, which this editor now answers
    end
    if problem.kind ~= "owner_silent" then
      return M.report(problem)
    end
    local yes = "Take the session over by force; anything that the agent still does there is lost"
    require("agent_ls.menu").select({ "Leave it there", yes }, { prompt = problem.message }, function(choice)
      if choice == yes then
        M.take_over(true)
      end
    end)
  end)
end

---Ends the session.
function M.abort() M.change_current(method.abort, {}) end

local FROM = { now = "now", nextCall = "the next model call", nextTurn = "the next message" }

---Merges the server's information about the current session into its snapshot.
---@param info agent_ls.wire.SessionInfo
function M.update(info)
  local s = M.snapshot()
  s.session = vim.tbl_extend("force", s.session or {}, info)
  tell({ session_id = current_id })
end

---@param wanted table the new settings
---@param words string description for the user
local function configure(wanted, words)
  if not current_id and not awaited then
    next_session.choose(wanted)
    log.notify(("%s, for the next session"):format(words))
    return tell({})
  end
  M.change_current(method.configure, wanted, function(result)
    log.notify(("%s, from %s on"):format(words, FROM[result.appliesFrom] or "now"))
    M.update(result.session)
  end)
end

---@param setting "provider"|"model"|"effort"|"mode"|"review"
---@param value string
function M.configure(setting, value)
  configure({ [setting] = value }, ("%s: %s"):format(setting, value))
end

---Sets the model of this session, and the default of new ones.
---@param provider string
---@param model string
function M.choose_model(provider, model)
  configure({ provider = provider, model = model, remember = true }, ("model: %s"):format(model))
end

---@class agent_ls.Approval
---@field decision "allow"|"deny"
---@field scope string?
---@field rule_id string?
---@field reason string?
---@field command string? edited command, which replaces the requested one

---@param item agent_ls.Item of kind approval
---@param answer agent_ls.Approval
function M.approve(item, answer)
  M.change_current(method.approve, {
    requestId = item.id,
    decision = answer.decision,
    scope = answer.scope or "once",
    ruleId = answer.rule_id,
    reason = answer.reason,
    replacement = answer.command and { command = answer.command } or nil,
  })
end

---@param done fun(terminals: agent_ls.wire.TerminalInfo[])
function M.terminals(done)
  M.request_for_current(method.terminals, {}, function(result) done(result.terminals) end)
end

---@param terminal_id string
function M.kill(terminal_id) M.change_current(method.terminal_kill, { terminalId = terminal_id }) end

---@param question_id string
---@param answers string[]
---@param declined boolean?
function M.answer(question_id, answers, declined)
  M.change_current(method.answer, { questionId = question_id, answers = answers, declined = declined or nil })
end

---Compacts the context.
---@param instructions string
function M.compact(instructions)
  M.change_current(method.compact, { instructions = instructions ~= "" and instructions or nil })
end

---@param change table exactly one of edit, move, remove, startNow
function M.change_queue(change) M.change_current(method.queue, change) end

---@return table params with the id of the session, or with the folder if there is no session
local function of_session_or_folder()
  return current_id and { sessionId = current_id } or { workspaceFolder = vim.uri_from_fname(files.find_root()) }
end

---@param done fun(rules: agent_ls.wire.RuleInfo[])
function M.rules(done)
  client.request(
    method.rules,
    of_session_or_folder(),
    M.report_or(function(result) done(result.rules) end)
  )
end

---@param rule_id string
---@param done fun()
function M.remove_rule(rule_id, done)
  local params = vim.tbl_extend("force", of_session_or_folder(), { ruleId = rule_id, clientKey = protocol.client_key() })
  client.request(method.remove_rule, params, M.report_or(done))
end

---Lists the MCP servers of the session.
---@param done fun(result: agent_ls.wire.McpServersResult)
function M.mcp_servers(done)
  if not current_id then
    return done({ servers = {}, problems = {} })
  end
  client.request(method.mcp_servers, { sessionId = current_id }, M.report_or(done))
end

---@param name string
---@param to "on"|"off"|"restart"
---@param done fun()
function M.switch_mcp_server(name, to, done)
  local params = { sessionId = current_id, clientKey = protocol.client_key(), name = name, to = to }
  client.request(method.mcp_switch, params, M.report_or(done))
end

---Requests or changes the trust of the session's folder; without a session, of the editor's folder.
---@param decision "trust"|"restrict"|"forget"|nil
---@param done fun(result: agent_ls.wire.TrustResult)
function M.trust(decision, done)
  local live = current_id and sessions[current_id]
  local folder = live and live.snapshot.session.workspaceFolder or nil
  local params = { workspaceFolder = folder, decision = decision, clientKey = protocol.client_key() }
  client.request(method.trust, params, M.report_or(done))
end

---Lists the models, including those of local model servers.
---@param done fun(result: agent_ls.wire.ModelsResult)
function M.models(done) client.request(method.models, { look = true }, M.report_or(done)) end

---Saves the prompt's text as the draft of the session, if it has changed.
---@param text string
---@param id string? of the session; default: the displayed one
function M.save_draft(text, id)
  id = id or current_id
  local live = id and sessions[id]
  if not live or snapshot.is_read_only(live.snapshot) then
    return
  end
  local known = live.snapshot.draft
  if text ~= (known and known.text or "") then
    live.snapshot.draft = { text = text }
    client.notify(method.draft, { sessionId = id, text = text, attachments = {} })
  end
end

---@param params table selector of the hunks, and decision
---@param done fun(result: agent_ls.wire.ReviewResult)
function M.review(params, done)
  params.clientKey = protocol.client_key()
  client.request(method.review, params, M.report_or(done))
end

return M
