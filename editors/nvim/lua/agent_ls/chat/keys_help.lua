-- A float with every key of the plugin, as the user has them.
local config = require("agent_ls.config")

local api = vim.api

local M = {}

local SECTIONS = {
  {
    "In the prompt",
    { "send", "send; while it works: steer" },
    { "send_insert", "the same, from Insert mode" },
    { "prompt_allow", "allow once" },
    { "prompt_deny", "deny, with a reason" },
    { "stop", "stop the turn" },
  },
  {
    "In the transcript",
    { "expand", "open or close what is under the cursor" },
    { "allow", "allow once" },
    { "allow_rule", "allow by the offered rule" },
    { "edit_command", "change the command, and allow it" },
    { "deny", "deny, with a reason" },
    { "open_file", "open the changed file" },
    { "open_terminal", "open the command's terminal" },
  },
  {
    "In a file with changes to review",
    { "next_hunk", "next change" },
    { "prev_hunk", "previous change" },
    { "keep_hunk", "keep" },
    { "undo_hunk", "undo" },
    { "keep_file", "keep all of this file" },
    { "undo_file", "undo all of this file" },
  },
}

---@return string[]
local function lines()
  local out = {}
  for _, section in ipairs(SECTIONS) do
    out[#out + 1] = section[1]
    for i = 2, #section do
      local action, words = unpack(section[i])
      out[#out + 1] = ("  %-14s %s"):format(config.key(action) or "-", words)
    end
    out[#out + 1] = ""
  end
  out[#out + 1] = "Commands: :help agent-ls-commands"
  return out
end

function M.show()
  local bufnr = api.nvim_create_buf(false, true)
  local text = lines()
  api.nvim_buf_set_lines(bufnr, 0, -1, false, text)
  vim.bo[bufnr].modifiable, vim.bo[bufnr].bufhidden = false, "wipe"
  local width = math.min(60, vim.o.columns - 4)
  local height = math.min(#text, vim.o.lines - 6)
  local win = api.nvim_open_win(bufnr, true, {
    relative = "editor",
    width = width,
    height = height,
    row = math.floor((vim.o.lines - height) / 2) - 1,
    col = math.floor((vim.o.columns - width) / 2),
    style = "minimal",
    border = "rounded",
    title = " agent-ls keys ",
  })
  for _, key in ipairs({ "q", "<Esc>", config.key("help") or "q" }) do
    vim.keymap.set("n", key, function() api.nvim_win_close(win, true) end, { buffer = bufnr, nowait = true })
  end
end

return M
