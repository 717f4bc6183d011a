-- Lists from which the user chooses: models, queued messages, rules, MCP servers, changes. Also shows the usage of the
-- context window.
local float = require("agent_ls.float")
local log = require("agent_ls.log")
local protocol = require("agent_ls.protocol")
local session = require("agent_ls.session")
local snapshot = require("agent_ls.snapshot")

local M = {}

---@param model agent_ls.wire.ModelInfo
---@param providers table<string, agent_ls.wire.ProviderInfo>
---@return string
local function model_label(model, providers)
  local provider = providers[model.provider] or { name = model.provider, hasKey = true, keyVariable = "" }
  local facts = { provider.name, model.address }
  if model.contextTokens then
    facts[#facts + 1] = ("%dk"):format(math.floor(model.contextTokens / 1000))
  end
  if model.inputPrice and model.outputPrice then
    facts[#facts + 1] = ("$%g/$%g"):format(model.inputPrice, model.outputPrice)
  end
  if not provider.hasKey and provider.keyVariable ~= "" and not model.address then
    facts[#facts + 1] = "no key"
  end
  return ("%s  [%s]"):format(model.name ~= "" and model.name or model.id, table.concat(facts, ", "))
end

---Lets the user choose a model, including those of local model servers. The choice becomes the default of new
---sessions.
function M.model()
  session.models(function(result)
    local providers = {}
    for _, provider in ipairs(result.providers) do
      providers[provider.id] = provider
    end
    local usable = function(model)
      local provider = providers[model.provider]
      return model.address ~= nil or not provider or provider.hasKey
    end
    local models = vim.list_extend(
      vim.tbl_filter(usable, result.models),
      vim.tbl_filter(function(model) return not usable(model) end, result.models)
    )
    require("agent_ls.menu").select(models, {
      prompt = "Model",
      format_item = function(model) return model_label(model, providers) end,
      preview = function(model) return { lines = vim.split(vim.inspect(model), "\n"), filetype = "lua" } end,
    }, function(model)
      if model then
        session.choose_model(model.provider, model.id)
      end
    end)
  end)
end

---Describes the images of a queued message; "" if it has none.
---@param item agent_ls.wire.QueueItem
---@return string
local function describe_images(item)
  local count = item.images or 0
  return count == 0 and "" or (" + %d picture%s"):format(count, count == 1 and "" or "s")
end

---Lets the user edit the text of a queued message. Its images are kept.
---@param item agent_ls.wire.QueueItem
local function edit_queued(item)
  float.write(vim.split(item.text, "\n"), { title = "queued message" .. describe_images(item) }, function(lines)
    local text = vim.trim(table.concat(lines, "\n"))
    if text ~= "" then
      local input = { protocol.text_input(text) }
      session.change_queue({ edit = { queuedId = item.queuedId, input = input, keepImages = true } })
    end
  end)
end

---@type {[1]: string, [2]: fun(item: agent_ls.wire.QueueItem)}[]
local QUEUE_ACTIONS = {
  { "Change it", edit_queued },
  { "Send it now", function(item) session.change_queue({ startNow = item.queuedId }) end },
  {
    "To the front",
    function(item)
      local first = session.snapshot().queue[1]
      session.change_queue({ move = { queuedId = item.queuedId, before = first and first.queuedId } })
    end,
  },
  { "Remove it", function(item) session.change_queue({ remove = item.queuedId }) end },
}

---@param item agent_ls.wire.QueueItem
local function act_on_queued(item)
  require("agent_ls.menu").select(QUEUE_ACTIONS, {
    prompt = item.text:match("^[^\n]*") .. describe_images(item),
    format_item = function(action) return action[1] end,
  }, function(action)
    if action then
      action[2](item)
    end
  end)
end

---Lets the user choose a queued message, and then an action for it.
function M.queue()
  local queue = session.snapshot().queue
  if #queue == 0 then
    return log.notify("No message is queued. :AgentLs queue TEXT queues a message.")
  end
  require("agent_ls.menu").select(queue, {
    prompt = "Queued until the agent is done",
    format_item = function(item) return item.text:gsub("\n", " ") .. describe_images(item) end,
  }, function(item)
    if item then
      act_on_queued(item)
    end
  end)
end

---@param rule agent_ls.wire.RuleInfo
---@return string
local function rule_label(rule)
  local uses = rule.hits == 1 and "used once" or ("used %d times"):format(rule.hits)
  return ("%s  [%s, %s]"):format(rule.label, rule.scope, uses)
end

---Lists the user's rules, which allow calls without approval; the user can delete one.
function M.rules()
  session.rules(function(rules)
    if #rules == 0 then
      return log.notify("You have not stored any rules. You can store a rule when you answer an approval request.")
    end
    require("agent_ls.menu").select(rules, { prompt = "Allowed without approval", format_item = rule_label }, function(rule)
      if not rule then
        return
      end
      local yes = "Remove this rule: ask about such actions again"
      require("agent_ls.menu").select({ yes, "Leave it" }, { prompt = rule.label }, function(choice)
        if choice == yes then
          session.remove_rule(rule.id, function() log.notify("Removed the rule: " .. rule.label) end)
        end
      end)
    end)
  end)
end

---@type table<string, string>
local SERVER_STATES = {
  unapproved = "not approved yet",
  denied = "you denied it",
  restarting = "starting again",
  login = "needs a login",
}

---@param server agent_ls.wire.McpServerInfo
---@return string
local function server_label(server)
  local state = SERVER_STATES[server.state] or server.state
  return ("%s  [%s, %d tools]%s"):format(server.name, state, #server.tools, server.error and "  " .. server.error:gsub("\n.*", "") or "")
end

---@param server agent_ls.wire.McpServerInfo
---@return agent_ls.Preview
local function server_preview(server)
  local lines = { server.name, server.target, "from " .. (server.file or server.source) }
  if server.error then
    vim.list_extend(lines, { "", unpack(vim.split(server.error, "\n", { plain = true })) })
  end
  for title, names in pairs({ tools = server.tools, prompts = server.prompts }) do
    if #names > 0 then
      vim.list_extend(lines, { "", title .. ":" })
      vim.list_extend(lines, vim.tbl_map(function(name) return "  " .. name end, names))
    end
  end
  return { lines = lines }
end

local STOPPED = { off = true, denied = true, unapproved = true, stopped = true }

---@param server agent_ls.wire.McpServerInfo
local function act_on_server(server)
  local choices = STOPPED[server.state] and { { "on", "Switch the server on" } }
    or { { "off", "Switch the server off, also for later sessions" }, { "restart", "Restart the server" } }
  choices[#choices + 1] = { nil, "Show what it offers" }
  require("agent_ls.menu").select(choices, {
    prompt = server_label(server),
    format_item = function(choice) return choice[2] end,
  }, function(choice)
    if not choice then
      return
    end
    if not choice[1] then
      return float.read(server_preview(server).lines, { title = "MCP server " .. server.name })
    end
    session.switch_mcp_server(server.name, choice[1], function() M.mcp() end)
  end)
end

---Lists the session's MCP servers with state and errors; the user can switch one on or off, or restart it.
function M.mcp()
  session.mcp_servers(function(result)
    for _, problem in ipairs(result.problems) do
      log.warn(problem)
    end
    if #result.servers == 0 then
      local asked = snapshot.pending_approvals(session.snapshot())[1]
      local is_asked = asked ~= nil and asked.request.tool == "mcp"
      return log.notify(is_asked and "The MCP servers wait for your answer in the panel." or "No MCP servers are set up: :help agent-ls-mcp")
    end
    local options = { prompt = "MCP servers", format_item = server_label, preview = server_preview }
    require("agent_ls.menu").select(result.servers, options, function(server)
      if server then
        act_on_server(server)
      end
    end)
  end)
end

local TRUST = {
  { decision = "trust", trust = "trusted", label = "Trust this folder: its files come from you or from somebody you know" },
  { decision = "restrict", trust = "restricted", label = "Do not trust this folder: the agent can only read and answer" },
  { decision = "forget", trust = "unknown", label = "Ask me again with the next message" },
}

---Shows whether the folder is trusted, and lets the user change it.
function M.trust()
  session.trust(nil, function(now)
    local choices = vim.tbl_filter(function(it) return it.trust ~= now.trust end, TRUST)
    local folder = vim.uri_to_fname(now.workspaceFolder)
    require("agent_ls.menu").select(choices, {
      prompt = ("%s: %s"):format(folder, now.trust == "unknown" and "not decided" or now.trust),
      format_item = function(it) return it.label end,
    }, function(choice)
      if choice then
        session.trust(choice.decision, function(new)
          local words = new.trust == "unknown" and "you are asked again with the next message" or new.trust
          log.notify(("%s: %s"):format(folder, words))
        end)
      end
    end)
  end)
end

---@param hunk agent_ls.Hunk
---@return string
local function hunk_label(hunk)
  local path = vim.fn.fnamemodify(vim.uri_to_fname(hunk.uri), ":.")
  return ("%s:%d  +%d −%d  %s"):format(path, hunk.first + 1, #hunk.new_lines, #hunk.old_lines, hunk.state)
end

---@param hunk agent_ls.Hunk
---@return agent_ls.Preview
local function hunk_preview(hunk)
  local signed = function(sign, lines)
    return vim.tbl_map(function(line) return sign .. line end, lines)
  end
  return { lines = vim.list_extend(signed("-", hunk.old_lines), signed("+", hunk.new_lines)), filetype = "diff" }
end

---Lets the user choose a pending change, and moves the cursor to it.
function M.hunks()
  local all = require("agent_ls.review.actions").list_all()
  if #all == 0 then
    return log.notify("There are no changes to review.")
  end
  local options = { prompt = "Changes to review", format_item = hunk_label, preview = hunk_preview }
  require("agent_ls.menu").select(all, options, function(hunk)
    if hunk then
      require("agent_ls.chat.view").show_file(vim.uri_to_fname(hunk.uri), hunk.first + 1)
    end
  end)
end

local CATEGORIES = {
  { "system", "Instructions and system" },
  { "tools", "Tools" },
  { "documents", "Project documents" },
  { "history", "Conversation" },
  { "toolOutput", "Output of tools" },
}
local BAR_COLUMNS = 24

---@param count integer
---@param whole integer
---@return string
local function bar(count, whole)
  local full = math.floor(BAR_COLUMNS * math.min(1, count / math.max(1, whole)) + 0.5)
  return ("█"):rep(full) .. ("░"):rep(BAR_COLUMNS - full)
end

---@param count integer
---@return string with commas
local function format_number(count) return (tostring(count):reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", "")) end

---Shows the usage of the context window.
function M.context()
  local usage = session.snapshot().usage
  if not usage then
    return log.notify("Nothing has been sent to the model yet.")
  end
  local percent = math.floor(100 * usage.context / math.max(1, usage.window) + 0.5)
  local lines = {
    ("%s %d%%   %s of %s tokens"):format(bar(usage.context, usage.window), percent, format_number(usage.context), format_number(usage.window)),
    "",
  }
  for _, category in ipairs(CATEGORIES) do
    local count = (usage.parts or {})[category[1]]
    if count then
      lines[#lines + 1] = ("%s %-24s %10s"):format(bar(count, usage.context), category[2], format_number(count))
    end
  end
  vim.list_extend(lines, { "", ":AgentLs compact replaces earlier messages with a summary to free space." })
  float.read(lines, { title = "context", width = 76 })
end

return M
