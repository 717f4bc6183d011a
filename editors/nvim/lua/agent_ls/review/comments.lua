-- Reviews one change with a comment, or with the user's own replacement text.
local float = require("agent_ls.float")
local log = require("agent_ls.log")
local protocol = require("agent_ls.protocol")
local session = require("agent_ls.session")
local decisions = require("agent_ls.review.decisions")

local M = {}

---Requests another version of a change: sends the comment as a message about the lines of the hunk.
---@param hunk agent_ls.Hunk
---@param comment string
local function ask_for_another(hunk, comment)
  local text = table.concat(hunk.new_lines, "\n") .. (#hunk.new_lines > 0 and "\n" or "")
  local selection = protocol.selection_input(hunk.uri, hunk.first, hunk.last, text)
  session.submit({ selection, protocol.text_input(comment) })
end

---Returns the decisions that can be sent with a comment.
---@param hunk agent_ls.Hunk
---@return {[1]: string, [2]: fun(hunk: agent_ls.Hunk, comment: string)}[]
local function outcomes(hunk)
  local is_proposal = hunk.state == "proposed"
  local judge = function(decision)
    return function(its, comment) decisions.judge({ its }, decision, { comment = comment }) end
  end
  return {
    { is_proposal and "Accept, and send the comment" or "Keep, and send the comment", judge("keep") },
    { is_proposal and "Reject, and send the comment" or "Undo, and send the comment", judge("undo") },
    { "Ask for another version", ask_for_another },
  }
end

---@param hunk agent_ls.Hunk
---@param comment string
local function choose(hunk, comment)
  require("agent_ls.menu").select(outcomes(hunk), {
    prompt = "This change",
    format_item = function(outcome) return outcome[1] end,
  }, function(outcome)
    if outcome then
      outcome[2](hunk, comment)
    end
  end)
end

---Comments on a change, and lets the user decide about it.
---@param hunk agent_ls.Hunk
---@param text string? comment; if nil or "", the user is asked for it
function M.comment_on(hunk, text)
  if text and text ~= "" then
    return choose(hunk, text)
  end
  float.write({ "" }, { title = "comment on this change", at_cursor = true, insert = true }, function(lines)
    local comment = vim.trim(table.concat(lines, "\n"))
    if comment ~= "" then
      choose(hunk, comment)
    end
  end)
end

---Accepts a proposal, but with the user's own text. If the change is already in the file, asks the user to edit
---it there.
---@param hunk agent_ls.Hunk
function M.accept_own_text(hunk)
  if hunk.state ~= "proposed" then
    return log.notify("This change is already in the file: edit its text there, then keep the change.")
  end
  local bufnr = require("agent_ls.files").find_loaded(hunk.uri)
  local options = {
    title = "accept with this text",
    footer = "<C-s> or :w accepts · q closes without a decision",
    at_cursor = true,
    width = 100,
    filetype = bufnr and vim.bo[bufnr].filetype or "",
  }
  float.write(hunk.new_lines, options, function(lines)
    local text = table.concat(lines, "\n")
    decisions.judge({ hunk }, "keep", { replacement = text == "" and "" or text .. "\n" })
  end)
end

return M
