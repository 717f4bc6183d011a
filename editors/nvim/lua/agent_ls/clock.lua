-- Times of the server, which are in UTC, in the time zone of this machine.
local M = {}

---@param time string such as 2026-01-02T03:04:05.678Z
---@return string minute such as 2026-01-02 04:04
function M.local_minute(time)
  local year, month, day, hour, min = time:match("^(%d+)-(%d+)-(%d+)T(%d+):(%d+)")
  if not year then
    return time
  end
  local as_local = os.time({ year = year, month = month, day = day, hour = hour, min = min, sec = 0 })
  local utc = os.date("!*t", as_local) --[[@as osdate]]
  utc.isdst = nil -- so that both times are read with the same rule of daylight saving
  return os.date("%Y-%m-%d %H:%M", as_local + os.difftime(as_local, os.time(utc))) --[[@as string]]
end

return M
