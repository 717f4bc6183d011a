-- The progress line at the end of the transcript: the current activity, its duration, and the key that stops the turn.
-- Also measures the start times of running calls, because items have no start times.
local calls = require("agent_ls.chat.render_calls")
local canvas = require("agent_ls.chat.canvas")
local config = require("agent_ls.config")
local snapshot = require("agent_ls.snapshot")

local M = {}

local FRAMES = { "⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏" }
local TICK_MS = 120
local NARROW = 44 -- columns; in a narrower window only the line above the prompt shows the stop key
local TICKS_PER_SECOND = math.floor(1000 / TICK_MS)

local timer ---@type uv.uv_timer_t?
local ticks = 0
local started = setmetatable({}, { __mode = "k" }) ---@type table<table, integer> when something was first seen, in ns
local now_what ---@type string? the activity that is shown
local now_since = 0

---@param since_ns integer
---@return string
local function seconds(since_ns)
  local count = math.floor((vim.uv.hrtime() - since_ns) / 1e9)
  return count < 60 and ("%d s"):format(count) or ("%d:%02d"):format(math.floor(count / 60), count % 60)
end

---Returns how long a call has been running, without the wait for its approval; nil if less than a second. Counts from
---the time when this editor first drew the call.
---@param item agent_ls.Item
---@return string?
function M.format_elapsed(item)
  if item.status ~= "running" then
    return nil
  end
  -- If the call needed an approval, count from the decision, because the call was drawn before the user was
  -- asked.
  local beginning = item.decision or item
  started[beginning] = started[beginning] or vim.uv.hrtime()
  local since = started[beginning]
  return vim.uv.hrtime() - since >= 1e9 and seconds(since) or nil
end

---Functions by item kind that describe the activity of an unfinished item; nil for a finished one.
---@type table<string, fun(item: agent_ls.Item, ctx: agent_ls.RenderContext): string?>
local ACTIVITIES = {
  text = function(item) return item.part.open and "Writing" or nil end,
  reasoning = function(item) return item.part.open and "Thinking" or nil end,
  tool = function(item, ctx)
    local is_open = item.status == "running" or item.status == "writing"
    return is_open and calls.describe_activity(item, ctx) or nil
  end,
  retry = function(item) return not item.status and "Waiting to try again" or nil end,
  compaction = function(item) return item.status == "started" and "Compacting the conversation" or nil end,
  subagent = function(item) return item.status == "running" and ("%s is at work"):format(item.id) or nil end,
}

local MAX_LOOKBACK = 30 -- number of newest items in which to look for a running one

---@param s agent_ls.Snapshot
---@param ctx agent_ls.RenderContext
---@return string
function M.describe_activity(s, ctx)
  for i = #s.items, math.max(1, #s.items - MAX_LOOKBACK), -1 do
    local item = s.items[i]
    local words = ACTIVITIES[item.kind] and ACTIVITIES[item.kind](item, ctx)
    if words then
      return words
    end
  end
  return "Waiting for the model"
end

---Renders the current content of the line.
---@param s agent_ls.Snapshot
---@param ctx agent_ls.RenderContext
---@return table[] chunks of virtual text
function M.render_line(s, ctx)
  local what = M.describe_activity(s, ctx)
  if what ~= now_what then
    now_what, now_since = what, vim.uv.hrtime()
  end
  local stop = ctx.width >= NARROW and not snapshot.is_read_only(s) and config.key("stop")
  local tail = (" · %s"):format(seconds(now_since)) .. (stop and (" · %s stops"):format(stop) or "")
  return {
    { FRAMES[ticks % #FRAMES + 1] .. " ", "AgentLsRunning" },
    { canvas.shorten(what, math.max(10, ctx.width - vim.api.nvim_strwidth(tail) - 3)), "AgentLsName" },
    { tail, "AgentLsDim" },
  }
end

---@param s agent_ls.Snapshot
---@return boolean the progress line is shown
function M.is_wanted(s) return #s.items > 0 and snapshot.describe_activity(s) == "working" end

---Starts or stops the animation. While it runs, `draw` is called for each frame; `is_second` is true once a second.
---@param is_wanted boolean
---@param draw fun(is_second: boolean)
function M.animate(is_wanted, draw)
  timer = timer or assert(vim.uv.new_timer())
  if not is_wanted then
    timer:stop()
    now_what = nil
  elseif not timer:is_active() then
    local tick = vim.schedule_wrap(function()
      ticks = ticks + 1
      draw(ticks % TICKS_PER_SECOND == 0)
    end)
    timer:start(TICK_MS, TICK_MS, tick)
  end
end

return M
