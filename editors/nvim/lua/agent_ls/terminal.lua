-- Shows the output of commands. If a command runs in a terminal of this editor, shows that terminal. Otherwise shows a
-- buffer that is created on first use and filled from the session's events.
local log = require("agent_ls.log")
local relay = require("agent_ls.relay")
local session = require("agent_ls.session")

local api = vim.api

local M = {}

---@class agent_ls.TerminalView
---@field bufnr integer
---@field channel integer
---@field fed integer number of code points of the call's output that the view was created with

local views = {} ---@type table<string, agent_ls.TerminalView> by call id

---@param text string
---@return string with the line ends of a terminal
local function for_terminal(text) return (text:gsub("\r?\n", "\r\n")) end

---@param view agent_ls.TerminalView
---@param text string
local function write_output(view, text) pcall(api.nvim_chan_send, view.channel, for_terminal(text)) end

---Returns a last line for the output, which says how the call ended; "" while it runs.
---@param item agent_ls.Item
---@return string
local function describe_end(item)
  local result = item.result
  if not result then
    return ""
  end
  local how = result.exitCode and ("exit %d"):format(result.exitCode) or result.summary
  return ("\n\27[2m[%s, %.1f s]\27[0m\n"):format(how, (result.durationMs or 0) / 1000)
end

---Opens a view with the output of a call so far.
---@param item agent_ls.Item of kind tool
---@return agent_ls.TerminalView
local function create_view(item)
  local bufnr = api.nvim_create_buf(false, true)
  vim.bo[bufnr].bufhidden = "hide"
  relay.open_window(bufnr)
  -- Create the emulator after the window, because it wraps the output at the window's width.
  local view = { bufnr = bufnr, channel = api.nvim_open_term(bufnr, {}), fed = item.part.length }
  pcall(api.nvim_buf_set_name, bufnr, ("agent-ls://terminal/%s"):format(item.id))
  views[item.id] = view
  local terminal = session.snapshot().terminals[item.terminal_id]
  local title = terminal and terminal.title or item.summary
  write_output(view, "\27[1m$ " .. title .. "\27[0m\n" .. table.concat(item.part.lines, "\n") .. describe_end(item))
  return view
end

---@return agent_ls.Item? the newest call that runs or ran a command
local function last_call()
  local s = session.snapshot()
  local id = s.terminal_order[#s.terminal_order]
  return id and s.calls[s.terminals[id].call_id]
end

---Shows the output of a call.
---@param call_id string? default: the newest command
function M.show_call(call_id)
  local item = call_id and session.snapshot().calls[call_id] or last_call()
  if not item then
    return log.notify("No command has run yet.")
  end
  local terminal = session.snapshot().terminals[item.terminal_id]
  if relay.show_terminal(item.id, terminal and terminal.waiting) then
    return
  end
  local view = views[item.id]
  if view and api.nvim_buf_is_valid(view.bufnr) then
    relay.open_window(view.bufnr)
  else
    create_view(item)
  end
end

---@param terminal {id: string, title: string, call_id: string?, running: boolean, exit_code: integer?, background: boolean, waiting: boolean?}
---@return string
local function label(terminal)
  local state = terminal.waiting and "waits for input"
    or terminal.running and "running"
    or terminal.exit_code and "exit " .. terminal.exit_code
    or "ended"
  return ("%s  [%s%s]"):format(terminal.title, terminal.background and "background, " or "", state)
end

---Lists the commands of this session, newest first. Background processes are from the server's list, which has their
---exit codes; all others are from the snapshot.
---@param listed agent_ls.wire.TerminalInfo[]
---@return table[]
local function merge(listed)
  local s = session.snapshot()
  listed = vim.tbl_filter(function(info) return info.background end, listed)
  local out = vim.tbl_map(function(info)
    return {
      id = info.terminalId,
      title = info.command,
      background = true,
      call_id = info.callId,
      running = info.exitCode == nil,
      waiting = info.waiting,
      exit_code = info.exitCode,
    }
  end, listed)
  for i = #s.terminal_order, 1, -1 do
    local terminal = s.terminals[s.terminal_order[i]]
    if not terminal.background then
      out[#out + 1] = terminal
    end
  end
  return out
end

---Shows the output of a command. For a running background process, asks what to do with it.
---@param terminal table
local function open_chosen(terminal)
  if not terminal.background then
    return M.show_call(terminal.call_id)
  end
  local is_shown = relay.buffer_of(terminal.call_id or "") ~= nil
  if not terminal.running then
    return not (is_shown and relay.show_terminal(terminal.call_id)) and log.notify(("%s has ended"):format(terminal.title))
  end
  local actions = { "Leave it running", "End it", is_shown and "Show its terminal" or nil }
  require("agent_ls.menu").select(actions, { prompt = terminal.title }, function(action)
    if action == actions[2] then
      session.kill(terminal.id)
    elseif action and action == actions[3] then
      relay.show_terminal(terminal.call_id, terminal.waiting)
    end
  end)
end

---Lets the user choose a command of this session, to view or stop it.
function M.choose()
  session.terminals(function(listed)
    local all = merge(listed)
    if #all == 0 then
      return log.notify("No command has run yet.")
    end
    require("agent_ls.menu").select(all, { prompt = "Commands", format_item = label }, function(terminal)
      if terminal then
        open_chosen(terminal)
      end
    end)
  end)
end

---@param change agent_ls.Change
local function on_change(change)
  local event = change.event
  if not event then
    return
  end
  if event.kind == "tool_call_output_delta" then
    local view = views[(event.partId:gsub(":out$", ""))]
    if view then
      write_output(view, event.data.text)
    end
  elseif event.kind == "tool_call_end" and views[event.data.callId] then
    write_output(views[event.data.callId], describe_end({ result = event.data }))
  end
end

---Shows the terminal of a command in place of a view that was opened before the terminal existed. Only the
---terminal accepts input.
---@param call_id string
local function replace_view(call_id)
  local view, bufnr = views[call_id], relay.buffer_of(call_id)
  if not view or not bufnr then
    return
  end
  views[call_id] = nil
  if api.nvim_buf_is_valid(view.bufnr) then
    relay.replace_buffer(view.bufnr, bufnr)
    api.nvim_buf_delete(view.bufnr, { force = true })
  end
end

function M.setup()
  session.listen(on_change)
  relay.on_runs = replace_view
end

return M
