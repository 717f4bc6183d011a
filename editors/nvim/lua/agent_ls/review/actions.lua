-- Review in the editor: keeps the hunks and their marks, maps the keys where hunks are, and sends verdicts by id.
local config = require("agent_ls.config")
local files = require("agent_ls.files")
local log = require("agent_ls.log")
local model = require("agent_ls.review.model")
local session = require("agent_ls.session")
local signs = require("agent_ls.review.signs")

local api = vim.api

local M = {}

local hunks = model.new()
local mapped = {} ---@type table<integer, string[]> keys that we mapped, by buffer

---@alias agent_ls.Verdict "keep"|"undo"

---@param bufnr integer
local function unmap(bufnr)
  for _, key in ipairs(mapped[bufnr] or {}) do
    pcall(vim.keymap.del, "n", key, { buffer = bufnr })
  end
  mapped[bufnr] = nil
end

---@type {[1]: string, [2]: fun(), [3]: string}[]
local KEYS = {
  { "keep_hunk", function() M.judge_hunk("keep") end, "keep this change" },
  { "undo_hunk", function() M.judge_hunk("undo") end, "undo this change" },
  { "keep_file", function() M.judge_file("keep") end, "keep all changes of this file" },
  { "undo_file", function() M.judge_file("undo") end, "undo all changes of this file" },
  { "next_hunk", function() M.go(1) end, "next change" },
  { "prev_hunk", function() M.go(-1) end, "previous change" },
}

---@param bufnr integer
local function map(bufnr)
  if mapped[bufnr] then
    return
  end
  mapped[bufnr] = {}
  for _, entry in ipairs(KEYS) do
    local key = config.key(entry[1])
    if key then
      local run = log.guarded(entry[3], entry[2])
      vim.keymap.set("n", key, run, { buffer = bufnr, desc = "agent-ls: " .. entry[3] })
      table.insert(mapped[bufnr], key)
    end
  end
end

---@param uri string
local function refresh(uri)
  local bufnr = files.loaded(uri)
  if not bufnr then
    return
  end
  local open = model.of_file(hunks, uri)
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
  return vim.iter(model.files(hunks)):find(function(uri) return files.loaded(uri) == bufnr end)
end

---@param ids string[]
---@return agent_ls.Hunk[] those in which the user has typed
local function edited(ids)
  local out = {}
  for _, uri in ipairs(model.files(hunks)) do
    for _, id in ipairs(ids) do
      local hunk = hunks[uri][id]
      if hunk and hunk.state == "edited" then
        out[#out + 1] = hunk
      end
    end
  end
  return out
end

---@param params table
local function send(params)
  -- What changed comes as hunk_state events, to all who look at these hunks.
  session.review(params, function(result)
    for _, refused in ipairs(result.refused or {}) do
      session.say("warn", refused.reason or "A change was left as it is.")
    end
  end)
end

---@param ids string[]
---@param verdict agent_ls.Verdict
local function judge(ids, verdict)
  local own = verdict == "undo" and edited(ids) or {}
  if #own == 0 then
    return send({ hunkIds = ids, verdict = verdict })
  end
  require("agent_ls.review.confirm").ask(
    own,
    function() send({ hunkIds = ids, verdict = verdict, confirm = true }) end
  )
end

---@param bufnr integer
---@return string[] ids
local function ids_of(bufnr)
  return vim.tbl_map(function(place) return place.hunk.id end, signs.places(bufnr))
end

---@param verdict agent_ls.Verdict
function M.judge_hunk(verdict)
  local row = api.nvim_win_get_cursor(0)[1] - 1
  local hunk = model.at(signs.places(api.nvim_get_current_buf()), row)
  if not hunk then
    return log.notify("The cursor is on no change of the agent.")
  end
  judge({ hunk.id }, verdict)
end

---@param verdict agent_ls.Verdict
function M.judge_file(verdict)
  local ids = ids_of(api.nvim_get_current_buf())
  if #ids == 0 then
    return log.notify("No change of the agent waits in this file.")
  end
  judge(ids, verdict)
end

---@param verdict agent_ls.Verdict
function M.judge_all(verdict)
  local ids = {}
  for _, uri in ipairs(model.files(hunks)) do
    vim.list_extend(ids, vim.tbl_map(function(hunk) return hunk.id end, model.of_file(hunks, uri)))
  end
  if #ids == 0 then
    return log.notify("No change of the agent waits.")
  end
  judge(ids, verdict)
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
  local place = model.next(signs.places(api.nvim_get_current_buf()), row, by)
  if place then
    jump(place)
  else
    go_to_other_file(by)
  end
end

---@return integer changes that wait, in all files
function M.count()
  local count = 0
  for _, uri in ipairs(model.files(hunks)) do
    count = count + vim.tbl_count(hunks[uri])
  end
  return count
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
