-- Review in the editor: keeps the hunks and their marks, maps the keys where hunks are, and sends verdicts by id.
local compare = require("agent_ls.review.compare")
local config = require("agent_ls.config")
local files = require("agent_ls.files")
local log = require("agent_ls.log")
local model = require("agent_ls.review.model")
local session = require("agent_ls.session")
local signs = require("agent_ls.review.signs")
local verdicts = require("agent_ls.review.verdicts")

local api = vim.api

local M = {}

local hunks = model.new()
local mapped = {} ---@type table<integer, string[]> keys that we mapped, by buffer

---@param bufnr integer
local function unmap(bufnr)
  for _, key in ipairs(mapped[bufnr] or {}) do
    for _, mode in ipairs({ "n", "x" }) do
      pcall(vim.keymap.del, mode, key, { buffer = bufnr })
    end
  end
  mapped[bufnr] = nil
end

---@type {[1]: string, [2]: fun(), [3]: string}[]
local KEYS = {
  { "keep_hunk", function() M.judge_hunk("keep") end, "keep this change" },
  { "undo_hunk", function() M.judge_hunk("undo") end, "undo this change" },
  { "keep_file", function() M.judge_file("keep") end, "keep all changes of this file" },
  { "undo_file", function() M.judge_file("undo") end, "undo all changes of this file" },
  { "comment_hunk", function() M.comment() end, "comment on this change" },
  { "edit_hunk", function() M.own_text() end, "accept it with a text of your own" },
  { "compare", function() M.compare() end, "compare side by side" },
  { "next_hunk", function() M.go(1) end, "next change" },
  { "prev_hunk", function() M.go(-1) end, "previous change" },
}

---@type {[1]: string, [2]: fun(), [3]: string}[] in Visual mode
local LINE_KEYS = {
  { "keep_hunk", function() M.judge_selection("keep") end, "keep the selected lines" },
  { "undo_hunk", function() M.judge_selection("undo") end, "undo the selected lines" },
}

---@param bufnr integer
---@param mode "n"|"x"
---@param entry {[1]: string, [2]: fun(), [3]: string}
local function map_key(bufnr, mode, entry)
  local key = config.key(entry[1])
  if key then
    vim.keymap.set(mode, key, log.guarded(entry[3], entry[2]), { buffer = bufnr, desc = "agent-ls: " .. entry[3] })
    table.insert(mapped[bufnr], key)
  end
end

---@param bufnr integer
local function map(bufnr)
  if mapped[bufnr] then
    return
  end
  mapped[bufnr] = {}
  vim.iter(KEYS):each(function(entry) map_key(bufnr, "n", entry) end)
  vim.iter(LINE_KEYS):each(function(entry) map_key(bufnr, "x", entry) end)
end

---@param uri string
local function refresh(uri)
  local bufnr = files.loaded(uri)
  local open = model.of_file(hunks, uri)
  compare.refresh(uri, open)
  if not bufnr then
    return
  end
  signs.show(bufnr, open)
  if #open > 0 then
    map(bufnr)
  else
    unmap(bufnr)
  end
end

---@param bufnr integer
---@return string? uri under which the server knows this buffer
local function uri_of(bufnr)
  return compare.uri_of(bufnr)
    or vim.iter(model.files(hunks)):find(function(uri) return files.loaded(uri) == bufnr end)
end

---Where the changes stand in a buffer: in the file, or in the text that is proposed for it.
---@param bufnr integer
---@return agent_ls.Place[]
local function places(bufnr) return compare.places(bufnr) or signs.places(bufnr) end

---@return agent_ls.Hunk? the change under the cursor
local function here()
  local row = api.nvim_win_get_cursor(0)[1] - 1
  local hunk = model.at(places(api.nvim_get_current_buf()), row)
  if not hunk then
    log.notify("The cursor is on no change of the agent.")
  end
  return hunk
end

---@param verdict agent_ls.Verdict
function M.judge_hunk(verdict)
  local hunk = here()
  if hunk then
    verdicts.judge({ hunk }, verdict)
  end
end

---Judges the lines from one to another: of each change those that are among them.
---@param verdict agent_ls.Verdict
---@param first integer row, from 0
---@param last integer row after the last
function M.judge_lines(verdict, first, last)
  local bufnr = api.nvim_get_current_buf()
  local found = model.selected(places(bufnr), first, last)
  if #found.whole + #found.parts == 0 then
    return log.notify("No change of the agent is among these lines.")
  end
  if #found.whole > 0 then
    verdicts.judge(found.whole, verdict)
  end
  for _, part in ipairs(found.parts) do
    if part.hunk.state == "proposed" and not compare.places(bufnr) then
      -- The lines here are those that it would replace, not its own.
      log.notify("Compare it to choose lines of what is proposed (:AgentLs compare).")
    else
      verdicts.judge({ part.hunk }, verdict, { lines = part.lines })
    end
  end
end

---@param verdict agent_ls.Verdict
function M.judge_selection(verdict)
  local first, last = vim.fn.line("v"), vim.fn.line(".")
  api.nvim_feedkeys(vim.keycode("<Esc>"), "nx", false)
  M.judge_lines(verdict, math.min(first, last) - 1, math.max(first, last))
end

---@param chosen agent_ls.Hunk[]
---@param verdict agent_ls.Verdict
---@param nothing string said when there are none
local function judge_all_of(chosen, verdict, nothing)
  if #chosen == 0 then
    return log.notify(nothing)
  end
  verdicts.judge(chosen, verdict)
end

---@return agent_ls.Hunk[] that wait, in all files
local function all()
  local out = {}
  for _, uri in ipairs(model.files(hunks)) do
    vim.list_extend(out, model.of_file(hunks, uri))
  end
  return out
end

---@param verdict agent_ls.Verdict
function M.judge_file(verdict)
  local shown = vim.tbl_map(function(place) return place.hunk end, places(api.nvim_get_current_buf()))
  judge_all_of(shown, verdict, "No change of the agent waits in this file.")
end

---All of one turn: of the one named, else of the change under the cursor.
---@param verdict agent_ls.Verdict
---@param turn_id string?
function M.judge_turn(verdict, turn_id)
  local hunk = not turn_id and here() or nil
  turn_id = turn_id or hunk and hunk.turn_id
  if turn_id then
    local of_turn = vim.tbl_filter(function(each) return each.turn_id == turn_id end, all())
    judge_all_of(of_turn, verdict, "No change of this turn waits.")
  end
end

---All of the session that is shown.
---@param verdict agent_ls.Verdict
function M.judge_session(verdict)
  local own = vim.tbl_filter(function(hunk) return hunk.session_id == session.current_id() end, all())
  judge_all_of(own, verdict, "No change of this session waits.")
end

---@param verdict agent_ls.Verdict
function M.judge_all(verdict) judge_all_of(all(), verdict, "No change of the agent waits.") end

---@param text string?
function M.comment(text)
  local hunk = here()
  if hunk then
    require("agent_ls.review.say").comment(hunk, text)
  end
end

function M.own_text()
  local hunk = here()
  if hunk then
    require("agent_ls.review.say").own_text(hunk)
  end
end

---Side by side: the file under the cursor, or the one named, at its change under the cursor, else at its first.
---@param uri string?
function M.compare(uri)
  local bufnr = api.nvim_get_current_buf()
  uri = uri or uri_of(bufnr)
  local open = uri and model.of_file(hunks, uri) or {}
  if #open == 0 then
    return log.notify("No change of the agent waits in this file.")
  end
  local row = api.nvim_win_get_cursor(0)[1] - 1
  local at = vim.iter(open):find(function(hunk) return hunk == model.at(places(bufnr), row) end)
  compare.open(open, at or open[1], map)
end

---@param place agent_ls.Place
local function jump(place)
  vim.cmd("normal! m'")
  local last = api.nvim_buf_line_count(0)
  api.nvim_win_set_cursor(0, { math.min(place.first + 1, last), 0 })
  vim.cmd("normal! zv")
end

---@param by 1|-1
local function go_to_other_file(by)
  local uris = model.files(hunks)
  if #uris == 0 then
    return log.notify("No change of the agent waits.")
  end
  local own = uri_of(api.nvim_get_current_buf())
  local at = 0
  for i, uri in ipairs(uris) do
    if uri == own then
      at = i
    end
  end
  local uri = uris[(at - 1 + by) % #uris + 1]
  local in_order = model.of_file(hunks, uri)
  local hunk = by == 1 and in_order[1] or in_order[#in_order]
  require("agent_ls.chat.view").show_file(vim.uri_to_fname(uri), hunk.first + 1)
end

---To the next change, through this file and on to the others.
---@param by 1|-1
function M.go(by)
  local row = api.nvim_win_get_cursor(0)[1] - 1
  local place = model.next(places(api.nvim_get_current_buf()), row, by)
  if place then
    jump(place)
  else
    go_to_other_file(by)
  end
end

---@return integer changes that wait, in all files
function M.count()
  return #all()
end

---@param change agent_ls.Change
local function on_change(change)
  if change.forgotten then
    local uris = model.files(hunks)
    hunks = model.new()
    vim.iter(uris):each(refresh)
  elseif change.files then
    vim.iter(model.replace(hunks, change.files)):each(refresh)
  elseif change.event then
    vim.iter(model.apply(hunks, change.event)):each(refresh)
  end
end

function M.setup()
  session.listen(on_change)
  local group = api.nvim_create_augroup("agent_ls_review", {})
  api.nvim_create_autocmd({ "BufReadPost", "BufWinEnter" }, {
    group = group,
    desc = "agent-ls: mark pending changes",
    callback = function(args)
      local uri = files.is_file(args.buf) and uri_of(args.buf)
      if uri then
        refresh(uri)
      end
    end,
  })
  api.nvim_create_autocmd("BufUnload", {
    group = group,
    callback = function(args)
      signs.forget(args.buf)
      mapped[args.buf] = nil
    end,
  })
end

return M
