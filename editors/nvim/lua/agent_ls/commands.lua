-- The subcommands of :AgentLs: one table with names, help and completion. Other modules implement them.
local local_minute = require("agent_ls.clock").local_minute

local M = {}

---@class agent_ls.Command
---@field run fun(text: string, args: table)
---@field help string
---@field complete (string[]|fun(): string[])?

local function view() return require("agent_ls.chat.view") end

local function archive() return require("agent_ls.archive") end

local function pickers() return require("agent_ls.pickers") end

local function session() return require("agent_ls.session") end

local function approvals() return require("agent_ls.chat.approvals") end

local function review() return require("agent_ls.review.actions") end

---Returns a subcommand that runs with the text after its name. If there is no text, asks the user for it.
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

---Sends a message, with the lines of the range if there is one.
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

---Opens the inline prompt for the lines of a range, else for the line of the cursor.
---@param _ string
---@param args table of nvim_create_user_command
local function ask_here(_, args)
  local row = vim.api.nvim_win_get_cursor(0)[1]
  local first, last = row, row
  if args.range > 0 then
    first, last = args.line1, args.line2
  end
  require("agent_ls.inline").ask(first - 1, last)
end

local PROVIDERS_MS = 1000

---@return string[] providers of the server; empty while it is not running
local function provider_names()
  local lsp = require("agent_ls.client").lsp()
  local answer = lsp and lsp:request_sync(require("agent_ls.protocol").method.models, { look = false }, PROVIDERS_MS)
  local providers = answer and answer.result and answer.result.providers or {}
  return vim.tbl_map(function(provider) return provider.id end, providers)
end

---@param info agent_ls.wire.SessionInfo
---@return string
local function session_label(info)
  local title = info.title ~= "" and info.title or "(no title)"
  local state = info.access == "readOnly" and "in another editor" or info.live and info.state:lower():gsub("_", " ") or "stored"
  if info.worktree then
    state = state .. ", worktree"
  end
  local when = local_minute(info.updated)
  return ("%s  %s  [%s, %s]"):format(when, title, state, info.isWalkthrough and "walkthrough" or info.model)
end

---@param info agent_ls.wire.SessionInfo
---@return agent_ls.Preview
local function session_preview(info)
  return {
    lines = {
      info.title ~= "" and info.title or "(no title)",
      "",
      "model    " .. info.model,
      "mode     " .. info.mode,
      "created  " .. local_minute(info.created),
      "changed  " .. local_minute(info.updated),
      "events   " .. info.lastSeq,
      "id       " .. info.id,
    },
  }
end

local function say_no_session() require("agent_ls.log").notify("There is no session for this folder yet.") end

---Lets the user choose one of the sessions, and opens it.
---@param list agent_ls.wire.SessionInfo[]
---@param prompt string
---@param label fun(info: agent_ls.wire.SessionInfo): string
local function pick_session(list, prompt, label)
  local options = { prompt = prompt, format_item = label, preview = session_preview }
  require("agent_ls.menu").select(list, options, function(info)
    if info then
      view().show()
      session().open(info.id)
    end
  end)
end

local function choose_session()
  archive().list_sessions(function(list)
    if #list == 0 then
      return say_no_session()
    end
    pick_session(list, "Sessions", session_label)
  end)
end

---@param info agent_ls.wire.SessionInfo
---@return string
local function running_label(info)
  local title = info.title ~= "" and info.title or "(no title)"
  local folder = vim.fn.fnamemodify(vim.uri_to_fname(info.workspaceFolder), ":~")
  local editor = info.owner and (info.owner.program ~= "" and info.owner.program or "process " .. info.owner.pid) or "here"
  local cost = info.costUsd and (", $%.2f"):format(info.costUsd) or ""
  local since = local_minute(info.updated):sub(12)
  return ("%-7s  %s  %s%s  [%s, %s%s]"):format(info.activity, since, title, info.worktree and " (worktree)" or "", folder, editor, cost)
end

---Lets the user choose a session that runs in any editor, and follows it.
local function choose_running()
  archive().list_running(function(list)
    if #list == 0 then
      return require("agent_ls.log").notify("No session is open in any editor.")
    end
    pick_session(list, "Running sessions", running_label)
  end)
end

local WORKTREES = { ["worktree"] = "current", ["worktree head"] = "head" }

local function resume_newest()
  view().show()
  archive().resume_newest(say_no_session)
end

local EXPORTS = { "markdown", "html", "redacted" }

---Opens the transcript in a buffer, where the user can read it or save it with `:w NAME`.
---@param text string words from EXPORTS; `redacted` alone exports a redacted web page
local function export_session(text)
  local words = vim.split(text, "%s+", { trimempty = true })
  for _, word in ipairs(words) do
    if not vim.list_contains(EXPORTS, word) then
      return require("agent_ls.log").warn(("Unknown format %s. Use markdown, html, or html redacted."):format(word))
    end
  end
  local redact = vim.list_contains(words, "redacted")
  local format = vim.list_contains(words, "markdown") and "markdown" or words[1] and "html" or "markdown"
  archive().export(format, redact, function(transcript)
    vim.cmd.new()
    vim.bo.buftype, vim.bo.bufhidden, vim.bo.swapfile = "nofile", "wipe", false
    vim.bo.filetype = format
    vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(vim.trim(transcript), "\n", { plain = true }))
  end)
end

---@param options table?
local function new_session(options)
  view().open()
  local expect = require("agent_ls.chat.input").expect
  expect()
  session().create(options or {}, function() expect(true) end)
end

---@param name "provider"|"model"|"effort"|"mode"|"review"
---@param values (string[]|fun(): string[])?
---@return agent_ls.Command
local function setting(name, values)
  local run = with_text(name .. ": ", function(value) session().configure(name, value) end)
  return { run = run, help = ("set the %s of this session"):format(name), complete = values }
end

---@param decision agent_ls.Decision
---@param what "judge_hunk"|"judge_file"|"judge_turn"|"judge_session"|"judge_all"
---@return fun()
local function judge(what, decision)
  return function() review()[what](decision) end
end

---Decides about the change under the cursor, or with a range only about the lines in it.
---@param decision agent_ls.Decision
---@return fun(text: string, args: table)
local function judge_here(decision)
  return function(_, args)
    if args.range > 0 then
      return review().judge_lines(decision, args.line1 - 1, args.line2)
    end
    review().judge_hunk(decision)
  end
end

---Deletes the session after a confirmation. If it has pending changes, asks a second time.
local function delete_session()
  local ask = function(prompt, yes, run)
    require("agent_ls.menu").select({ yes, "Leave it" }, { prompt = prompt }, function(choice)
      if choice == yes then
        run()
      end
    end)
  end
  ask("Delete this session? Files are not changed.", "Delete permanently", function()
    archive().delete(false, function(problem)
      if problem.kind ~= "session_has_hunks" then
        return session().report(problem)
      end
      local words = "Changes of this session still wait for a decision. These changes stay in the files, but can no longer be undone one by one."
      ask(words, "Delete it anyway", function()
        archive().delete(true, function(other) session().report(other) end)
      end)
    end)
  end)
end

local function answer_question()
  local questions = require("agent_ls.chat.questions")
  local asked = questions.find_pending()
  if asked then
    return questions.answer(asked)
  end
  require("agent_ls.log").notify("The agent has no open question.")
end

---@type table<string, agent_ls.Command>
M.commands = {
  open = { run = function() view().open() end, help = "open the panel and go to the prompt" },
  close = { run = function() view().close() end, help = "close the panel; the agent continues to work" },
  ask = { run = ask_here, help = "ask in place about the selected lines, or the line of the cursor" },
  fix = {
    run = function(text, args) require("agent_ls.fix").run("fix", text, args) end,
    help = "fix the problems at the cursor, in the range, or in the output of a terminal",
  },
  explain = {
    run = function(text, args) require("agent_ls.fix").run("explain", text, args) end,
    help = "explain the symbol or the problem at the cursor, or the range",
  },
  commit = {
    run = function() require("agent_ls.commit").write() end,
    help = "write the commit message in its buffer",
  },
  image = {
    run = function() require("agent_ls.images").paste() end,
    help = "add the image of the clipboard to the message",
  },
  send = { run = send, help = "send a message, with the selected lines if a range is given" },
  retry = {
    run = function() require("agent_ls.chat.input").retry() end,
    help = "send the last message again, after an error",
  },
  check_again = {
    run = function() require("agent_ls.chat.input").check_again() end,
    help = "ask the agent to run the last check of this session again",
  },
  continue = {
    run = function() require("agent_ls.chat.input").submit("Continue.") end,
    help = "let the agent continue after an answer that was cut off",
  },
  steer = {
    run = with_text("Steer: ", function(text) session().steer(text) end),
    help = "send the agent a message while it works",
  },
  unsteer = { run = function() session().unsteer() end, help = "withdraw the newest steering message that the agent has not received" },
  queue = {
    run = with_text("After this: ", function(text) session().follow_up(text) end),
    help = "queue a message until the agent has finished",
  },
  stop = { run = function() session().interrupt() end, help = "end the turn; the session stays open" },
  subagent = {
    run = function() require("agent_ls.subagents").choose() end,
    help = "send a message to one running subagent, or stop it",
  },
  takeover = {
    run = function() session().take_over() end,
    help = "move a session of another editor to this editor",
  },
  abort = { run = function() session().abort() end, help = "end the session" },
  new = {
    run = function(text)
      if text ~= "" and not WORKTREES[text] then
        return require("agent_ls.log").warn("Write `new`, `new worktree` or `new worktree head`.")
      end
      new_session(text ~= "" and { worktree = WORKTREES[text] } or nil)
    end,
    help = "start a new session; `new worktree`: in a new git worktree",
    complete = vim.tbl_keys(WORKTREES),
  },
  bring = { run = function() archive().bring_changes() end, help = "apply the changes of the session's worktree to this folder" },
  running = { run = choose_running, help = "choose a session that runs in any editor, and follow it" },
  demo = {
    run = function() new_session({ provider = "walkthrough" }) end,
    help = "start a session with the built-in walkthrough",
  },
  sessions = { run = choose_session, help = "choose a session of this folder" },
  resume = { run = resume_newest, help = "continue the newest session of this folder" },
  rename = {
    run = with_text("Title: ", function(title) archive().rename(title) end),
    help = "give this session another title",
  },
  delete = { run = function() delete_session() end, help = "delete this session permanently" },
  rollback = {
    run = function() require("agent_ls.chat.rollback").choose() end,
    help = "roll back to before one of your messages: files, conversation, or both",
  },
  compact = {
    run = function(text) session().compact(text) end,
    help = "replace earlier messages with a summary to free space",
  },
  context = { run = function() pickers().context() end, help = "show the usage of the context window" },
  rules = { run = function() pickers().rules() end, help = "list and delete the rules that allow actions without asking" },
  mcp = { run = function() pickers().mcp() end, help = "list the MCP servers with state, tools and errors; switch one on or off" },
  trust = { run = function() pickers().trust() end, help = "show or change whether this folder is trusted" },
  queued = { run = function() pickers().queue() end, help = "change, send, move or remove queued messages" },
  answer = { run = function() answer_question() end, help = "answer the question of the agent" },
  decline = {
    run = function() require("agent_ls.chat.questions").decline() end,
    help = "decline the question of the agent",
  },
  fork = { run = function() archive().fork() end, help = "continue in a new session with the history of this session" },
  plan = {
    run = function() require("agent_ls.plan").open() end,
    help = "edit and accept the plan, in mode plan",
  },
  memory = {
    run = function() require("agent_ls.memory").open() end,
    help = "open the notes for later sessions of this project, and your notes for all projects",
  },
  export = {
    run = export_session,
    help = "open the transcript as Markdown or as a web page, in a new window",
    complete = EXPORTS,
  },
  approve = { run = function() approvals().allow() end, help = "allow the pending request once" },
  allow = { run = function() approvals().allow_rule() end, help = "allow the pending request by an offered rule" },
  edit = { run = function() approvals().edit() end, help = "change the pending command, and allow it" },
  deny = {
    run = function(text) approvals().deny(nil, text) end,
    help = "deny the pending request, with a reason for the model",
  },
  keep = { run = judge_here("keep"), help = "keep the change under the cursor, or its lines in a range" },
  undo = { run = judge_here("undo"), help = "undo the change under the cursor, or its lines in a range" },
  comment = { run = function(text) review().comment(text) end, help = "comment on the change under the cursor" },
  own_text = { run = function() review().own_text() end, help = "accept the proposed change with your own text" },
  changes = { run = function() review().show_all() end, help = "show all pending changes of all files in one buffer" },
  guide = { run = function() review().show_guide() end, help = "list the changes of this session in reading order, with reasons and marks" },
  guide_turn = { run = function() review().show_guide_of_turn() end, help = "list the changes of one turn in reading order: the turn of the change under the cursor, or the newest" },
  hunks = { run = function() pickers().hunks() end, help = "choose a pending change from a list, and jump to it" },
  blame = { run = function() require("agent_ls.review.blame").show_line() end, help = "show who wrote this line: you, or the agent and why" },
  blame_lines = { run = function() require("agent_ls.review.blame").toggle() end, help = "mark the lines of the agent in this file, or unmark them" },
  compare = { run = function() review().compare() end, help = "compare this file side by side" },
  keep_turn = { run = judge("judge_turn", "keep"), help = "keep all changes of the turn that made this change" },
  undo_turn = { run = judge("judge_turn", "undo"), help = "undo all changes of the turn that made this change" },
  keep_session = { run = judge("judge_session", "keep"), help = "keep all changes of this session" },
  undo_session = { run = judge("judge_session", "undo"), help = "undo all changes of this session" },
  keep_file = { run = judge("judge_file", "keep"), help = "keep all changes of this file" },
  undo_file = { run = judge("judge_file", "undo"), help = "undo all changes of this file" },
  keep_all = { run = judge("judge_all", "keep"), help = "keep all changes" },
  undo_all = { run = judge("judge_all", "undo"), help = "undo all changes" },
  undo_step = {
    run = function() review().undo_step() end,
    help = "undo a step in all its files, after `u` undid it in one file",
  },
  next = { run = function() review().go(1) end, help = "jump to the next change, in all files" },
  prev = { run = function() review().go(-1) end, help = "jump to the previous change, in all files" },
  terminals = { run = function() require("agent_ls.terminal").choose() end, help = "choose a command, and show its output or end it" },
  terminal = {
    run = function() require("agent_ls.terminal").show_call() end,
    help = "show the output of the last command",
  },
  provider = setting("provider", provider_names),
  model = {
    run = function(text)
      if text ~= "" then
        return session().configure("model", text)
      end
      pickers().model()
    end,
    help = "choose a model from a list, or set the given model",
  },
  effort = setting("effort", { "low", "medium", "high" }),
  mode = setting("mode", { "plan", "ask", "edits", "full" }),
  review = setting("review", { "after", "before" }),
  key = {
    run = function(text) require("agent_ls.api_keys").ask(text) end,
    help = "enter a provider's API key, which is neither displayed nor stored",
    complete = provider_names,
  },
  forget_key = {
    run = function(text) require("agent_ls.api_keys").forget(text) end,
    help = "remove an API key that was entered",
    complete = provider_names,
  },
  quit = { run = function() require("agent_ls.client").stop() end, help = "end the server" },
}

---@param args table of nvim_create_user_command
function M.run(args)
  local agent = require("agent_ls")
  agent.prepare()
  local name, text = args.args:match("^(%S+)%s*(.*)$")
  if not name then
    return (args.range > 0 and ask_here or agent.toggle)("", args)
  end
  local command = M.commands[name]
  if not command then
    return require("agent_ls.log").warn(("no subcommand %q; see :help agent-ls-commands"):format(name))
  end
  require("agent_ls.log").guard(":AgentLs " .. name, command.run)(text, args)
end

---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local name = line:match("AgentLs!?%s+(%S+)%s")
  local known = name and (M.commands[name] or {}).complete or not name and vim.tbl_keys(M.commands) or {}
  local words = type(known) == "function" and known() or known --[[@as string[] ]]
  table.sort(words)
  return vim.tbl_filter(function(word) return vim.startswith(word, lead) end, words)
end

return M
