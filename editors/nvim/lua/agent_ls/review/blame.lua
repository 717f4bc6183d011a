-- Who wrote a line: a float for the line under the cursor, and a bar in the sign column at the lines of the agent. The
-- server reads it from its logs; the bars move with the text, and are fetched again when the file is saved.
local canvas = require("agent_ls.chat.canvas")
local client = require("agent_ls.client")
local log = require("agent_ls.log")
local protocol = require("agent_ls.protocol")
local session = require("agent_ls.session")

local api = vim.api
local ns = api.nvim_create_namespace("agent_ls_blame")

local M = {}

local shown = {} ---@type table<integer, true> buffers with bars
local DECISIONS = { kept = "kept", pending = "not decided", edited = "edited by you" }

---@param bufnr integer
---@param done fun(result: agent_ls.wire.BlameResult)
local function fetch(bufnr, done)
  if api.nvim_buf_get_name(bufnr) == "" or vim.bo[bufnr].buftype ~= "" then
    return log.notify("This buffer is not a file.")
  end
  client.request(protocol.method.blame, { uri = vim.uri_from_bufnr(bufnr) }, session.report_or(done))
end

---@param range agent_ls.wire.BlamedRange
---@param origin agent_ls.wire.BlameOrigin?
---@return string[]
local function describe(range, origin)
  if not origin then
    return { range.author == "user" and "Written by you, or by another program." or "It is not known who wrote this line." }
  end
  local lines = { ("The agent%s"):format(origin.model ~= "" and " (" .. origin.model .. ")" or "") }
  lines[#lines + 1] = origin.message ~= "" and "for: " .. origin.message or nil
  local decision = DECISIONS[origin.decision]
  lines[#lines + 1] = require("agent_ls.clock").local_minute(origin.time) .. (decision and " · " .. decision or "")
  return lines
end

---Shows who wrote the line under the cursor.
function M.show_line()
  local row = vim.fn.line(".") - 1
  fetch(api.nvim_get_current_buf(), function(result)
    for _, range in ipairs(result.ranges) do
      if row >= range.range[1] and row < range.range[2] then
        local lines = describe(range, range.origin and result.origins[range.origin + 1])
        lines = vim.tbl_map(canvas.plain_line, lines)
        require("agent_ls.float").read(lines, { title = ("line %d"):format(row + 1), at_cursor = true })
        return
      end
    end
  end)
end

---@param bufnr integer
local function draw(bufnr)
  fetch(bufnr, function(result)
    if not shown[bufnr] or not api.nvim_buf_is_loaded(bufnr) then
      return
    end
    api.nvim_buf_clear_namespace(bufnr, ns, 0, -1)
    local count = api.nvim_buf_line_count(bufnr)
    for _, range in ipairs(result.ranges) do
      for row = range.range[1], range.author == "agent" and math.min(range.range[2], count) - 1 or -1 do
        api.nvim_buf_set_extmark(bufnr, ns, row, 0, { sign_text = "▎", sign_hl_group = "AgentLsBlame", priority = 5 })
      end
    end
  end)
end

---Shows or hides the bars at the lines of the agent in this buffer.
function M.toggle()
  local bufnr = api.nvim_get_current_buf()
  if shown[bufnr] then
    shown[bufnr] = nil
    api.nvim_buf_clear_namespace(bufnr, ns, 0, -1)
    return
  end
  shown[bufnr] = true
  draw(bufnr)
  api.nvim_create_autocmd({ "BufWritePost", "BufUnload" }, {
    group = api.nvim_create_augroup("agent_ls_blame_" .. bufnr, {}),
    buffer = bufnr,
    desc = "agent-ls: mark the lines of the agent",
    callback = log.guard("marking the lines of the agent", function(args)
      if args.event == "BufUnload" then
        shown[bufnr] = nil
      elseif shown[bufnr] then
        draw(bufnr)
      end
    end),
  })
end

return M
