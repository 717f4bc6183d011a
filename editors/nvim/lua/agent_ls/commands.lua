-- The subcommands of :AgentLs: names, help and completion in one table; what they do is done elsewhere.
local M = {}

---@class agent_ls.Command
---@field run fun(text: string, args: table)
---@field help string
---@field complete string[]?

local function view() return require("agent_ls.chat.view") end

local function archive() return require("agent_ls.archive") end

local function pickers() return require("agent_ls.pickers") end

local function session() return require("agent_ls.session") end

local function approvals() return require("agent_ls.chat.approvals") end

local function review() return require("agent_ls.review.actions") end

---Runs with the text after the subcommand, or asks for it.
---@param prompt string
---@param run fun(text: string)
local function with_text(prompt, run)
  return function(text)
    if text ~= "" then
      return run(text)
    end
    vim.ui.input({ prompt = prompt }, function(typed)
      if typed and vim.trim(typed) ~= "" then
        run(typed)
      end
    end)
  end
end

---@param text string
---@param args table of nvim_create_user_command
local function send(text, args)
  local protocol = require("agent_ls.protocol")
  local parts = {}
  if args.range > 0 then
    local lines = vim.api.nvim_buf_get_lines(0, args.line1 - 1, args.line2, false)
    local uri = vim.uri_from_bufnr(0)
    parts[1] = protocol.selection_input(uri, args.line1 - 1, args.line2, table.concat(lines, "\n") .. "\n")
  end
  view().show()
  with_text("Message: ", function(typed) require("agent_ls.chat.input").submit(typed, parts) end)(text)
end

---@param info agent_ls.wire.SessionInfo
---@return string
local function session_label(info)
  local title = info.title ~= "" and info.title or "(no title)"
  local state = info.access == "readOnly" and "in another editor" or info.live and info.state:lower():gsub("_", " ") or "stored"
  local when = info.updated:sub(1, 16):gsub("T", " ")
  return ("%s  %s  [%s, %s]"):format(when, title, state, info.isWalkthrough and "walkthrough" or info.model)
end

---Hands on the sessions of this folder, or says that there is none.
---@param done fun(list: agent_ls.wire.SessionInfo[])
local function with_sessions(done)
  archive().list(function(list)
    if #list > 0 then
      return done(list)
    end
    require("agent_ls.log").notify("There is no session for this folder yet.")
  end)
end

local function choose_session()
  with_sessions(function(list)
    vim.ui.select(list, { prompt = "Sessions", format_item = session_label }, function(info)
      if info then
        view().show()
        session().open(info.id)
      end
    end)
  end)
end

local function resume_newest()
  view().show()
  with_sessions(function(list) session().open(list[1].id) end)
end

---The transcript as text of its own, to be read or saved.
local function export_session()
  archive().export(function(text)
    vim.cmd.new()
    vim.bo.buftype, vim.bo.bufhidden, vim.bo.swapfile = "nofile", "wipe", false
    vim.bo.filetype = "markdown"
    vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(vim.trim(text), "\n", { plain = true }))
  end)
end

---@param options table?
local function new_session(options)
  view().open()
  local expect = require("agent_ls.chat.input").expect
  expect()
  session().new(options or {}, function() expect(true) end)
end

---@param name "provider"|"model"|"effort"|"mode"|"review"
---@param values string[]?
---@return agent_ls.Command
local function setting(name, values)
  local run = with_text(name .. ": ", function(value) session().configure(name, value) end)
  return { run = run, help = ("set the %s of this session"):format(name), complete = values }
end

---@param verdict agent_ls.Verdict
---@param what "judge_hunk"|"judge_file"|"judge_turn"|"judge_session"|"judge_all"
---@return fun()
local function judge(what, verdict)
  return function() review()[what](verdict) end
end

---The change under the cursor; with a range its lines only.
---@param verdict agent_ls.Verdict
---@return fun(text: string, args: table)
local function judge_here(verdict)
  return function(_, args)
    if args.range > 0 then
      return review().judge_lines(verdict, args.line1 - 1, args.line2)
    end
    review().judge_hunk(verdict)
  end
end

---A session is deleted after a question; where changes wait in it, after another.
local function delete_session()
  local ask = function(prompt, yes, run)
    vim.ui.select({ yes, "Leave it" }, { prompt = prompt }, function(choice)
      if choice == yes then
        run()
      end
    end)
  end
  ask("Delete this session? Files stay as they are.", "Delete it for good", function()
    archive().delete(false, function(problem)
      if problem.kind ~= "session_has_hunks" then
        return session().report(problem)
      end
      local words = "Changes of it still wait. They stay in the files, but cannot be undone one by one any more."
      ask(words, "Delete it anyway", function()
        archive().delete(true, function(other) session().report(other) end)
      end)
    end)
  end)
end

local function answer_question()
  local questions = require("agent_ls.chat.questions")
  local asked = questions.waiting()
  if asked then
    return questions.answer(asked)
  end
  require("agent_ls.log").notify("Nothing is asked.")
end

---@type table<string, agent_ls.Command>
M.commands = {
  open = { run = function() view().open() end, help = "open the panel and go to the prompt" },
  close = { run = function() view().close() end, help = "close the panel; the agent works on" },
  send = { run = send, help = "send a message, with the selected lines when a range is given" },
  steer = {
    run = with_text("Steer: ", function(text) session().steer(text) end),
    help = "tell the agent something while it works",
  },
  unsteer = { run = function() session().unsteer() end, help = "take back a steer that still waits" },
  queue = {
    run = with_text("After this: ", function(text) session().follow_up(text) end),
    help = "a message for when the agent is done",
  },
  stop = { run = function() session().interrupt() end, help = "end the turn; the session lives" },
  takeover = {
    run = function() session().take_over() end,
    help = "make a session of another editor this one's",
  },
  abort = { run = function() session().abort() end, help = "end the session" },
  new = { run = function() new_session() end, help = "a new session" },
  demo = {
    run = function() new_session({ provider = "walkthrough" }) end,
    help = "a session with the built-in walkthrough",
  },
  sessions = { run = choose_session, help = "choose a session of this folder" },
  resume = { run = resume_newest, help = "go on with the newest session of this folder" },
  rename = {
    run = with_text("Title: ", function(title) archive().rename(title) end),
    help = "give this session another title",
  },
  delete = { run = function() delete_session() end, help = "delete this session for good" },
  rollback = {
    run = function() require("agent_ls.chat.rollback").choose() end,
    help = "back to before something that you said: files, conversation, or both",
  },
  compact = {
    run = function(text) session().compact(text) end,
    help = "make room: earlier messages become a summary",
  },
  context = { run = function() pickers().context() end, help = "what fills the model's window" },
  rules = { run = function() pickers().rules() end, help = "what is allowed without asking; take a rule back" },
  trust = { run = function() pickers().trust() end, help = "whether this folder is trusted; change it" },
  queued = { run = function() pickers().queue() end, help = "messages that wait: change, send, move, remove" },
  answer = { run = function() answer_question() end, help = "answer what the agent asks" },
  decline = {
    run = function() require("agent_ls.chat.questions").decline() end,
    help = "leave what the agent asks unanswered",
  },
  fork = { run = function() archive().fork() end, help = "go on in a new session with this one's history" },
  export = { run = export_session, help = "the transcript as Markdown, in a window of its own" },
  approve = { run = function() approvals().allow() end, help = "allow what waits, once" },
  allow = { run = function() approvals().allow_rule() end, help = "allow what waits by the offered rule" },
  edit = { run = function() approvals().edit() end, help = "change the command that waits, and allow it" },
  deny = {
    run = function(text) approvals().deny(nil, text) end,
    help = "deny what waits, with a reason for the model",
  },
  keep = { run = judge_here("keep"), help = "keep the change under the cursor, or its lines in a range" },
  undo = { run = judge_here("undo"), help = "undo the change under the cursor, or its lines in a range" },
  comment = { run = function(text) review().comment(text) end, help = "comment on the change under the cursor" },
  own_text = { run = function() review().own_text() end, help = "accept what is proposed with a text of your own" },
  compare = { run = function() review().compare() end, help = "compare this file side by side" },
  keep_turn = { run = judge("judge_turn", "keep"), help = "keep all of the turn that made this change" },
  undo_turn = { run = judge("judge_turn", "undo"), help = "undo all of the turn that made this change" },
  keep_session = { run = judge("judge_session", "keep"), help = "keep all changes of this session" },
  undo_session = { run = judge("judge_session", "undo"), help = "undo all changes of this session" },
  keep_file = { run = judge("judge_file", "keep"), help = "keep all changes of this file" },
  undo_file = { run = judge("judge_file", "undo"), help = "undo all changes of this file" },
  keep_all = { run = judge("judge_all", "keep"), help = "keep all changes" },
  undo_all = { run = judge("judge_all", "undo"), help = "undo all changes" },
  next = { run = function() review().go(1) end, help = "to the next change, on through all files" },
  prev = { run = function() review().go(-1) end, help = "to the previous change" },
  terminals = { run = function() require("agent_ls.terminal").choose() end, help = "commands: look, or end" },
  terminal = {
    run = function() require("agent_ls.terminal").show_call() end,
    help = "the last command's output",
  },
  provider = setting("provider", { "anthropic", "openai", "walkthrough" }),
  model = {
    run = function(text)
      if text ~= "" then
        return session().configure("model", text)
      end
      pickers().model()
    end,
    help = "choose a model, or set the one that is named",
  },
  effort = setting("effort", { "low", "medium", "high" }),
  mode = setting("mode", { "plan", "ask", "edits", "full" }),
  review = setting("review", { "after", "before" }),
  key = {
    run = function(text) require("agent_ls.keys").ask(text) end,
    help = "enter a provider's key; it is not shown and not kept",
    complete = { "anthropic", "openai" },
  },
  forget_key = {
    run = function(text) require("agent_ls.keys").forget(text) end,
    help = "forget a key that was entered",
    complete = { "anthropic", "openai" },
  },
  quit = { run = function() require("agent_ls.client").stop() end, help = "end the server" },
}

---@param args table of nvim_create_user_command
function M.run(args)
  local agent = require("agent_ls")
  agent.prepare()
  local name, text = args.args:match("^(%S+)%s*(.*)$")
  if not name then
    return (args.range > 0 and send or agent.toggle)("", args)
  end
  local command = M.commands[name]
  if not command then
    return require("agent_ls.log").warn(("no subcommand %q; see :help agent-ls-commands"):format(name))
  end
  require("agent_ls.log").guarded(":AgentLs " .. name, command.run)(text, args)
end

---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local name = line:match("AgentLs!?%s+(%S+)%s")
  local words = name and (M.commands[name] or {}).complete or not name and vim.tbl_keys(M.commands) or {}
  table.sort(words)
  return vim.tbl_filter(function(word) return vim.startswith(word, lead) end, words)
end

return M
