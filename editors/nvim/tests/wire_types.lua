-- Parses the type annotations of agent_ls/wire, and checks values against these types.
local M = {}

---@class wire_types.Field
---@field type string
---@field optional boolean

---@type table<string, table<string, wire_types.Field>> the fields of each class
local classes = {}
---@type table<string, string>
local aliases = {}

---@param path string
local function read(path)
  local fields
  for line in io.lines(path) do
    local class = line:match("^%-%-%-@class (%S+)$")
    local alias, of = line:match("^%-%-%-@alias (%S+) (.+)$")
    local rest = line:match("^%-%-%-@field (.+)$")
    if class then
      fields = {}
      classes[class] = fields
    elseif alias then
      aliases[alias] = of
    elseif rest then
      local name, mark, kind = rest:match('^%["([^"]+)"%](%??) (.+)$')
      if not name then
        name, mark, kind = rest:match("^([%w_]+)(%??) (.+)$")
      end
      fields[assert(name, line)] = { type = kind, optional = mark == "?" }
    end
  end
end

local here = vim.fs.dirname(vim.fs.abspath(debug.getinfo(1, "S").source:sub(2)))
for name in vim.fs.dir(vim.fs.joinpath(here, "../lua/agent_ls/wire")) do
  read(vim.fs.joinpath(here, "../lua/agent_ls/wire", name))
end

---Splits a text at a separator, except inside brackets.
---@param text string
---@param sign string
---@return string[]
local function split(text, sign)
  local parts, depth, last = {}, 0, 1
  for i = 1, #text do
    local letter = text:sub(i, i)
    if letter == "(" or letter == "[" then
      depth = depth + 1
    elseif letter == ")" or letter == "]" then
      depth = depth - 1
    elseif letter == sign and depth == 0 then
      parts[#parts + 1] = vim.trim(text:sub(last, i - 1))
      last = i + 1
    end
  end
  parts[#parts + 1] = vim.trim(text:sub(last))
  return parts
end

---Returns the alternatives of a union type, with aliases resolved.
---@param type_ string
---@return string[]
local function choices(type_)
  local out = {}
  for _, one in ipairs(split(type_, "|")) do
    vim.list_extend(out, aliases[one] and choices(aliases[one]) or { one })
  end
  return out
end

local PLAIN = {
  string = function(value) return type(value) == "string" end,
  number = function(value) return type(value) == "number" end,
  boolean = function(value) return type(value) == "boolean" end,
  integer = function(value) return type(value) == "number" and value % 1 == 0 end,
  table = function(value) return type(value) == "table" end,
  any = function() return true end,
}

local misfit ---@type fun(value: any, type_: string, place: string): string?

---@param value any
---@param type_ string a type that is not a union
---@param place string
---@return string?
local function misfit_of_one(value, type_, place)
  local plain, item = PLAIN[type_], type_:match("^(.+)%[%]$")
  if plain then
    return not plain(value) and ("%s: %s is no %s"):format(place, vim.inspect(value), type_) or nil
  elseif type_:match('^"') or type_ == "true" then
    return value ~= vim.json.decode(type_) and ("%s: %s is not %s"):format(place, vim.inspect(value), type_) or nil
  elseif type(value) ~= "table" then
    return ("%s: %s is no %s"):format(place, vim.inspect(value), type_)
  elseif item then
    for i, inner in ipairs(value) do
      local found = misfit(inner, item:match("^%((.+)%)$") or item, ("%s[%d]"):format(place, i))
      if found then
        return found
      end
    end
    return not vim.islist(value) and ("%s: it is no list"):format(place) or nil
  elseif type_:match("^%[") then
    local kinds = split(type_:sub(2, -2), ",")
    for i, kind in ipairs(kinds) do
      local found = misfit(value[i], kind, ("%s[%d]"):format(place, i))
      if found then
        return found
      end
    end
    return #value ~= #kinds and ("%s: it has %d places"):format(place, #value) or nil
  end
  local fields = assert(classes[type_], type_ .. " is no class")
  for name, field in pairs(fields) do
    if value[name] == nil then
      if not field.optional then
        return ("%s.%s: it is missing"):format(place, name)
      end
    else
      local found = misfit(value[name], field.type, ("%s.%s"):format(place, name))
      if found then
        return found
      end
    end
  end
  for name in pairs(value) do
    if not fields[name] then
      return ("%s.%s: %s has no such field"):format(place, name, type_)
    end
  end
end

function misfit(value, type_, place)
  local found
  for _, one in ipairs(choices(type_)) do
    found = misfit_of_one(value, one, place)
    if not found then
      return nil
    end
  end
  return found
end

---Returns why a value does not have a type; nil if it has.
---@param value any
---@param type_ string
---@return string?
function M.misfit(value, type_) return misfit(value, type_, type_) end

---Returns the type of a field of a class; nil if the class has no such field.
---@param class string
---@param name string
---@return string?
function M.field(class, name)
  local field = classes[class] and classes[class][name]
  return field and field.type
end

---Wraps a message so that reading a field which its type does not have raises an error.
---@generic T
---@param value T
---@param type_ string
---@return T
function M.watched(value, type_)
  if type(value) ~= "table" then
    return value
  end
  local known = {}
  for _, one in ipairs(choices(type_)) do
    local item = one:match("^(.+)%[%]$")
    for _, inner in ipairs(item and value or {}) do
      M.watched(inner, item:match("^%((.+)%)$") or item)
    end
    known = vim.tbl_extend("keep", known, classes[one] or {})
  end
  for name, field in pairs(known) do
    M.watched(rawget(value, name), field.type)
  end
  if next(known) then
    setmetatable(value, {
      __index = function(_, name)
        if not known[name] then
          error(("%s has no field %q"):format(type_, tostring(name)), 2)
        end
      end,
    })
  end
  return value
end

return M
