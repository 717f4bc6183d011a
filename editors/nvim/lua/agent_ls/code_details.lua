-- Answers more code queries of the model: hovers, implementations, calls and code actions, by requests to the other
-- language servers of this editor. Changes no text and runs no commands: a query for an action returns its edit.
local requests = require("agent_ls.language_requests")

local M = {}

local MAX_TEXTS, MAX_ACTIONS = 100, 1000 -- the limits of agent-ls

---Calls `use` with each value of a list, which may have gaps, because some servers send null in place of a value.
---@param list table
---@param use fun(value: any)
local function each_value(list, use)
  local keys = vim.tbl_keys(list)
  table.sort(keys)
  for _, key in ipairs(keys) do
    use(list[key])
  end
end

---@param marked any a string, or a table with `value` and perhaps `language`
---@return string
local function text_of(marked)
  if type(marked) == "string" then
    return marked
  end
  local value, language = marked.value, marked.language
  if type(value) ~= "string" or value == "" or type(language) ~= "string" or language == "" then
    return type(value) == "string" and value or ""
  end
  return ("```%s\n%s\n```"):format(language, value)
end

---@param answers table[]
local function texts(answers)
  local found = {}
  local function add(marked)
    local text = text_of(marked)
    if vim.trim(text) ~= "" then
      found[#found + 1] = text
    end
  end
  for _, answer in ipairs(answers) do
    local contents = answer.result.contents
    if type(contents) == "string" or type(contents) == "table" and (contents.value or contents.kind) then
      add(contents)
    elseif type(contents) == "table" then
      each_value(contents, add)
    end
  end
  return { texts = vim.list_slice(found, 1, MAX_TEXTS) }
end

---@param found {server: vim.lsp.Client, call: table}[]
local function calls(found)
  local read, converted = requests.line_reader(), {}
  for _, one in ipairs(found) do
    local item = one.call.from or one.call.to
    local uri = requests.uri_of(item.uri)
    local range = { start = item.selectionRange.start, ["end"] = item.range["end"] }
    local lines, seen = {}, {}
    for _, from in ipairs(one.call.fromRanges or {}) do
      if not seen[from.start.line] then
        seen[from.start.line] = true
        lines[#lines + 1] = from.start.line
      end
    end
    converted[#converted + 1] =
      vim.tbl_extend("error", requests.flat_range(uri, range, one.server.offset_encoding, read), {
        name = item.name,
        kind = item.kind,
        uri = uri,
        container = item.detail ~= "" and item.detail or nil,
        depth = 0,
        lines = lines,
      })
  end
  local limit = requests.MAX_PLACES
  return { calls = vim.list_slice(converted, 1, limit), truncated = #converted > limit }
end

---@param bufnr integer
---@param params table
---@return fun(server: vim.lsp.Client): table
local function action_params(bufnr, params)
  local from = requests.position_params(bufnr, { line = params.startLine, character = params.startCharacter })
  local to = requests.position_params(bufnr, { line = params.endLine, character = params.endCharacter })
  local problems = {}
  for line = params.startLine, params.endLine do
    for _, problem in ipairs(vim.diagnostic.get(bufnr, { lnum = line })) do
      local sent = vim.tbl_get(problem, "user_data", "lsp")
      problems[#problems + 1] = sent
    end
  end
  return function(server)
    return {
      textDocument = from(server).textDocument,
      range = { start = from(server).position, ["end"] = to(server).position },
      context = { diagnostics = problems, triggerKind = 1 },
    }
  end
end

---@param answers table[]
---@return {server: vim.lsp.Client, action: table}[]
local function flat_actions(answers)
  local found = {}
  for _, answer in ipairs(answers) do
    each_value(
      answer.result,
      function(action) found[#found + 1] = { server = answer.server, action = action } end
    )
  end
  return found
end

---@param answers table[]
local function actions(answers)
  local found = vim.tbl_map(function(one)
    local action = one.action
    return {
      title = action.title,
      kind = action.kind or "",
      preferred = action.isPreferred == true,
      disabled = action.disabled and (action.disabled.reason or "") or nil,
    }
  end, flat_actions(answers))
  return { actions = vim.list_slice(found, 1, MAX_ACTIONS) }
end

---@param action table a code action, or a command that a server offers as one
---@return string
local function command_title(action)
  local command = action.command
  if type(command) == "table" then
    return command.title ~= "" and command.title or command.command
  end
  return command and action.title or ""
end

local answerers = {}

function answerers.hover(params, done)
  local function make(bufnr) return requests.position_params(bufnr, params) end
  requests.ask_of_file("textDocument/hover", params, make, texts, done)
end

function answerers.calls(params, done)
  local function make(bufnr) return requests.position_params(bufnr, params) end
  local method = ("callHierarchy/%sCalls"):format(params.direction)
  requests.ask_of_file("textDocument/prepareCallHierarchy", params, make, flat_actions, function(items, why)
    if not items then
      return done(nil, why)
    end
    local found, left, problem = {}, #items, nil
    local function finish()
      if #found == 0 and problem then
        return done(nil, problem)
      end
      requests.convert_answers(calls, found, nil, done)
    end
    if left == 0 then
      return finish()
    end
    for _, one in ipairs(items) do
      local function item() return { item = one.action } end
      local function add(call) found[#found + 1] = { server = one.server, call = call } end
      requests.ask_all({ one.server }, method, item, nil, function(answers, failed)
        problem = problem or failed
        for _, answer in ipairs(answers) do
          each_value(answer.result, add)
        end
        left = left - 1
        if left == 0 then
          finish()
        end
      end)
    end
  end)
end

function answerers.actions(params, done)
  local function make(bufnr) return action_params(bufnr, params) end
  requests.ask_of_file("textDocument/codeAction", params, make, actions, done)
end

function answerers.actionEdits(params, done)
  local versions = {}
  local function make(bufnr)
    versions = requests.versions_now()
    return action_params(bufnr, params)
  end
  local function convert(one)
    local answers = one.action.edit and { { server = one.server, result = one.action.edit } } or {}
    local edits = requests.convert_edits(answers, versions)
    return vim.tbl_extend("error", edits, { command = command_title(one.action) })
  end
  requests.ask_of_file("textDocument/codeAction", params, make, flat_actions, function(found, why)
    local one = vim.iter(found or {}):find(
      function(each) return each.action.title == params.title and not each.action.disabled end
    )
    if not one then
      return done(nil, why or "the language servers no longer offer this action")
    end
    -- A command that a server offers in place of an action has no edit and cannot be resolved.
    local is_whole = one.action.edit or type(one.action.command) == "string"
    if is_whole or not one.server:supports_method("codeAction/resolve") then
      return requests.convert_answers(function() return convert(one) end, { one }, nil, done)
    end
    local function action() return one.action end
    requests.ask_all({ one.server }, "codeAction/resolve", action, nil, function(answers, failed)
      local resolved = answers[1] and { server = one.server, action = answers[1].result } or one
      if not resolved.action.edit and not resolved.action.command and failed then
        return done(nil, failed)
      end
      requests.convert_answers(function() return convert(resolved) end, { resolved }, nil, done)
    end)
  end)
end

---@type table<string, fun(params: table, done: agent_ls.QueryDone)>
M.answerers = answerers

return M
