-- Compares a file in a tab page side by side with its accepted or its proposed text. The server provides that text, and
-- Neovim's diff mode shows the differences.
local client = require("agent_ls.client")
local files = require("agent_ls.files")
local log = require("agent_ls.log")
local model = require("agent_ls.review.model")
local protocol = require("agent_ls.protocol")
local session = require("agent_ls.session")
local signs = require("agent_ls.review.signs")

local api = vim.api

local M = {}

local TYPING_MS = 300 -- pause in the typing after which the other side is updated

---@class agent_ls.Comparison
---@field uri string
---@field side "base"|"proposed"
---@field side_buf integer
---@field file_buf integer
---@field tab integer
---@field placed agent_ls.Place[] positions of the proposals in the proposed text

local open = {} ---@type table<string, agent_ls.Comparison> by uri

---@param uri string
---@param side string
---@return string URI under which the server provides the text of the other side
local function document(uri, side)
  local path = vim.uri_to_fname(uri):gsub("\\", "/"):gsub("^/", "")
  return ("agent-ls:/%s/%s?%s"):format(side, vim.uri_encode(path), vim.uri_encode(uri, "rfc2396"))
end

---Writes the text of the other side into its buffer.
---@param c agent_ls.Comparison
---@param text string
local function fill(c, text)
  if not api.nvim_buf_is_valid(c.side_buf) then
    return
  end
  local lines = vim.split((text:gsub("\r\n", "\n"):gsub("\n$", "")), "\n", { plain = true })
  vim.bo[c.side_buf].modifiable = true
  api.nvim_buf_set_lines(c.side_buf, 0, -1, false, lines)
  vim.bo[c.side_buf].modifiable, vim.bo[c.side_buf].modified = false, false
  if api.nvim_tabpage_is_valid(c.tab) and api.nvim_get_current_tabpage() == c.tab then
    vim.cmd.diffupdate()
  end
end

---Requests the text of the other side and shows it.
---@param c agent_ls.Comparison
---@param done fun()?
local function fetch(c, done)
  client.request(protocol.method.text_content, { uri = document(c.uri, c.side) }, function(problem, result)
    if problem then
      return session.report(problem)
    end
    fill(c, result.text)
    if done then
      done()
    end
  end)
end

---@param c agent_ls.Comparison
local function forget(c)
  open[c.uri] = nil
  signs.set_compared(c.file_buf, false)
end

---@param c agent_ls.Comparison
local function close(c)
  forget(c)
  if api.nvim_tabpage_is_valid(c.tab) and #api.nvim_list_tabpages() > 1 then
    vim.cmd(("tabclose %d"):format(api.nvim_tabpage_get_number(c.tab)))
  end
end

---Updates the other side while the user types; closes the comparison when its buffer is closed.
---@param c agent_ls.Comparison
local function watch(c)
  local group = api.nvim_create_augroup("agent_ls_compare_" .. c.side_buf, {})
  local timer = assert(vim.uv.new_timer())
  api.nvim_create_autocmd({ "TextChanged", "TextChangedI" }, {
    group = group,
    buffer = c.file_buf,
    callback = function()
      timer:start(TYPING_MS, 0, vim.schedule_wrap(function() return open[c.uri] == c and fetch(c) end))
    end,
  })
  api.nvim_create_autocmd("BufWipeout", {
    group = group,
    buffer = c.side_buf,
    callback = function()
      timer:stop()
      timer:close()
      forget(c)
      vim.schedule(function()
        pcall(api.nvim_del_augroup_by_id, group)
        close(c)
      end)
    end,
  })
end

---@param c agent_ls.Comparison
---@param win integer
---@param words string
local function set_up_window(c, win, words)
  local name = vim.fn.fnamemodify(vim.uri_to_fname(c.uri), ":t")
  vim.wo[win][0].winbar = (" %s%%=%%#AgentLsDim#%s "):format(name:gsub("%%", "%%%%"), words)
  api.nvim_win_call(win, vim.cmd.diffthis)
  -- Show the whole text on both sides, without folds.
  vim.wo[win][0].foldenable = false
end

---@param c agent_ls.Comparison
local function show(c)
  vim.cmd("tab sbuffer " .. c.file_buf)
  c.tab = api.nvim_get_current_tabpage()
  local file_win = api.nvim_get_current_win()
  local is_proposed = c.side == "proposed"
  local side_win = api.nvim_open_win(c.side_buf, is_proposed, { split = is_proposed and "right" or "left", win = file_win })
  set_up_window(c, file_win, is_proposed and "as it is" or "with the changes")
  set_up_window(c, side_win, is_proposed and "as proposed" or "as you accepted it")
  vim.cmd("wincmd =")
end

---@param row integer from 0, in the window that has the cursor
local function go_to(row)
  api.nvim_win_set_cursor(0, { math.min(row + 1, api.nvim_buf_line_count(0)), 0 })
  vim.cmd("normal! zz")
end

---@param uri string
---@param hunks agent_ls.Hunk[] the open hunks of the file, in order
---@return agent_ls.Comparison
local function create_comparison(uri, hunks)
  local is_proposed = vim.iter(hunks):any(function(hunk) return hunk.state == "proposed" end)
  local path = vim.uri_to_fname(uri)
  local file_buf = files.find_loaded(uri) or vim.fn.bufadd(path)
  vim.fn.bufload(file_buf)
  vim.bo[file_buf].buflisted = true
  local side = is_proposed and "proposed" or "base"
  local side_buf = api.nvim_create_buf(false, true)
  pcall(api.nvim_buf_set_name, side_buf, ("agent-ls://%s%s"):format(side, path))
  vim.bo[side_buf].bufhidden, vim.bo[side_buf].swapfile, vim.bo[side_buf].modifiable = "wipe", false, false
  vim.bo[side_buf].filetype = vim.bo[file_buf].filetype
  return { uri = uri, side = side, side_buf = side_buf, file_buf = file_buf, tab = 0, placed = model.proposed_ranges(hunks) }
end

---Opens the comparison of a file, with the cursor on one of its hunks.
---@param hunks agent_ls.Hunk[] the open hunks of the file, in order
---@param at agent_ls.Hunk
---@param map fun(bufnr: integer) maps the review keys
function M.open(hunks, at, map)
  local before = open[at.uri]
  if before then
    close(before)
  end
  local c = create_comparison(at.uri, hunks)
  open[c.uri] = c
  signs.set_compared(c.file_buf, true)
  show(c)
  watch(c)
  local leave = function() close(c) end
  vim.keymap.set("n", "q", leave, { buffer = c.side_buf, nowait = true, desc = "agent-ls: close the comparison" })
  if c.side == "proposed" then
    map(c.side_buf)
  end
  fetch(c, function()
    local place = vim.iter(c.placed):find(function(each) return each.hunk.id == at.id end)
    if open[c.uri] == c and vim.tbl_contains({ c.side_buf, c.file_buf }, api.nvim_get_current_buf()) then
      go_to(place and place.first or at.first)
    end
  end)
end

---Updates the other side after the hunks of a file have changed. Closes the comparison if no open hunk is left.
---@param uri string
---@param hunks agent_ls.Hunk[]
function M.refresh(uri, hunks)
  local c = open[uri]
  if not c then
    return
  end
  if #hunks > 0 then
    c.placed = model.proposed_ranges(hunks)
    return fetch(c)
  end
  local was_here = api.nvim_get_current_tabpage() == c.tab
  vim.schedule(log.guard("closing a comparison", function() close(c) end))
  if was_here then
    log.notify("You have decided about every change of this file.")
  end
end

---@param bufnr integer
---@return agent_ls.Comparison? the comparison whose proposed text this buffer shows
local function find_proposed(bufnr)
  for _, c in pairs(open) do
    if c.side_buf == bufnr and c.side == "proposed" then
      return c
    end
  end
end

---Returns the positions of the proposals in a buffer with the proposed text; nil for any other buffer.
---@param bufnr integer
---@return agent_ls.Place[]?
function M.list_positions(bufnr)
  local c = find_proposed(bufnr)
  return c and c.placed
end

---@param bufnr integer
---@return string? uri of the file that this buffer is compared with
function M.uri_of(bufnr)
  for uri, c in pairs(open) do
    if c.side_buf == bufnr then
      return uri
    end
  end
end

return M
