-- Runs specs in a bare Neovim: nvim --headless --clean -l editors/nvim/tests/run.lua [file…]. A spec is a file that
-- returns { ["description of the behaviour"] = function() … end }. A test fails by raising an error.
local here = vim.fs.dirname(vim.fs.abspath(debug.getinfo(1, "S").source:sub(2)))
local plugin = vim.fs.dirname(here)
vim.opt.runtimepath:prepend(plugin)
package.path = here .. "/?.lua;" .. package.path

local files = #arg > 0 and arg or vim.fn.sort(vim.fn.glob(here .. "/*_spec.lua", true, true))
local passed, failed = 0, 0

for _, file in ipairs(files) do
  local spec = assert(loadfile(file))()
  local names = vim.tbl_keys(spec)
  table.sort(names)
  for _, name in ipairs(names) do
    local ok, err = xpcall(spec[name], debug.traceback)
    if ok then
      passed = passed + 1
    else
      failed = failed + 1
      print(("FAILED %s: %s\n%s"):format(vim.fs.basename(file), name, err))
    end
  end
end

print(("%d passed, %d failed"):format(passed, failed))
os.exit(failed == 0 and passed > 0 and 0 or 1)
