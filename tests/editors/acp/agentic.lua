-- Runs a session of agentic.nvim, an ACP client, with the agent in $AGENT_LS_COMMAND (JSON): nvim -l agentic.lua.
local command = vim.json.decode(vim.env.AGENT_LS_COMMAND)
vim.opt.rtp:prepend(vim.env.ACP_CLIENTS .. '/agentic.nvim')
local seen = {}
-- The plugin writes its log into this folder. It passes only the given environment variables to the agent.
vim.fn.mkdir(vim.fn.stdpath('cache'), 'p')

local function finish(problem)
  seen.problem = problem
  io.stdout:write('STORY ' .. vim.json.encode(seen) .. '\n')
  vim.cmd('qa!')
end

local function wait(what, condition)
  if not vim.wait(60000, condition, 20) then
    finish('no ' .. what)
  end
end

local agentic = require('agentic')
agentic.setup({
  debug = false,
  provider = 'agent-ls',
  acp_providers = {
    ['agent-ls'] = { name = 'agent-ls', command = command[1], args = vim.list_slice(command, 2), env = vim.fn.environ() },
  },
})
vim.cmd('edit note.txt')
local session = require('agentic.session_manager'):new(vim.api.nvim_get_current_tabpage())
session.widget:show()
wait('session', function() return session.session_id end)

local function text()
  return table.concat(vim.api.nvim_buf_get_lines(session.widget.buf_nrs.chat, 0, -1, false), '\n')
end

local function send(words, expected, choice)
  session:_handle_input_submit(words)
  local answered = not choice
  wait('the end of ' .. words, function()
    local current = session.permission_manager.current_request
    if current and not answered then
      answered = true
      for _, option in ipairs(current.request.options) do
        if option.kind == choice then
          session.permission_manager:_complete_request(option.optionId)
          return false
        end
      end
    end
    return answered and text():find(expected, 1, true)
  end)
end

send('edit', 'Edited.', 'allow_once')
send('deny', 'Denied.', 'reject_once')
send('run', 'Ran.', 'allow_once')
seen.chat = text()
seen.session = session.session_id
finish()
