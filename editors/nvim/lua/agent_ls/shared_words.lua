-- Words for ends of turns, subagents and roll backs. Written by `python -m tests.tools.wire_types` from display/words.py.
local M = {}

---@type table<string, string>
M.END_WORDS = {
  completed = "Done.",
  refused = "Done, but actions of the agent were refused.",
  interrupted = "Stopped.",
  limit = "Stopped at a limit.",
  error = "Ended by an error.",
  aborted = "The session was ended.",
}

---@type table<string, string>
M.AGENT_WORDS = {
  limit = "reached its limit",
  refused = "an action was refused",
  error = "failed",
  interrupted = "stopped",
  closed = "closed",
  stopped = "stopped by you",
}

---@type table<string, string>
M.REVERTED_WORDS = {
  restored = "restored",
  conflict = "left unchanged, because the file was edited later",
  unknown = "not restored, because its earlier text is not stored",
}

return M
