-- Answers the model's code queries (definitions, references, symbols, renames, diagnostics) by requests to the other
-- language servers of this editor. Converts their results to flat lists with character offsets in UTF-16 units.
-- Changes no text: a rename query only returns the edit.
local details = require("agent_ls.code_details")
local diagnostics = require("agent_ls.diagnostics")
local requests = require("agent_ls.language_requests")

local M = {}

local CHECK_MS = 4000

---@param answers table[]
local function locations(answers)
  local read, found, seen = requests.line_reader(), {}, {}
  for _, answer in ipairs(answers) do
    local list = vim.islist(answer.result) and answer.result or { answer.result }
    for _, one in ipairs(list) do
      local uri = requests.uri_of(one.uri or one.targetUri)
      local range = one.range or one.targetSelectionRange or one.targetRange
      local place = requests.flat_range(uri, range, answer.server.offset_encoding, read)
      local key = ("%s:%d:%d"):format(uri, place.startLine, place.startCharacter)
      if not seen[key] then
        seen[key] = true
        found[#found + 1] = vim.tbl_extend("error", place, { uri = uri })
      end
    end
  end
  local limit = requests.MAX_PLACES
  return { locations = vim.list_slice(found, 1, limit), truncated = #found > limit }
end

---@param answers table[]
---@param uri string? of the file, for document symbols, which do not name it
local function symbols(answers, uri)
  local read, found = requests.line_reader(), {}
  local function add(one, encoding, container, depth)
    local where = one.location and one.location.uri or uri
    local nowhere = { line = 0, character = 0 }
    local range = one.location and (one.location.range or { start = nowhere, ["end"] = nowhere })
      or { start = one.selectionRange.start, ["end"] = one.range["end"] }
    local around = container or one.containerName
    found[#found + 1] = vim.tbl_extend("error", requests.flat_range(where, range, encoding, read), {
      name = one.name,
      kind = one.kind,
      uri = where,
      container = around ~= vim.NIL and around ~= "" and around or nil,
      depth = depth,
    })
    for _, child in ipairs(one.children or {}) do
      add(child, encoding, one.name, depth + 1)
    end
  end
  for _, answer in ipairs(answers) do
    for _, one in ipairs(answer.result) do
      add(one, answer.server.offset_encoding, nil, 0)
    end
  end
  return { symbols = vim.list_slice(found, 1, requests.MAX_PLACES), truncated = #found > requests.MAX_PLACES }
end

local answerers = {}

function answerers.definition(params, done)
  local function make(bufnr) return requests.position_params(bufnr, params) end
  requests.ask_of_file("textDocument/definition", params, make, locations, done)
end

function answerers.references(params, done)
  local function make(bufnr) return requests.position_params(bufnr, params) end
  requests.ask_of_file("textDocument/references", params, make, locations, done)
end

function answerers.implementations(params, done)
  local function make(bufnr) return requests.position_params(bufnr, params) end
  requests.ask_of_file("textDocument/implementation", params, make, locations, done)
end

function answerers.symbols(params, done)
  if params.uri then
    local function make(bufnr)
      return function() return { textDocument = { uri = vim.uri_from_bufnr(bufnr) } } end
    end
    local function convert(answers) return symbols(answers, params.uri) end
    return requests.ask_of_file("textDocument/documentSymbol", params, make, convert, done)
  end
  local function query() return { query = params.query } end
  local servers = requests.others({ method = "workspace/symbol" })
  requests.ask_all(
    servers,
    "workspace/symbol",
    query,
    nil,
    function(answers, why) requests.convert_answers(symbols, answers, why, done) end
  )
end

function answerers.rename(params, done)
  local versions = {}
  local function make(bufnr)
    versions = requests.versions_now()
    return requests.position_params(bufnr, params)
  end
  requests.ask_of_file(
    "textDocument/rename",
    params,
    make,
    function(answers) return requests.convert_edits(answers, versions) end,
    done
  )
end

function answerers.diagnostics(params, done)
  if not params.uri then
    return done({ files = diagnostics.report_all() })
  end
  requests.with_buffer(params.uri, function(bufnr, is_new, release)
    local function is_attached() return #requests.others({ bufnr = bufnr }) > 0 end
    requests.wait_until(is_attached, is_new and requests.START_MS or 0, function()
      if is_new and is_attached() then
        diagnostics.schedule_report(bufnr)
      end
      requests.wait_until(function() return diagnostics.may_be_over(bufnr) end, CHECK_MS, function()
        local report = diagnostics.report_buffer(bufnr)
        release()
        done({ files = { report } })
      end)
    end)
  end, done)
end

---The asynchronous handlers, by the `what` field of a request. Each handler calls `done` once.
---@type table<string, fun(params: table, done: agent_ls.QueryDone)>
M.answerers = vim.tbl_extend("error", answerers, details.answerers)

return M
