-- Asks before undoing a change in which the user has typed, and shows both texts.
local float = require("agent_ls.float")

local SHOWN_LINES = 12 -- maximum of displayed lines of each text

local M = {}

---@param out string[]
---@param title string
---@param lines string[]
local function section(out, title, lines)
  out[#out + 1] = title
  for i, line in ipairs(lines) do
    if i > SHOWN_LINES then
      out[#out + 1] = ("  … %d more"):format(#lines - SHOWN_LINES)
      break
    end
    out[#out + 1] = "  " .. line
  end
end

---@param hunk agent_ls.Hunk
---@param out string[]
local function describe(hunk, out)
  out[#out + 1] = vim.fn.fnamemodify(vim.uri_to_fname(hunk.uri), ":~:.")
  section(out, "Now, with your own text:", hunk.new_lines)
  section(out, "After undoing:", hunk.old_lines)
  out[#out + 1] = ""
end

---Shows the texts before and after the undo, and calls `yes` if the user confirms.
---@param hunks agent_ls.Hunk[] that the user has edited
---@param yes fun()
function M.ask_user(hunks, yes)
  local lines = {}
  for _, hunk in ipairs(hunks) do
    describe(hunk, lines)
  end
  lines[#lines + 1] = "Undo the change and your own text in it?   y: yes   n: no"
  local bufnr, close = float.read(lines, { title = "agent-ls", width = 70, at_cursor = true })
  local answer = function(is_yes)
    return function()
      close()
      if is_yes then
        yes()
      end
    end
  end
  vim.keymap.set("n", "y", answer(true), { buffer = bufnr, nowait = true })
  for _, key in ipairs({ "n", "<CR>" }) do
    vim.keymap.set("n", key, answer(false), { buffer = bufnr, nowait = true })
  end
end

return M
