-- Lets the user send a message to one running subagent, or stop it. The turn goes on.
local log = require("agent_ls.log")
local menu = require("agent_ls.menu")
local session = require("agent_ls.session")

local M = {}

local MESSAGE, STOP = "Send a message…", "Stop"

---@return agent_ls.Item[] the running subagents, oldest first
local function list_running()
  return vim.tbl_filter(
    function(item) return item.kind == "subagent" and item.status == "running" end,
    session.snapshot().items
  )
end

---@param agent agent_ls.Item
local function act(agent)
  menu.select({ MESSAGE, STOP }, { prompt = ("%s: %s"):format(agent.id, agent.text or "") }, function(choice)
    if choice == STOP then
      session.interrupt(agent.id)
    elseif choice == MESSAGE then
      vim.ui.input({ prompt = ("Message to %s: "):format(agent.id) }, function(text)
        if text and vim.trim(text) ~= "" then
          session.steer(text, agent.id)
        end
      end)
    end
  end)
end

---Lets the user choose a running subagent, if there are several, and what to do with it.
function M.choose()
  local running = list_running()
  if #running == 0 then
    return log.notify("No subagent is at work.")
  elseif #running == 1 then
    return act(running[1])
  end
  local format = function(item) return ("%s  %s"):format(item.id, item.text or "") end
  menu.select(running, { prompt = "Subagent", format_item = format }, function(agent)
    if agent then
      act(agent)
    end
  end)
end

return M
