-- Asks before a change is undone in which the user has typed, and shows both texts.
local SHOWN_LINES = 12 -- of each text: enough to see which is which

local api = vim.api

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
  section(out, "Now, with what you typed:", hunk.new_lines)
  section(out, "After undoing:", hunk.old_lines)
  out[#out + 1] = ""
end

---@param hunks agent_ls.Hunk[] with edits of the user
---@param yes fun()
function M.ask(hunks, yes)
  local lines = {}
  for _, hunk in ipairs(hunks) do
    describe(hunk, lines)
  end
  lines[#lines + 1] = "Undo, and lose what you typed there?   y: yes   n: no"
  local bufnr = api.nvim_create_buf(false, true)
  api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  vim.bo[bufnr].modifiable, vim.bo[bufnr].bufhidden = false, "wipe"
  local height = math.min(#lines, vim.o.lines - 6)
  local win = api.nvim_open_win(bufnr, true, {
    relative = "cursor",
    row = 1,
    col = 0,
    width = math.min(70, vim.o.columns - 4),
    height = height,
    style = "minimal",
    border = "rounded",
    title = " agent-ls ",
  })
  local answer = function(is_yes)
    return function()
      api.nvim_win_close(win, true)
      if is_yes then
        yes()
      end
    end
  end
  vim.keymap.set("n", "y", answer(true), { buffer = bufnr, nowait = true })
  for _, key in ipairs({ "n", "q", "<Esc>", "<CR>" }) do
    vim.keymap.set("n", key, answer(false), { buffer = bufnr, nowait = true })
  end
end

return M
