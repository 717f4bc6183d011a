-- Lets the user choose from a list. A list with a preview is shown by an installed picker: snacks, fzf-lua, telescope
-- or mini.pick. Without a preview or a picker, vim.ui.select shows the list.
local config = require("agent_ls.config")

local M = {}

---@class agent_ls.Preview
---@field lines string[]
---@field filetype string?
---@field row integer? line to show, from 1

---@class agent_ls.MenuOptions
---@field prompt string
---@field format_item (fun(item: any): string)?
---@field preview (fun(item: any): agent_ls.Preview)?

---Calls vim.ui.select, and redraws the screen before `done`. The default implementation leaves the message area
---scrolled, so that the next message would stop at "Press ENTER".
---@param items any[]
---@param options agent_ls.MenuOptions
---@param done fun(item: any?)
local function select(items, options, done)
  vim.ui.select(items, { prompt = options.prompt, format_item = options.format_item }, function(item)
    vim.cmd.redraw()
    done(item)
  end)
end

---Writes a preview into the buffer of a picker.
---@param bufnr integer
---@param preview agent_ls.Preview
local function fill(bufnr, preview)
  vim.bo[bufnr].modifiable = true
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, preview.lines)
  if preview.filetype and preview.filetype ~= "" then
    vim.bo[bufnr].syntax = preview.filetype
  end
end

---@alias agent_ls.Picker fun(items: any[], options: agent_ls.MenuOptions, done: fun(item: any?))

---Functions that return the picker of a plugin; nil if the plugin is not installed.
---@type table<string, fun(): agent_ls.Picker?>
local ADAPTERS = {}

function ADAPTERS.snacks()
  local has, snacks = pcall(require, "snacks")
  return has
    and function(items, options, done)
      snacks.picker.pick({
        title = options.prompt,
        items = vim.tbl_map(function(item)
          local preview = options.preview(item)
          local text = table.concat(preview.lines, "\n")
          return { text = options.format_item(item), item = item, preview = { text = text, ft = preview.filetype } }
        end, items),
        format = "text",
        preview = "preview",
        confirm = function(picker, chosen)
          picker:close()
          vim.schedule(function() done(chosen and chosen.item) end)
        end,
      })
    end
end

ADAPTERS["fzf-lua"] = function()
  local has, fzf = pcall(require, "fzf-lua")
  if not has or vim.fn.executable("fzf") == 0 then
    return nil
  end
  return function(items, options, done)
    local by_number = function(line) return line and items[tonumber(line:match("^(%d+)"))] end
    local previewer = require("fzf-lua.previewer.builtin").base:extend()
    function previewer:new(o, opts, win)
      previewer.super.new(self, o, opts, win)
      setmetatable(self, previewer)
      return self
    end
    function previewer:populate_preview_buf(line)
      local bufnr = self:get_tmp_buffer()
      fill(bufnr, options.preview(by_number(line)))
      self:set_preview_buf(bufnr)
    end
    local lines = {}
    for i, item in ipairs(items) do
      lines[i] = ("%d\t%s"):format(i, options.format_item(item))
    end
    fzf.fzf_exec(lines, {
      prompt = options.prompt .. "> ",
      previewer = previewer,
      fzf_opts = { ["--delimiter"] = "\t", ["--with-nth"] = "2.." },
      actions = { ["default"] = function(chosen) done(by_number(chosen[1])) end },
    })
  end
end

function ADAPTERS.telescope()
  local has, pickers = pcall(require, "telescope.pickers")
  if not has then
    return nil
  end
  return function(items, options, done)
    local actions, state = require("telescope.actions"), require("telescope.actions.state")
    local entry = function(item)
      local text = options.format_item(item)
      return { value = item, display = text, ordinal = text }
    end
    pickers
      .new({}, {
        prompt_title = options.prompt,
        finder = require("telescope.finders").new_table({ results = items, entry_maker = entry }),
        sorter = require("telescope.config").values.generic_sorter({}),
        previewer = require("telescope.previewers").new_buffer_previewer({
          define_preview = function(self, chosen) fill(self.state.bufnr, options.preview(chosen.value)) end,
        }),
        attach_mappings = function(bufnr)
          actions.select_default:replace(function()
            local chosen = state.get_selected_entry()
            actions.close(bufnr)
            done(chosen and chosen.value)
          end)
          return true
        end,
      })
      :find()
  end
end

function ADAPTERS.mini()
  if not _G.MiniPick then
    return nil
  end
  return function(items, options, done)
    _G.MiniPick.start({
      source = {
        name = options.prompt,
        items = vim.tbl_map(function(item) return { text = options.format_item(item), item = item } end, items),
        preview = function(bufnr, chosen) fill(bufnr, options.preview(chosen.item)) end,
        choose = function(chosen)
          vim.schedule(function() done(chosen.item) end)
        end,
      },
    })
  end
end

local ORDER = { "snacks", "fzf-lua", "telescope", "mini" }

---@return agent_ls.Picker
local function picker()
  local wanted = config.options.picker
  for _, name in ipairs(wanted == "auto" and ORDER or { wanted }) do
    local found = ADAPTERS[name] and ADAPTERS[name]()
    if found then
      return found
    end
  end
  return select
end

---@param items any[]
---@param options agent_ls.MenuOptions
---@param done fun(item: any?) called with nil if the user cancels; some pickers do not call it then
function M.select(items, options, done)
  local show = options.preview and picker() or select
  show(items, vim.tbl_extend("keep", options, { format_item = tostring }), done)
end

return M
