-- What is chosen from lists: a model, a message that waits, and how full the model's window is.
local float = require("agent_ls.float")
local log = require("agent_ls.log")
local protocol = require("agent_ls.protocol")
local session = require("agent_ls.session")

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

---Lets the user choose a model; servers on this machine are looked for. The choice is remembered.
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
    vim.ui.select(models, {
      prompt = "Model",
      format_item = function(model) return model_label(model, providers) end,
    }, function(model)
      if model then
        session.choose_model(model.provider, model.id)
      end
    end)
  end)
end

---What goes with a message that waits, "" for nothing.
---@param item agent_ls.wire.QueueItem
---@return string
local function pictures(item)
  local count = item.images or 0
  return count == 0 and "" or (" + %d picture%s"):format(count, count == 1 and "" or "s")
end

---Its words only: the pictures that go with it stay.
---@param item agent_ls.wire.QueueItem
local function edit_queued(item)
  float.write(vim.split(item.text, "\n"), { title = "message that waits" .. pictures(item) }, function(lines)
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
  vim.ui.select(QUEUE_ACTIONS, {
    prompt = item.text:match("^[^\n]*") .. pictures(item),
    format_item = function(action) return action[1] end,
  }, function(action)
    if action then
      action[2](item)
    end
  end)
end

---Lets the user choose a message that waits for the agent to be done, and what becomes of it.
function M.queue()
  local queue = session.snapshot().queue
  if #queue == 0 then
    return log.notify("No message waits. :AgentLs queue TEXT makes one wait.")
  end
  vim.ui.select(queue, {
    prompt = "Waits for the agent to be done",
    format_item = function(item) return item.text:gsub("\n", " ") .. pictures(item) end,
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

---What is allowed without asking, by rules that the user gave; one of them can be taken back.
function M.rules()
  session.rules(function(rules)
    if #rules == 0 then
      return log.notify("No rule is given. An approval offers rules to allow by.")
    end
    vim.ui.select(rules, { prompt = "Allowed without asking", format_item = rule_label }, function(rule)
      if not rule then
        return
      end
      local yes = "Ask about it again"
      vim.ui.select({ yes, "Leave it" }, { prompt = rule.label }, function(choice)
        if choice == yes then
          session.remove_rule(rule.id, function() log.notify(rule.label .. ": asked about again") end)
        end
      end)
    end)
  end)
end

local TRUST = {
  { decision = "trust", trust = "trusted", label = "Trust it: its files are yours, or of somebody you know" },
  { decision = "restrict", trust = "restricted", label = "Do not trust it: the agent only reads and answers" },
  { decision = "forget", trust = "unknown", label = "Ask again with the next message" },
}

---Whether the folder is trusted, as it stands and as it is to be.
function M.trust()
  session.trust(nil, function(now)
    local choices = vim.tbl_filter(function(it) return it.trust ~= now.trust end, TRUST)
    local folder = vim.uri_to_fname(now.workspaceFolder)
    vim.ui.select(choices, {
      prompt = ("%s: %s"):format(folder, now.trust == "unknown" and "not decided" or now.trust),
      format_item = function(it) return it.label end,
    }, function(choice)
      if choice then
        session.trust(choice.decision, function(new)
          log.notify(("%s: %s"):format(folder, new.trust == "unknown" and "asked about again" or new.trust))
        end)
      end
    end)
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
local function number(count) return (tostring(count):reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", "")) end

---Shows what fills the model's window.
function M.context()
  local usage = session.snapshot().usage
  if not usage then
    return log.notify("Nothing has been sent to the model yet.")
  end
  local percent = math.floor(100 * usage.context / math.max(1, usage.window) + 0.5)
  local lines = {
    ("%s %d%%   %s of %s tokens"):format(bar(usage.context, usage.window), percent, number(usage.context), number(usage.window)),
    "",
  }
  for _, category in ipairs(CATEGORIES) do
    local count = (usage.parts or {})[category[1]]
    if count then
      lines[#lines + 1] = ("%s %-24s %10s"):format(bar(count, usage.context), category[2], number(count))
    end
  end
  vim.list_extend(lines, { "", ":AgentLs compact makes room: earlier messages become a summary." })
  float.read(lines, { title = "context", width = 76 })
end

return M
