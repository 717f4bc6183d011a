-- Pastes an image of the clipboard into the prompt, as a word. If the user deletes the word, the image is not sent.
local log = require("agent_ls.log")

local M = {}

local MAX_BYTES = 3750000 -- 5 MB as base64, the smallest limit among the providers
local SIGNATURE = "\137PNG\r\n\26\n"
local TIMEOUT_MS = 10000

---@return string[]? command that prints the clipboard's image as PNG
local function reader()
  local commands = {
    { "wl-paste", "--type", "image/png" },
    { "xclip", "-selection", "clipboard", "-target", "image/png", "-out" },
    { "pngpaste", "-" },
  }
  local needs = { ["wl-paste"] = vim.env.WAYLAND_DISPLAY, xclip = vim.env.DISPLAY, pngpaste = "mac" }
  return vim.iter(commands):find(function(command) return needs[command[1]] and vim.fn.executable(command[1]) == 1 end)
end

---@param word string
local function insert(word)
  local view = require("agent_ls.chat.view")
  if vim.api.nvim_get_current_buf() ~= require("agent_ls.chat.input").buffer() then
    view.open()
  end
  local _, column = unpack(vim.api.nvim_win_get_cursor(0))
  local is_in_word = vim.api.nvim_get_current_line():sub(column, column):match("%S")
  vim.api.nvim_put({ (is_in_word and " " or "") .. word .. " " }, "c", false, true)
end

---Reads the clipboard in the background, and adds its image to the message.
function M.paste()
  local command = reader()
  if not command then
    return log.warn("Pasting an image needs wl-paste on Wayland, xclip on X11 or pngpaste on macOS. Or mention an image file: @picture.png")
  end
  vim.system(
    command,
    { timeout = TIMEOUT_MS },
    vim.schedule_wrap(log.guard("pasting an image", function(result)
      local data = result.code == 0 and result.stdout or ""
      if not vim.startswith(data, SIGNATURE) then
        return log.warn("The clipboard has no image.")
      end
      if #data > MAX_BYTES then
        return log.warn(("The image in the clipboard has %d bytes; at most %d can be sent."):format(#data, MAX_BYTES))
      end
      local part = { type = "image", mediaType = "image/png", data = vim.base64.encode(data) }
      insert(require("agent_ls.chat.mentions").add("image", part))
    end))
  )
end

return M
