-- The plan of a session in mode plan: the last answer of the model, which the user edits and accepts.
local float = require("agent_ls.float")
local log = require("agent_ls.log")
local protocol = require("agent_ls.protocol")
local session = require("agent_ls.session")
local snapshot = require("agent_ls.snapshot")

local M = {}

local MODES = {
  { mode = "ask", words = "Accept the plan: ask before commands, and once before edits" },
  { mode = "edits", words = "Accept the plan: ask before commands only" },
}
local LATER = "Edit it again"

---Returns the lines of the plan if it can be accepted now.
---@return string[]? nil in another mode, while the agent works, or if the model has not answered yet
function M.read_lines()
  local s = session.snapshot()
  if not s.session or s.session.mode ~= "plan" or snapshot.describe_activity(s) ~= "idle" or snapshot.is_read_only(s) then
    return nil
  end
  for i = #s.items, 1, -1 do
    local item = s.items[i]
    if item.kind == "user" then
      return nil
    end
    if item.kind == "text" and not item.agent_id and not item.is_out then
      return item.part.lines
    end
  end
end

---@param text string
---@param mode "ask"|"edits"
local function accept(text, mode)
  session.change_current(protocol.method.accept_plan, { text = text, mode = mode }, function(result)
    session.update(result.session)
    require("agent_ls.chat.view").show()
  end)
end

---Lets the user edit the plan, then choose the mode in which it is carried out.
---@param lines string[]
local function edit(lines)
  local options = { title = "plan", filetype = "markdown", footer = "<C-s> or :w accepts · q leaves" }
  float.write(lines, options, function(edited)
    local choices = vim.list_extend(vim.deepcopy(MODES), { { words = LATER } })
    local prompt = { prompt = "The plan", format_item = function(choice) return choice.words end }
    require("agent_ls.menu").select(choices, prompt, function(choice)
      if choice and choice.mode then
        return accept(table.concat(edited, "\n"), choice.mode)
      end
      edit(edited) -- keeps the user's edits
    end)
  end)
end

---Opens the plan to edit and accept it.
function M.open()
  local lines = M.read_lines()
  if not lines then
    return log.notify("There is no plan to accept: in mode plan, ask for a plan and wait for the answer.")
  end
  edit(vim.list_slice(lines))
end

return M
