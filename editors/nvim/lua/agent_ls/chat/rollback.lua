-- Rolls the session back to the state before a user message, after the user has confirmed a preview.
local archive = require("agent_ls.archive")
local float = require("agent_ls.float")
local input = require("agent_ls.chat.input")
local log = require("agent_ls.log")
local session = require("agent_ls.session")

local M = {}

local ACTIONS = { create = "write again", modify = "change back", delete = "remove" }
local MAX_DIFF_LINES = 12 -- diff lines of each file in the preview

---@param out string[]
---@param file agent_ls.wire.RevertFile
local function describe(out, file)
  local path = vim.fn.fnamemodify(file.path, ":~:.")
  if file.state == "planned" then
    out[#out + 1] = ("%s %s"):format(ACTIONS[file.action] or file.action, path)
  else
    out[#out + 1] = ("! %s stays as it is: %s"):format(path, file.reason)
  end
  for _, conflict in ipairs(file.conflicts) do
    out[#out + 1] = ("    lines %d to %d"):format(conflict.start + 1, math.max(conflict["end"], conflict.start + 1))
  end
  local shown = 0
  for line in vim.gsplit(file.diff, "\n", { plain = true }) do
    local is_change = line:match("^[-+]") and not line:match("^%-%-%- ") and not line:match("^%+%+%+ ")
    if is_change and shown < MAX_DIFF_LINES then
      out[#out + 1] = "    " .. line
    end
    shown = shown + (is_change and 1 or 0)
  end
  if shown > MAX_DIFF_LINES then
    out[#out + 1] = ("    … %d more lines"):format(shown - MAX_DIFF_LINES)
  end
end

---@param plan agent_ls.wire.RevertResult of a preview
---@param title string
---@return string[]
local function lines_of(plan, title)
  local out = { title, "" }
  if #plan.turns > 0 then
    local are_many = #plan.turns > 1
    out[#out + 1] = ("Removes %d message%s and the replies to %s."):format(
      #plan.turns,
      are_many and "s" or "",
      are_many and "them" or "it"
    )
  elseif #plan.restoredTurns > 0 then
    local ending = #plan.restoredTurns > 1 and "s" or ""
    out[#out + 1] = ("Brings %d message%s back into the conversation."):format(#plan.restoredTurns, ending)
  end
  if #plan.files == 0 then
    out[#out + 1] = "No file will be changed."
  end
  for _, file in ipairs(plan.files) do
    describe(out, file)
  end
  return out
end

---Rolls back. If the prompt is empty, inserts the text of the removed message there.
---@param turn_id string
---@param more table
local function roll_back(turn_id, more)
  archive.revert(vim.tbl_extend("force", { atTurnId = turn_id }, more), function(result)
    if result.inputText ~= "" and input.read_text() == "" and more.conversation ~= false then
      input.set_text(result.inputText)
    end
    for _, file in ipairs(result.files) do
      if file.state == "conflict" or file.state == "unknown" then
        session.add_notice("warn", ("%s was left unchanged: %s."):format(vim.fn.fnamemodify(file.path, ":~:."), file.reason))
      end
    end
  end)
end

---@param plan agent_ls.wire.RevertResult
---@return boolean
local function has_conflicts(plan)
  return vim.iter(plan.files):any(function(file) return file.state == "conflict" end)
end

---Shows the preview with the keys that choose what to roll back.
---@param turn_id string
---@param title string
---@param plan agent_ls.wire.RevertResult
local function confirm(turn_id, title, plan)
  local keys = "y: files and conversation   f: files only   c: conversation only   n: no"
  local text = lines_of(plan, title)
  if has_conflicts(plan) then
    keys = keys .. "   F: also the files marked with !"
  end
  vim.list_extend(text, { "", keys })
  local bufnr, close = float.read(text, { title = "roll back", width = 80 })
  vim.bo[bufnr].filetype = "diff"
  local map = function(key, more)
    vim.keymap.set("n", key, function()
      close()
      if more then
        roll_back(turn_id, more)
      end
    end, { buffer = bufnr, nowait = true })
  end
  map("y", { files = "restore" })
  map("f", { files = "restore", conversation = false })
  map("c", { files = "keep" })
  map("n", nil)
  if has_conflicts(plan) then
    map("F", { files = "restore", force = true })
  end
end

---Rolls back to the state before a message, or reverts a rollback, after a preview.
---@param item agent_ls.Item of kind user or reverted
function M.ask(item)
  local turn_id = assert(item.turn_id)
  local title = item.kind == "user" and ("Back to before: %s"):format(vim.split(item.text, "\n")[1])
    or "Revert this roll back"
  archive.revert({ atTurnId = turn_id, files = "preview" }, function(plan) confirm(turn_id, title, plan) end)
end

---Lets the user choose the message to roll back to.
function M.choose()
  local said = vim.tbl_filter(
    function(item) return item.kind == "user" and item.turn_id ~= nil and not item.is_out end,
    session.snapshot().items
  )
  if #said == 0 then
    return log.notify("There is nothing to roll back yet.")
  end
  require("agent_ls.menu").select(vim.fn.reverse(said), {
    prompt = "Roll back to before",
    format_item = function(item) return (item.text:gsub("\n", " ")) end,
  }, function(item)
    if item then
      M.ask(item)
    end
  end)
end

return M
