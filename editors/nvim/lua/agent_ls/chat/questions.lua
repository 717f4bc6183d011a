-- The user's answers to the agent's questions: one choice, several, or a free text.
local log = require("agent_ls.log")
local session = require("agent_ls.session")
local snapshot = require("agent_ls.snapshot")
local transcript = require("agent_ls.chat.transcript")

local M = {}

---@param item agent_ls.Item?
---@return agent_ls.Item? the given item if it is a pending question, else the oldest pending question
function M.find_pending(item)
  if snapshot.is_read_only(session.snapshot()) then
    return nil
  end
  if item and item.kind == "question" and item.status == "pending" then
    return item
  end
  return snapshot.open_questions(session.snapshot())[1]
end

---@param item agent_ls.Item
local function ask_own_answer(item)
  vim.ui.input({ prompt = "Answer: " }, function(text)
    if text and vim.trim(text) ~= "" then
      session.answer(item.id, { text })
    end
  end)
end

---Sends the marked choices. If no choice is marked, lets the user select one or, unless at a limit, write an answer.
---@param item agent_ls.Item
function M.answer(item)
  local marked = transcript.marked_choices(item)
  if #marked > 0 then
    return session.answer(item.id, marked)
  end
  if #item.choices == 0 then
    return ask_own_answer(item)
  end
  local own = "Something else…"
  local choices = vim.list_extend(vim.deepcopy(item.choices), item.is_limit and {} or { own })
  require("agent_ls.menu").select(choices, { prompt = item.text }, function(choice)
    if choice == own then
      ask_own_answer(item)
    elseif choice then
      session.answer(item.id, { choice })
    end
  end)
end

---Selects the choice on a line: sends it as the answer, or only marks it if the question allows several choices.
---@param item agent_ls.Item
---@param line integer of the item, from 0
function M.choose(item, line)
  if not M.find_pending(item) then
    return
  end
  local choice = require("agent_ls.chat.render_more").choice_at(item, line)
  if not choice then
    return M.answer(item)
  end
  if item.multiple then
    return transcript.mark(item, choice)
  end
  session.answer(item.id, { item.choices[choice] })
end

---@param item agent_ls.Item?
function M.decline(item)
  local asked = M.find_pending(item)
  if asked then
    session.answer(asked.id, {}, true)
  else
    log.notify("The agent has no open question.")
  end
end

return M
