-- req: H2, H10
local config = require("agent_ls.config")
local protocol = require("agent_ls.protocol")
local support = require("support")

local spec = {}

spec["every method that the plugin calls exists on the server"] = function()
  local known = {}
  for _, example in ipairs(support.golden("requests.json").requests) do
    known[example.method] = true
  end
  -- Methods that only newer servers have. An older server answers with an error that it does not have them.
  local newer = { compact = true }
  for name, method in pairs(protocol.method) do
    support.same(known[method] or newer[name], true, name)
  end
end

spec["client keys are UUIDs and differ"] = function()
  local seen = {}
  for _ = 1, 100 do
    local key = protocol.client_key()
    assert(key:match("^%x+%-%x%x%x%x%-4%x%x%x%-[89ab]%x%x%x%-%x+$") and #key == 36, key)
    assert(not seen[key])
    seen[key] = true
  end
end

spec["remove_null removes null at every depth"] = function()
  local message = vim.json.decode('{"a":null,"b":{"c":null,"d":[{"e":null,"f":1}]},"g":false}')
  support.same(protocol.remove_null(message), { b = { d = { { f = 1 } } }, g = false })
  support.same(protocol.remove_null(nil), nil)
end

spec["an error keeps its hint"] = function()
  local problem =
    protocol.convert_error({ code = 7, message = "no key", data = { kind = "auth", hint = "set one" } })
  support.same(problem, { message = "no key", hint = "set one", kind = "auth" })
  support.same(protocol.convert_error("lost"), { message = "lost" })
  support.same(protocol.convert_error({ code = 1, message = "m", data = "text" }).message, "m")
end

---@type table<string, {[1]: any, [2]: string[]}>
local OPTIONS = {
  ["none"] = { nil, {} },
  ["valid ones"] = { { cmd = { "x" }, width = 60, model = "m", keymaps = { stop = false } }, {} },
  ["an unknown option"] = { { widht = 60 }, { 'unknown option "widht"' } },
  ["a wrong type"] = { { width = "wide" }, { 'option "width" must be a number, not a string' } },
  ["an unknown key"] = { { keymaps = { fly = "f" } }, { 'unknown key "fly" in keymaps' } },
}

for name, case in pairs(OPTIONS) do
  spec["options: " .. name] = function()
    support.same(config.set(case[1]), case[2])
    config.set(nil)
  end
end

spec["setup applies the valid options and skips an invalid one"] = function()
  config.set({ width = 50, nonsense = 1, keymaps = { keep_hunk = false } })
  support.same(config.options.width, 50)
  support.same(config.key("keep_hunk"), nil)
  support.same(config.key("undo_hunk"), "<leader>au")
  config.set(nil)
end

return spec
