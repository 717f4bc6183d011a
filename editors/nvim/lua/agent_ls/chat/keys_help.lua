-- A floating window with all keys of the plugin, as the user has configured them.
local config = require("agent_ls.config")
local float = require("agent_ls.float")

local M = {}

local KEY_COLUMNS = 14

local SECTIONS = {
  {
    "In the prompt",
    { "send", "send; while it works: steer" },
    { "send_insert", "the same, from Insert mode" },
    { "prompt_allow", "allow once" },
    { "prompt_deny", "deny, with a reason" },
    { "prompt_context", "include or exclude the active file" },
    { "prompt_image", "add the image of the clipboard" },
    { "stop", "stop the turn" },
  },
  {
    "In the transcript",
    { "expand", "open or close; choose an answer" },
    { "allow", "allow once" },
    { "allow_rule", "allow by the offered rule" },
    { "edit_command", "change the command, and allow it" },
    { "deny", "deny, with a reason" },
    { "open_file", "open the file" },
    { "compare_file", "compare it side by side" },
    { "details", "unformatted arguments and output of a call" },
    { "review_turn", "review the changes of the turn in a buffer" },
    { "guide_turn", "list its changes in reading order" },
    { "keep_turn", "keep all changes of the turn" },
    { "undo_turn", "undo all changes of the turn" },
    { "rollback", "roll back to before a message; cancel it" },
    { "open_terminal", "open the command's terminal" },
  },
  {
    "In a file with changes to review",
    { "next_hunk", "next change" },
    { "prev_hunk", "previous change" },
    { "keep_hunk", "keep the change, or its selected lines" },
    { "undo_hunk", "undo the change, or its selected lines" },
    { "keep_file", "keep all of this file" },
    { "undo_file", "undo all of this file" },
    { "comment_hunk", "comment on the change" },
    { "edit_hunk", "accept the proposed change with your own text" },
    { "compare", "compare side by side" },
  },
}

---@return string[]
local function lines()
  local out = {}
  for _, section in ipairs(SECTIONS) do
    out[#out + 1] = section[1]
    for i = 2, #section do
      local action, words = unpack(section[i])
      out[#out + 1] = ("  %-" .. KEY_COLUMNS .. "s %s"):format(config.key(action) or "-", words)
    end
    out[#out + 1] = ""
  end
  out[#out + 1] = "Commands: :help agent-ls-commands"
  return out
end

function M.show()
  local bufnr, close = float.read(lines(), { title = "agent-ls keys", width = 60, hang = KEY_COLUMNS + 1 })
  local key = config.key("help")
  if key then
    vim.keymap.set("n", key, close, { buffer = bufnr, nowait = true })
  end
end

return M
