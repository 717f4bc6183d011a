-- Stored sessions: list, rename, fork, export, roll back, delete.
local client = require("agent_ls.client")
local files = require("agent_ls.files")
local log = require("agent_ls.log")
local protocol = require("agent_ls.protocol")
local session = require("agent_ls.session")

local M = {}

local method = protocol.method

---@param uri string?
---@return string path
local function folder_path(uri)
  return vim.fs.normalize(uri and uri:match("^file:") and vim.uri_to_fname(uri) or uri or "")
end

---Fetches the sessions of this workspace, newest first.
---@param done fun(problem: agent_ls.Problem?, list: agent_ls.wire.SessionInfo[]?)
function M.look_up(done)
  local root = files.find_root()
  client.request(method.sessions, { workspaceFolder = vim.uri_from_fname(root) }, function(problem, result)
    if problem then
      return done(problem)
    end
    local is_here = function(info) return folder_path(info.workspaceFolder) == vim.fs.normalize(root) end
    done(nil, vim.tbl_filter(is_here, result.sessions))
  end)
end

---Fetches the sessions of this workspace, newest first. Reports a problem to the user.
---@param done fun(list: agent_ls.wire.SessionInfo[])
function M.list_sessions(done) M.look_up(session.report_or(done)) end

---Fetches the sessions of all folders that any editor or process has open, newest first.
---@param done fun(list: agent_ls.wire.SessionInfo[])
function M.list_running(done)
  client.request(method.sessions, { running = true }, session.report_or(function(result) done(result.sessions) end))
end

---Applies the changes of the session's git worktree to this folder. The transcript also shows the outcome.
function M.bring_changes()
  session.change_current(method.bring_changes, {}, function(result)
    if #result.files == 0 then
      log.notify("All changes of the worktree are already in this folder.")
    end
  end)
end

---Opens the newest session of this workspace.
---@param none fun() called if there is no session
function M.resume_newest(none)
  session.open_result(function(found)
    M.look_up(function(problem, list)
      if problem then
        session.report(problem)
      elseif not list[1] then
        none()
      end
      found(problem, list and list[1] and list[1].id)
    end)
  end)
end

---Rolls the session back to the state before a turn's user message, or reverts a rollback. With `files =
---"preview"`, the server only computes the effects.
---@param params {atTurnId: string, files: string?, conversation: boolean?, force: boolean?}
---@param done fun(result: agent_ls.wire.RevertResult)
function M.revert(params, done) session.change_current(method.revert, params, done) end

---Deletes the current session from the disk.
---@param force boolean? also if it has pending changes
---@param refused fun(problem: agent_ls.Problem)
function M.delete(force, refused)
  local id = session.current_id()
  if not id then
    return log.notify("There is no session to delete.")
  end
  local params = { sessionId = id, clientKey = protocol.client_key(), force = force or nil }
  client.request(method.delete_session, params, function(problem)
    if problem then
      return refused(problem)
    end
    session.forget(id)
  end)
end

---@param title string
function M.rename(title) session.change_current(method.rename, { title = title }) end

---Starts a new session with the history of this one.
function M.fork()
  session.change_current(method.fork, {}, function(result) session.open(result.session.id) end)
end

---Fetches the transcript of the session as Markdown or a web page.
---@param format "markdown"|"html"
---@param redact boolean remove keys, email addresses, and the names of user and machine
---@param done fun(text: string) the transcript
function M.export(format, redact, done)
  session.request_for_current(method.export, { format = format, redact = redact or nil }, function(result) done(result.text) end)
end

return M
