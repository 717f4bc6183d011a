-- The user's options: defaults and validation.
local M = {}

---@class agent_ls.Config
---@field cmd string[] command that starts the server
---@field autostart boolean start the server with the first file, not with the first :AgentLs
---@field provider string? for new sessions; the server's default when nil
---@field model string?
---@field effort string?
---@field mode "plan"|"ask"|"edits"|"full"|nil
---@field review "after"|"before"|nil
---@field settings table the server's settings (section `agentLs`), passed on unchanged
---@field width number width of the panel: columns, or a share of the screen if below 1
---@field notify "off"|"away"|"unseen"|"system" when vim.notify reports that the agent waits or is done
---@field picker "auto"|"select"|"snacks"|"fzf-lua"|"telescope"|"mini" picker for lists with a preview
---@field hints boolean show the keys next to pending hunks and below the prompt
---@field keymaps table<string, string|false> false leaves a key unmapped

---@type agent_ls.Config
local defaults = {
  cmd = { "agent-ls", "serve", "--stdio" },
  autostart = false,
  provider = nil,
  model = nil,
  effort = nil,
  mode = nil,
  review = nil,
  settings = {},
  width = 0.42,
  notify = "unseen",
  picker = "auto",
  hints = true,
  keymaps = {
    -- in the panel
    send = "<CR>",
    send_insert = "<C-s>",
    stop = "<C-c>",
    expand = "<CR>",
    allow = "a",
    allow_rule = "A",
    edit_command = "c",
    deny = "d",
    open_file = "gf",
    compare_file = "gd",
    details = "K",
    review_turn = "gr",
    guide_turn = "gO",
    keep_turn = "gK",
    undo_turn = "gU",
    rollback = "gR",
    open_terminal = "gt",
    help = "g?",
    -- in the prompt, in all modes
    prompt_allow = "<M-a>",
    prompt_deny = "<M-d>",
    prompt_context = "<M-c>",
    prompt_image = "<M-v>",
    -- in a file that has pending hunks
    keep_hunk = "<leader>ak",
    undo_hunk = "<leader>au",
    keep_file = "<leader>aK",
    undo_file = "<leader>aU",
    comment_hunk = "<leader>ac",
    edit_hunk = "<leader>ae",
    compare = "<leader>ad",
    next_hunk = "]h",
    prev_hunk = "[h",
  },
}

---Types of the options that have no default value.
local OPTIONAL =
  { provider = "string", model = "string", effort = "string", mode = "string", review = "string" }

local CHOICES = {
  notify = { "off", "away", "unseen", "system" },
  picker = { "auto", "select", "snacks", "fzf-lua", "telescope", "mini" },
}

---Option values of older versions, and the values that replace them.
local REPLACEMENTS = { notify = { [true] = "unseen", [false] = "off" } }

M.options = vim.deepcopy(defaults)

---@param name string
---@param value any
---@return string? problem
local function problem_of(name, value)
  local wanted = OPTIONAL[name] or (defaults[name] ~= nil and type(defaults[name]))
  if not wanted then
    return ("unknown option %q"):format(name)
  end
  if type(value) ~= wanted then
    return ("option %q must be a %s, not a %s"):format(name, wanted, type(value))
  end
  local choices = CHOICES[name]
  if choices and not vim.list_contains(choices, value) then
    return ("option %q must be one of %s"):format(name, table.concat(choices, ", "))
  end
end

---Sets the options that are valid, and returns the problems of the others.
---@param given table?
---@return string[] problems
function M.set(given)
  local problems, good = {}, {}
  for name, value in pairs(given or {}) do
    value = vim.tbl_get(REPLACEMENTS, name, value) or value
    local problem = problem_of(name, value)
    if problem then
      problems[#problems + 1] = problem
    else
      good[name] = value
    end
  end
  for name in pairs(good.keymaps or {}) do
    if defaults.keymaps[name] == nil then
      problems[#problems + 1] = ("unknown key %q in keymaps"):format(name)
    end
  end
  M.options = vim.tbl_deep_extend("force", vim.deepcopy(defaults), good)
  table.sort(problems)
  return problems
end

---Returns the key of an action; nil if the user has turned it off.
---@param action string
---@return string?
function M.key(action) return M.options.keymaps[action] or nil end

return M
