-- Renders the welcome text of an empty panel: usage, example messages, the newest sessions, API key and model. Pure.
local canvas = require("agent_ls.chat.canvas")

local M = {}

---@alias agent_ls.StartAction {prompt: string?, session: string?, command: string?}

local INTRO = "Write below what should change in this project. Edits are made in your buffers, and wait there "
  .. "for you to keep or undo them."
local NARROW = 48 -- columns; in a narrower window a key and its description are on two lines

---@param info agent_ls.wire.SessionInfo
---@return string
local function session_words(info)
  local when = require("agent_ls.clock").local_minute(info.updated):sub(6)
  return ("%s  %s"):format(when, info.title ~= "" and info.title or "(no title)")
end

---@param start agent_ls.Start
---@return string words
---@return string? command
local function key_words(start)
  if start.has_key == false then
    return "no API key is set: enter a key, or try :AgentLs demo", "key"
  end
  return (start.model and start.model .. ", " or "") .. "a key is set", nil
end

---@param out agent_ls.Canvas
---@param ctx agent_ls.RenderContext
local function draw_keys(out, ctx)
  local rows = {
    { ctx.keys.send_insert or ctx.keys.send or "", "send, also while it works" },
    { ctx.keys.help or "", "all keys" },
    { "@ /", "a file · a command" },
    { ":AgentLs demo", "a walkthrough, no key needed" },
  }
  for _, row in ipairs(rows) do
    if ctx.width < NARROW then
      out:add({ { row[1] .. " ", "AgentLsKey" }, { row[2], "AgentLsDim" } })
    else
      out:add({ { ("%-16s"):format(row[1]), "AgentLsKey" }, { row[2], "AgentLsDim" } })
    end
  end
end

---@param ctx agent_ls.RenderContext
---@param start agent_ls.Start
---@return agent_ls.Rendered
---@return table<integer, agent_ls.StartAction> actions by row, from 0
function M.render_welcome(ctx, start)
  local out, actions = canvas.new(), {}
  local add = function(action, chunks)
    actions[#out.lines] = action
    out:add(chunks)
  end
  for _, line in ipairs(canvas.wrap(INTRO, ctx.width)) do
    out:add({ { line } })
  end
  local expand = ctx.keys.expand and (" (%s)"):format(ctx.keys.expand) or ""
  if #start.examples > 0 then
    out:add({ { "" } })
    out:add({ { "Begin with", "AgentLsStrong" }, { expand, "AgentLsDim" } })
    for _, text in ipairs(start.examples) do
      add({ prompt = text }, { { "❯ ", "AgentLsUserMark" }, { canvas.shorten(text, ctx.width - 3) } })
    end
  end
  if #start.sessions > 0 then
    out:add({ { "" } })
    out:add({ { "Go on with", "AgentLsStrong" }, { expand, "AgentLsDim" } })
    for _, info in ipairs(start.sessions) do
      add({ session = info.id }, { { "↻ ", "AgentLsKey" }, { canvas.shorten(session_words(info), ctx.width - 3) } })
    end
  end
  out:add({ { "" } })
  if start.has_key ~= nil then
    local words, command = key_words(start)
    local glyph = command and { "! ", "AgentLsWarn" } or { "✓ ", "AgentLsDone" }
    add(command and { command = command } or nil, { glyph, { words, "AgentLsDim" } })
    out:add({ { "" } })
  end
  draw_keys(out, ctx)
  return out, actions
end

return M
