-- File icons from mini.icons or nvim-web-devicons; none if neither is installed.
local M = {}

local find ---@type (fun(path: string): string?, string?)|false|nil

---@return (fun(path: string): string?, string?)|false
local function provider()
  local has_mini, mini = pcall(require, "mini.icons")
  if has_mini and _G.MiniIcons then
    return function(path) return mini.get("file", path) end
  end
  local has_devicons, devicons = pcall(require, "nvim-web-devicons")
  if has_devicons then
    return function(path)
      local name = vim.fs.basename(path)
      return devicons.get_icon(name, name:match("%.([^.]+)$"), { default = true })
    end
  end
  return false
end

---@param path string
---@return {[1]: string, [2]: string?}? icon and its highlight group
function M.find_icon(path)
  if find == nil then
    find = provider()
  end
  if not find or path == "" then
    return nil
  end
  local icon, group = find(path)
  return icon and { icon, group } or nil
end

---Looks for an icon plugin again at the next use, because one may have been loaded since.
function M.refresh() find = nil end

return M
