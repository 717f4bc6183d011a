-- The status lines around the panel, and the statusline component: the session's activity, model, tokens.
local canvas = require("agent_ls.chat.canvas")
local config = require("agent_ls.config")
local editor_state = require("agent_ls.editor_state")
local next_session = require("agent_ls.next_session")
local session = require("agent_ls.session")
local snapshot = require("agent_ls.snapshot")

local M = {}

local GLYPHS = { working = "●", waiting = "◆", idle = "○", closed = "■", failed = "✗" }
local WORDS = { working = "working", waiting = "waiting for you", idle = "idle", closed = "closed", failed = "failed" }
local GROUPS = {
  working = "AgentLsRunning",
  waiting = "AgentLsAsk",
  idle = "AgentLsDim",
  closed = "AgentLsDim",
  failed = "AgentLsFailed",
}

local FULL = 0.8 -- share of the context window at which compaction is recommended
local FLASH_MS = 5000 -- how long `flash` shows a message

local flash ---@type string?
local flash_timer ---@type uv.uv_timer_t?
local busy_since ---@type integer?
local ticker ---@type uv.uv_timer_t?

---@param text string
---@return string escaped for a statusline
local function escape(text) return (text:gsub("%%", "%%%%"):gsub("%c", " ")) end

---@param count integer
---@return string
local function tokens(count)
  if count < 1000 then
    return tostring(count)
  end
  if count < 1000000 then
    return ("%.1fk"):format(count / 1000)
  end
  return ("%.1fM"):format(count / 1000000)
end

---@param s agent_ls.Snapshot
---@return string
local function usage(s)
  local u = s.usage
  if not u then
    return ""
  end
  local share = u.window > 0 and (" %d%%"):format(math.floor(100 * u.context / u.window + 0.5)) or ""
  return tokens(u.context) .. share
end

---@param s agent_ls.Snapshot
---@return string cost of the session; "" if it is not known
local function cost(s)
  local dollars = s.usage and s.usage.cost
  return dollars and (dollars < 0.01 and "<$0.01" or ("$%.2f"):format(dollars)) or ""
end

---@param info agent_ls.wire.SessionInfo
---@return string
local function model(info)
  if info.isWalkthrough then
    return "walkthrough (no model)"
  end
  return (info.model or "") ~= "" and info.model or info.provider or ""
end

---Returns the session's activity; "failed" if an error closed the session. The next message then opens it again.
---@param s agent_ls.Snapshot
---@return "working"|"waiting"|"idle"|"closed"|"failed"
local function state_of(s)
  local activity = snapshot.describe_activity(s)
  return activity == "closed" and s.failure and "failed" or activity
end

---Returns the duration of the running turn; "" if none is running.
---@param activity string
---@return string
local function elapsed(activity)
  if activity ~= "working" or not busy_since then
    return ""
  end
  local seconds = math.floor((vim.uv.hrtime() - busy_since) / 1e9)
  return seconds < 60 and (" %d s"):format(seconds) or (" %d:%02d"):format(seconds / 60, seconds % 60)
end

---Returns the statusline component; "" before there is a session.
---@return string
function M.render_status()
  local s = session.snapshot()
  if not s.session then
    return ""
  end
  local activity = state_of(s)
  local words = { GLYPHS[activity] .. " " .. WORDS[activity], model(s.session), usage(s), cost(s) }
  return "agent-ls " .. table.concat(vim.tbl_filter(function(word) return word ~= "" end, words), " · ")
end

---@param s agent_ls.Snapshot
---@return string the session's title, or the beginning of its first message
local function title_of(s)
  if s.session and s.session.title ~= "" then
    return s.session.title
  end
  local first = vim.iter(s.items):find(function(item) return item.kind == "user" end)
  return first and first.text:gsub("^[^\n]+:\n(```+)\n.-\n%1\n%s*", "") or "agent-ls"
end

---@param is_status boolean for a statusline, which may have the width of the screen
---@return integer columns of the line that is being drawn
local function available_columns(is_status)
  -- While a statusline is evaluated, its window counts as the current one (:help stl-%{).
  return is_status and vim.o.laststatus == 3 and vim.o.columns or vim.api.nvim_win_get_width(0)
end

---@return string winbar of the transcript
function M.render_title()
  local s = session.snapshot()
  local activity = state_of(s)
  local state = s.session and ("%s %s%s"):format(GLYPHS[activity], WORDS[activity], elapsed(activity)) or ""
  if session.is_awaited() then
    state = "◌ starting"
  end
  local title = canvas.shorten(title_of(s), available_columns(false) - vim.api.nvim_strwidth(state) - 3)
  return (" %s %%=%%#%s#%s%%* "):format(escape(title), GROUPS[activity], escape(state))
end

---@return string name of the file that is attached to messages, as a chip; "" for none
local function render_context_chip()
  local context = editor_state.describe_context()
  if not context then
    return ""
  end
  local lines = context.first and (":%d-%d"):format(context.first, context.last) or ""
  return (context.is_shared and "@" or "without @") .. vim.fs.basename(context.path) .. lines
end

---@return string line with the keys, between transcript and prompt
function M.render_keys()
  if flash then
    return "%#AgentLsBarKey# " .. escape(flash) .. "%<%*"
  end
  if not config.options.hints then
    return ""
  end
  local s = session.snapshot()
  local activity = snapshot.describe_activity(s)
  local parts = {}
  local add = function(action, words)
    local key = config.key(action)
    if key then
      parts[#parts + 1] = ("%%#AgentLsBarKey#%s%%* %s"):format(escape(key), words)
    end
  end
  if snapshot.is_read_only(s) then
    local how = " moves it to this editor"
    local is_room = available_columns(false) >= #(" read only  :AgentLs takeover" .. how)
    return "%#AgentLsBarKey# read only  :AgentLs takeover%*" .. (is_room and how or "") .. "%<"
  end
  local asked = snapshot.pending_approvals(s)[1]
  if asked then
    local is_trust = (asked.request.effect or {}).folder ~= nil
    local allow = is_trust and "trust it" or "allow"
    add("prompt_allow", require("agent_ls.chat.view").has_more_of(asked) and "read on" or allow)
    add("prompt_deny", is_trust and "do not" or "deny")
  elseif snapshot.describe_activity(s) == "waiting" and snapshot.has_proposals(s) then
    parts[#parts + 1] = "%#AgentLsBarKey#:AgentLs next%* to the change"
  elseif require("agent_ls.plan").read_lines() then
    parts[#parts + 1] = "%#AgentLsBarKey#:AgentLs plan%* edit and accept the plan"
  else
    local is_typing = vim.api.nvim_get_mode().mode:match("^i")
    add(is_typing and "send_insert" or "send", activity == "working" and "steer" or "send")
  end
  if activity == "working" or activity == "waiting" then
    add("stop", "stop")
  end
  add("help", "keys")
  if #s.queue > 0 then
    parts[#parts + 1] = ("%%#AgentLsBarKey#%d queued%%*"):format(#s.queue)
  end
  local shown = table.concat(parts, "  ")
  while #parts > 1 and vim.api.nvim_eval_statusline(shown, { maxwidth = 1000 }).width > available_columns(false) - 2 do
    table.remove(parts) -- the last one is the least important
    shown = table.concat(parts, "  ")
  end
  local with = render_context_chip()
  local free = available_columns(false) - 4 - vim.api.nvim_eval_statusline(shown, { maxwidth = 1000 }).width
  local is_room = with ~= "" and free >= vim.api.nvim_strwidth(with)
  return " " .. shown .. (is_room and "%=%#AgentLsBarKey#" .. escape(with) .. " " or "") .. "%<%*"
end

---@return string statusline of the prompt
function M.render_facts()
  local s = session.snapshot()
  local info = s.session or next_session.settings()
  local to_review = require("agent_ls.review.actions").count_open()
  local waiting = to_review > 0 and ("%d to review"):format(to_review) or ""
  local owner = snapshot.is_read_only(s) and "read only: owned by another editor" or ""
  local effort = info.effort and "effort " .. info.effort or ""
  local facts = { model(info), info.mode or "", effort, owner, waiting, usage(s), cost(s) }
  local shown = vim.tbl_filter(function(word) return word ~= "" end, facts)
  local is_full = s.usage and s.usage.window > 0 and s.usage.context >= FULL * s.usage.window
  local full = is_full and " ! :AgentLs compact" or ""
  while #shown > 1 and vim.api.nvim_strwidth(table.concat(shown, " · ")) > available_columns(true) - 1 - #full do
    table.remove(shown) -- the last one is the least important
  end
  return " " .. escape(table.concat(shown, " · ")) .. (is_full and "%#AgentLsBarKey#" .. full .. "%*" or "")
end

---Sets the winbars and statuslines of the panel.
---@param transcript integer
---@param prompt integer
function M.set(transcript, prompt)
  local call = "%%{%%v:lua.require'agent_ls.chat.status_lines'.%s()%%}"
  vim.wo[transcript][0].winbar = call:format("render_title")
  vim.wo[transcript][0].statusline = call:format("render_keys")
  vim.wo[prompt][0].statusline = call:format("render_facts")
  if vim.o.laststatus == 3 then
    vim.wo[prompt][0].winbar = call:format("render_keys") -- with 'laststatus' 3, windows have no own statusline
  end
end

local function redraw_status()
  -- The statuslines of other windows may contain `render_status`.
  vim.cmd("redrawstatus!")
end

---Displays a text in place of the keys for FLASH_MS. In Insert mode Neovim's message line is not visible.
---@param text string
function M.flash(text)
  flash = text
  flash_timer = flash_timer or assert(vim.uv.new_timer())
  flash_timer:start(
    FLASH_MS,
    0,
    vim.schedule_wrap(function()
      flash = nil
      redraw_status()
    end)
  )
  redraw_status()
end

---Redraws the status lines, and updates the duration of the turn while the agent works. The duration excludes the time
---in which the agent waits for the user.
function M.redraw()
  local is_busy = snapshot.describe_activity(session.snapshot()) == "working"
  if is_busy and not busy_since then
    busy_since = vim.uv.hrtime()
    ticker = ticker or assert(vim.uv.new_timer())
    ticker:start(1000, 1000, vim.schedule_wrap(redraw_status))
  elseif not is_busy and busy_since then
    busy_since = nil
    ticker:stop()
  end
  redraw_status()
end

return M
