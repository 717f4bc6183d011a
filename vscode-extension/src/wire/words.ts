// Words for ends of turns, subagents and roll backs. Written by `python -m tests.tools.wire_types` from display/words.py.

export const END_WORDS: Readonly<Record<string, string>> = {
  completed: "Done.",
  refused: "Done, but actions of the agent were refused.",
  interrupted: "Stopped.",
  limit: "Stopped at a limit.",
  error: "Ended by an error.",
  aborted: "The session was ended.",
};

export const AGENT_WORDS: Readonly<Record<string, string>> = {
  limit: "reached its limit",
  refused: "an action was refused",
  error: "failed",
  interrupted: "stopped",
  closed: "closed",
  stopped: "stopped by you",
};

export const REVERTED_WORDS: Readonly<Record<string, string>> = {
  restored: "restored",
  conflict: "left unchanged, because the file was edited later",
  unknown: "not restored, because its earlier text is not stored",
};
