-- Runs a session of codecompanion.nvim, an ACP client, with the agent in $AGENT_LS_COMMAND (JSON):
-- nvim -l codecompanion.lua. Answers approvals with the keys that the plugin shows. Prints the result as JSON.
local clients = vim.env.ACP_CLIENTS
vim.opt.rtp:prepend(clients .. '/plenary.nvim')
vim.opt.rtp:prepend(clients .. '/codecompanion.nvim')
vim.cmd('runtime! plugin/codecompanion.lua')

local adapter = vim.deepcopy(require('codecompanion.adapters.acp.opencode'))
adapter.name, adapter.formatted_name = 'agent_ls', 'agent-ls'
adapter.commands = { default = vim.json.decode(vim.env.AGENT_LS_COMMAND) }
local companion = require('codecompanion')
companion.setup({
  adapters = { acp = { agent_ls = function() return adapter end } },
  interactions = { chat = { adapter = 'agent_ls' } },
})

local seen = { stops = {} }

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

vim.o.autoread = true
vim.cmd('edit note.txt')
local note = vim.api.nvim_get_current_buf()
companion.chat({ fargs = {} })
local chat = companion.last_chat()
wait('session', function() return chat.acp_connection and chat.acp_connection.session_id end)

local function text()
  return table.concat(vim.api.nvim_buf_get_lines(chat.bufnr, 0, -1, false), '\n')
end

local function turns()
  return select(2, text():gsub('## Me', ''))
end

local function send(words)
  vim.api.nvim_buf_set_lines(chat.bufnr, -1, -1, false, { words })
  chat:submit()
end

--- Presses a key in the buffers that have a mapping for it.
local function press(key)
  local found
  wait('key ' .. key, function()
    for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
      for _, map in ipairs(vim.api.nvim_buf_get_keymap(buffer, 'n')) do
        if map.lhs == key and map.callback and map.desc ~= nil and (map.desc:find('[Aa]ccept') or map.desc:find('[Rr]eject')) then
          found = map
          return vim.fn.bufwinid(buffer) ~= -1
        end
      end
    end
    return false
  end)
  found.callback()
end

local labels = require('codecompanion.interactions.chat.tools.labels').keymaps()
seen.keys = labels
local count = turns()
send('edit')
press(labels.accept)
wait('end of the edit', function() return turns() > count end)
vim.cmd('checktime')
seen.note = table.concat(vim.api.nvim_buf_get_lines(note, 0, -1, false), '\n')

count = turns()
send('deny')
press(labels.reject)
wait('end of the denial', function() return turns() > count end)

count = turns()
send('run')
press(labels.accept)
wait('end of the command', function() return turns() > count end)

count = turns()
send('stop')
wait('a running turn', function() return text():find('Working', 1, true) end)
chat:stop()
wait('end of the stop', function() return turns() > count end)
count = turns()
send('back')
wait('end of the last', function() return turns() > count end)
seen.chat = text()
seen.session = chat.acp_connection.session_id
finish()
