-- Sessions as things that are kept: listed, renamed, forked, exported, rolled back, deleted.
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

---Sessions of this workspace, newest first.
---@param done fun(list: agent_ls.wire.SessionInfo[])
function M.list(done)
  local root = files.root()
  client.request(
    method.sessions,
    { workspaceFolder = vim.uri_from_fname(root) },
    session.reporting(function(result)
      done(
        vim.tbl_filter(
          function(info) return folder_path(info.workspaceFolder) == vim.fs.normalize(root) end,
          result.sessions
        )
      )
    end)
  )
end

---Takes the session back to before the input of a turn, or takes a roll back back; a preview changes nothing.
---@param params {atTurnId: string, files: string?, conversation: boolean?, force: boolean?}
---@param done fun(result: agent_ls.wire.RevertResult)
function M.revert(params, done) session.ask(method.revert, params, done) end

---Removes the session that is shown from the disk.
---@param force boolean? also while changes of it wait
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
function M.rename(title) session.ask(method.rename, { title = title }) end

---Goes on in a new session that has the history of this one.
function M.fork()
  session.ask(method.fork, {}, function(result) session.open(result.session.id) end)
end

---@param done fun(text: string) the transcript as Markdown
function M.export(done)
  session.look(method.export, { format = "markdown" }, function(result) done(result.text) end)
end

return M
