-- Global keys that answer a pending approval from any window, not only from the panel. They are mapped only while
-- an approval is pending. Mappings of the user for the same keys are restored afterwards.
local approvals = require("agent_ls.chat.approvals")
local config = require("agent_ls.config")
local log = require("agent_ls.log")
local session = require("agent_ls.session")
local snapshot = require("agent_ls.snapshot")

local M = {}

local MODES = { "n", "i", "x" }

local mapped = {} ---@type {mode: string, key: string, before: table?}[]

local ACTIONS = {
  prompt_allow = { run = approvals.once_per_press(approvals.allow), desc = "allow once" },
  prompt_deny = { run = approvals.deny, desc = "deny, with a reason" },
}

---@param mode string
---@param key string
---@return table? the user's global mapping of the key
local function global_mapping(mode, key)
  local raw = vim.keycode(key)
  return vim.iter(vim.api.nvim_get_keymap(mode)):find(function(each) return vim.keycode(each.lhs) == raw end)
end

---Maps the keys in all modes, and saves the mappings that they replace.
local function map()
  for action, what in pairs(ACTIONS) do
    local key = config.key(action)
    for _, mode in ipairs(key and MODES or {}) do
      table.insert(mapped, { mode = mode, key = key, before = global_mapping(mode, key) })
      local run = log.guard(what.desc, function() what.run() end)
      vim.keymap.set(mode, key, run, { nowait = true, desc = "agent-ls: " .. what.desc })
    end
  end
end

---Removes the keys and restores the mappings that they replaced.
local function unmap()
  for _, one in ipairs(mapped) do
    pcall(vim.keymap.del, one.mode, one.key)
    if one.before then
      vim.fn.mapset(one.mode, false, one.before)
    end
  end
  mapped = {}
end

---Maps the keys if an approval is pending, else unmaps them.
function M.refresh()
  local waits = #snapshot.pending_approvals(session.snapshot()) > 0
  if waits and #mapped == 0 then
    map()
  elseif not waits and #mapped > 0 then
    unmap()
  end
end

return M
