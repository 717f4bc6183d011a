-- Requests to the other language servers of this editor, for the model's code queries: finds the servers of a file,
-- collects their answers, and converts positions to UTF-16 units and workspace edits to flat lists.
local client = require("agent_ls.client")
local files = require("agent_ls.files")
local protocol = require("agent_ls.protocol")

local api = vim.api

local M = {}

M.START_MS = 5000 -- time limit for the start of a language server after the file is opened
local ANSWER_MS = 12000 -- less than the time limit of agent-ls, so that partial answers are still sent
local POLL_MS = 30
M.MAX_PLACES = 5000 -- the limit of agent-ls

---@alias agent_ls.QueryDone fun(result: table?, why: string?)

---@param condition fun(): boolean
---@param limit_ms integer
---@param done fun()
function M.wait_until(condition, limit_ms, done)
  if condition() then
    return done()
  end
  local timer, last = assert(vim.uv.new_timer()), vim.uv.now() + limit_ms
  timer:start(
    POLL_MS,
    POLL_MS,
    vim.schedule_wrap(function()
      if not timer:is_closing() and (condition() or vim.uv.now() >= last) then
        timer:close()
        done()
      end
    end)
  )
end

---@param filter vim.lsp.get_clients.Filter
---@return vim.lsp.Client[] all language servers except agent-ls
function M.others(filter)
  local own = client.lsp()
  return vim.tbl_filter(
    function(server) return not own or server.id ~= own.id end,
    vim.lsp.get_clients(filter)
  )
end

---Calls `use` with a loaded buffer of the file. If there is none, loads the file into a buffer without a window,
---which starts its language servers. `use` must call `release`, which deletes that new buffer unless the user has
---opened it since.
---@param uri string
---@param use fun(bufnr: integer, is_new: boolean, release: fun())
---@param done agent_ls.QueryDone
function M.with_buffer(uri, use, done)
  local bufnr = files.find_loaded(uri)
  if bufnr then
    return use(bufnr, false, function() end)
  end
  local path = vim.uri_to_fname(uri)
  if vim.fn.filereadable(path) == 0 then
    return done(nil, "there is no such file")
  end
  bufnr = vim.fn.bufadd(path)
  vim.cmd(("silent noswapfile call bufload(%d)"):format(bufnr))
  use(bufnr, true, function()
    local is_used = vim.bo[bufnr].buflisted or vim.bo[bufnr].modified or #vim.fn.win_findbuf(bufnr) > 0
    if not is_used then
      pcall(api.nvim_buf_delete, bufnr, {})
    end
  end)
end

---Sends a request to all servers. `done` gets the non-empty answers and the first error message.
---@param servers vim.lsp.Client[]
---@param method string
---@param params fun(server: vim.lsp.Client): table
---@param bufnr integer?
---@param done fun(answers: {server: vim.lsp.Client, result: any}[], why: string?)
function M.ask_all(servers, method, params, bufnr, done)
  if #servers == 0 then
    return done({}, "no language server of this file supports this request")
  end
  local left, answers, why, is_done = #servers, {}, nil, false
  local function call_done()
    if not is_done then
      is_done = true
      done(answers, why)
    end
  end
  for _, server in ipairs(servers) do
    local sent = server:request(method, params(server), function(err, result)
      left = left - 1
      if err then
        why = why or err.message
      elseif result ~= nil and result ~= vim.NIL then
        answers[#answers + 1] = { server = server, result = protocol.remove_null(result) }
      end
      if left == 0 then
        call_done()
      end
    end, bufnr)
    left = sent and left or left - 1
  end
  if left == 0 then
    return call_done()
  end
  vim.defer_fn(function()
    why = why or "the language servers did not answer in time"
    call_done()
  end, ANSWER_MS)
end

---Returns a function that reads lines of buffers or files; each file is read once.
---@return fun(uri: string, line: integer): string
function M.line_reader()
  local known = {} ---@type table<string, string[]>
  return function(uri, line)
    local bufnr = files.find_loaded(uri)
    if bufnr then
      return api.nvim_buf_get_lines(bufnr, line, line + 1, false)[1] or ""
    end
    if not known[uri] then
      local ok, lines = pcall(vim.fn.readfile, vim.uri_to_fname(uri))
      known[uri] = ok and lines or {}
    end
    return known[uri][line + 1] or ""
  end
end

---@param name string a URI, or the path of a file, which some servers send in its place
---@return string
function M.uri_of(name) return vim.startswith(name, "/") and vim.uri_from_fname(name) or name end

---@param text string
---@param character integer
---@param from string encoding
---@param to string
local function convert_character(text, character, from, to)
  if from == to then
    return character
  end
  return vim.str_utfindex(text, to, vim.str_byteindex(text, from, character, false), false)
end

---@param uri string
---@param range lsp.Range
---@param encoding string
---@param read fun(uri: string, line: integer): string
function M.flat_range(uri, range, encoding, read)
  local function character(position)
    if encoding == "utf-16" or position.character == 0 or not vim.startswith(uri, "file:") then
      return position.character
    end
    return convert_character(read(uri, position.line), position.character, encoding, "utf-16")
  end
  return {
    startLine = range.start.line,
    startCharacter = character(range.start),
    endLine = range["end"].line,
    endCharacter = character(range["end"]),
  }
end

---@param bufnr integer
---@param params table
---@return fun(server: vim.lsp.Client): table
function M.position_params(bufnr, params)
  local text = api.nvim_buf_get_lines(bufnr, params.line, params.line + 1, false)[1] or ""
  return function(server)
    local character = convert_character(text, params.character, "utf-16", server.offset_encoding)
    return {
      textDocument = { uri = vim.uri_from_bufnr(bufnr) },
      position = { line = params.line, character = character },
      context = { includeDeclaration = true },
      newName = params.newName,
    }
  end
end

---Converts the answers of the servers and passes the result to `done`. If no server answered, passes `why` instead.
---@param convert fun(answers: table[]): table
---@param answers table[]
---@param why string?
---@param done agent_ls.QueryDone
function M.convert_answers(convert, answers, why, done)
  if #answers == 0 and why then
    return done(nil, why)
  end
  local ok, result = pcall(convert, answers)
  if ok then
    return done(result)
  end
  done(nil, "unexpected answer from a language server: " .. tostring(result))
end

---Sends a request to the servers of one file.
---@param method string
---@param params table
---@param make fun(bufnr: integer): fun(server: vim.lsp.Client): table
---@param convert fun(answers: table[]): table
---@param done agent_ls.QueryDone
function M.ask_of_file(method, params, make, convert, done)
  M.with_buffer(params.uri, function(bufnr, is_new, release)
    local function servers() return M.others({ bufnr = bufnr, method = method }) end
    M.wait_until(function() return #servers() > 0 end, is_new and M.START_MS or 0, function()
      M.ask_all(servers(), method, make(bufnr), bufnr, function(answers, why)
        M.convert_answers(convert, answers, why, function(result, problem)
          release()
          done(result, problem)
        end)
      end)
    end)
  end, done)
end

---Splits a workspace edit into text edits by file, and descriptions of its other operations.
---@param edit lsp.WorkspaceEdit
---@return {uri: string, edits: table[]}[], string[]
local function split_workspace_edit(edit)
  local documents, operations = {}, {}
  for _, change in ipairs(edit.documentChanges or {}) do
    if change.kind then
      operations[#operations + 1] =
        table.concat({ change.kind, change.uri or change.oldUri, change.newUri }, " ")
    else
      documents[#documents + 1] = { uri = change.textDocument.uri, edits = change.edits }
    end
  end
  if not edit.documentChanges then
    for uri, edits in pairs(edit.changes or {}) do
      documents[#documents + 1] = { uri = uri, edits = edits }
    end
  end
  return documents, operations
end

---@param answers table[]
---@param versions table<integer, integer> versions by buffer, read before the request was sent
function M.convert_edits(answers, versions)
  local first = answers[1]
  if not first then
    return { documents = {}, fileOperations = {} }
  end
  local read = M.line_reader()
  local documents, operations = split_workspace_edit(first.result)
  local converted = vim.tbl_map(function(document)
    local bufnr = vim.startswith(document.uri, "file:") and files.find_loaded(document.uri)
    return {
      uri = document.uri,
      version = bufnr and versions[bufnr] or nil,
      edits = vim.tbl_map(function(one)
        local range = M.flat_range(document.uri, one.range, first.server.offset_encoding, read)
        return vim.tbl_extend("error", range, { newText = one.newText })
      end, document.edits),
    }
  end, documents)
  return { documents = converted, fileOperations = operations }
end

---@return table<integer, integer> current versions by buffer
function M.versions_now()
  local own, found = client.lsp(), {}
  for bufnr in pairs(own and own.attached_buffers or {}) do
    found[bufnr] = vim.lsp.util.buf_versions[bufnr]
  end
  return found
end

return M
