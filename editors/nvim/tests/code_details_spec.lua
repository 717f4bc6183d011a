-- req: T14, H10
-- Answers of language servers of all forms, by servers that run in this Neovim.
local code_queries = require("agent_ls.code_queries")
local support = require("support")

local spec = {}

local FILE = vim.fn.tempname() .. ".toy"
local URI = vim.uri_from_fname(FILE)

---@param line integer
---@param from integer
---@param to integer
local function range(line, from, to)
  return { start = { line = line, character = from }, ["end"] = { line = line, character = to } }
end

---Starts a server in this process. `answers` has its results by method, or functions of the params.
---@param name string
---@param bufnr integer
---@param answers table<string, any>
local function start(name, bufnr, answers)
  local provided = {
    positionEncoding = answers.encoding or "utf-16",
    hoverProvider = answers["textDocument/hover"] ~= nil,
    implementationProvider = answers["textDocument/implementation"] ~= nil,
    callHierarchyProvider = answers["textDocument/prepareCallHierarchy"] ~= nil,
    codeActionProvider = answers["textDocument/codeAction"]
      and { resolveProvider = answers["codeAction/resolve"] ~= nil },
  }
  local function cmd()
    local is_closing = false
    return {
      request = function(method, params, callback)
        local answer = answers[method]
        if method == "initialize" then
          callback(nil, { capabilities = provided })
        elseif type(answer) == "function" then
          callback(answer(params))
        else
          callback(nil, answer)
        end
        return true, 1
      end,
      notify = function() return true end,
      is_closing = function() return is_closing end,
      terminate = function() is_closing = true end,
    }
  end
  return assert(vim.lsp.start({ name = name, cmd = cmd }, { bufnr = bufnr }))
end

---Asks one query of the given servers about a file; returns the result and the reason for a missing one.
---@param what string
---@param params table
---@param servers table<string, any>[]
local function ask(what, params, servers)
  vim.fn.writefile({ "local x = '😀' + total" }, FILE)
  vim.cmd.edit(FILE)
  local bufnr = vim.api.nvim_get_current_buf()
  local started = {}
  for i, answers in ipairs(servers) do
    started[i] = start("toy" .. i, bufnr, answers)
  end
  local result, why, is_done
  code_queries.answerers[what](
    vim.tbl_extend("error", { uri = URI }, params),
    function(found, reason) result, why, is_done = found, reason, true end
  )
  assert(vim.wait(60000, function() return is_done end), "no answer")
  for _, id in ipairs(started) do
    vim.lsp.get_client_by_id(id):stop(true)
  end
  vim.cmd.bwipeout({ bang = true })
  return result, why
end

local AT = { line = 0, character = 17 }
local NULL = vim.NIL

---@type {[1]: string, [2]: any[], [3]: string[]}[] name, results of the servers, texts
local HOVERS = {
  { "null", { NULL }, {} },
  { "an empty object", { vim.empty_dict() }, {} },
  { "null contents", { { contents = NULL } }, {} },
  { "null values", { { contents = { NULL, NULL } } }, {} },
  { "null before a text", { { contents = { NULL, "a" } } }, { "a" } },
  { "a text", { { contents = "a" } }, { "a" } },
  { "Markdown", { { contents = { kind = "markdown", value = "**a**" } } }, { "**a**" } },
  { "a code block", { { contents = { language = "php", value = "class A" } } }, { "```php\nclass A\n```" } },
  {
    "a list of both",
    { { contents = { { language = "php", value = "class A" }, "", "A model." } } },
    { "```php\nclass A\n```", "A model." },
  },
  { "one server without an answer", { NULL, { contents = "b" } }, { "b" } },
  { "two servers", { { contents = "a" }, { contents = "b" } }, { "a", "b" } },
}

for _, case in ipairs(HOVERS) do
  spec["a hover gives its texts: " .. case[1]] = function()
    local servers = vim.tbl_map(function(answer) return { ["textDocument/hover"] = answer } end, case[2])
    support.same(ask("hover", AT, servers), { texts = case[3] })
  end
end

spec["a hover is asked in the encoding of each server"] = function()
  local asked = {}
  local function of(encoding)
    return {
      encoding = encoding,
      ["textDocument/hover"] = function(params)
        asked[encoding] = params.position.character
        return nil, { contents = encoding }
      end,
    }
  end
  ask("hover", AT, { of("utf-8"), of("utf-16"), of("utf-32") })
  support.same(asked, { ["utf-8"] = 19, ["utf-16"] = 17, ["utf-32"] = 16 })
end

spec["a failure of the only server is its reason"] = function()
  local function fail() return { code = -32603, message = "still indexing" } end
  local result, why = ask("hover", AT, { { ["textDocument/hover"] = fail } })
  support.same({ result or "none", why }, { "none", "still indexing" })
end

spec["implementations are links or locations, and their names URIs or paths"] = function()
  local link = { targetUri = FILE, targetRange = range(0, 0, 5), targetSelectionRange = range(0, 6, 7) }
  local found = ask("implementations", AT, { { ["textDocument/implementation"] = { link } } })
  support.same(found.locations, {
    { uri = URI, startLine = 0, startCharacter = 6, endLine = 0, endCharacter = 7 },
  })
end

local ITEM =
  { name = "total", kind = 12, uri = URI, range = range(0, 0, 20), selectionRange = range(0, 17, 22) }

spec["callers have the lines of their calls once each"] = function()
  local caller = vim.tbl_extend("force", ITEM, { name = "main", detail = "shop" })
  local found = ask("calls", vim.tbl_extend("error", AT, { direction = "incoming" }), {
    {
      ["textDocument/prepareCallHierarchy"] = { ITEM },
      ["callHierarchy/incomingCalls"] = function(params)
        support.same(params.item.name, "total")
        return nil, { { from = caller, fromRanges = { range(3, 0, 1), range(3, 5, 6), range(9, 0, 1) } } }
      end,
    },
  })
  local one = found.calls[1]
  support.same({ one.name, one.container, one.lines, found.truncated }, { "main", "shop", { 3, 9 }, false })
end

spec["what is no function has no calls"] = function()
  local outgoing = vim.tbl_extend("error", AT, { direction = "outgoing" })
  support.same(ask("calls", outgoing, { { ["textDocument/prepareCallHierarchy"] = NULL } }).calls, {})
end

local LINE = { startLine = 0, startCharacter = 0, endLine = 0, endCharacter = 22 }
local EDIT = { changes = { [URI] = { { range = range(0, 6, 7), newText = "y" } } } }

local ACTIONS = {
  { title = "Rename it", kind = "quickfix", isPreferred = true },
  { title = "Extract", kind = "refactor", disabled = { reason = "select an expression" } },
  { title = "Odd", disabled = {} },
  { title = "Run", command = "toy.run" },
  { title = "Both", edit = EDIT, command = { title = "Format", command = "toy.format" } },
}

spec["actions of all servers are listed with their state"] = function()
  local servers = { { ["textDocument/codeAction"] = ACTIONS }, { ["textDocument/codeAction"] = NULL } }
  local found = ask("actions", LINE, servers)
  local function state(one) return { one.title, one.preferred, one.disabled } end
  support.same(vim.tbl_map(state, found.actions), {
    { "Rename it", true },
    { "Extract", false, "select an expression" },
    { "Odd", false, "" },
    { "Run", false },
    { "Both", false },
  })
end

---@param title string
---@param resolve any
local function edits_of(title, resolve)
  local server = { ["textDocument/codeAction"] = ACTIONS, ["codeAction/resolve"] = resolve }
  return ask("actionEdits", vim.tbl_extend("error", LINE, { title = title }), { server })
end

---@type {[1]: string, [2]: string, [3]: any, [4]: integer, [5]: string}[] name, title, resolution, documents, command
local EDITS = {
  {
    "resolved",
    "Rename it",
    function(action) return nil, vim.tbl_extend("error", action, { edit = EDIT }) end,
    1,
    "",
  },
  { "resolved to nothing", "Rename it", NULL, 0, "" },
  { "a command in place of an action", "Run", NULL, 0, "Run" },
  { "an edit with a command", "Both", NULL, 1, "Format" },
}

for _, case in ipairs(EDITS) do
  spec["an action gives its edits and runs nothing: " .. case[1]] = function()
    local found = edits_of(case[2], case[3])
    support.same({ #found.documents, found.command }, { case[4], case[5] })
    if case[4] == 1 then
      support.same(found.documents[1].edits[1].newText, "y")
    end
  end
end

spec["an action that is disabled or not offered has no edits"] = function()
  for _, title in ipairs({ "Extract", "Odd", "Gone" }) do
    local result, why = edits_of(title, NULL)
    assert(result == nil and why, title)
  end
end

return spec
