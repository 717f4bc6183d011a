// How calls of tools are shown, as the server says in `tool_call_start`.

const LOOKS = {
  shell: { look: "execute", doing: "Running", done: "Ran" },
  read_file: { look: "read", doing: "Reading", done: "Read" },
  grep: { look: "search", doing: "Searching", done: "Searched" },
  glob: { look: "search", doing: "Looking for", done: "Looked for" },
  list_dir: { look: "search", doing: "Looking into", done: "Looked into" },
  edit_file: { look: "edit", doing: "Editing", done: "Edited" },
  write_file: { look: "edit", doing: "Writing", done: "Wrote" },
  ask_user: { look: "other", doing: "Asking", done: "Asked" },
  plan: { look: "think", doing: "Planning", done: "Planned" },
  spawn_agent: { look: "other", doing: "Starting a helper", done: "Started a helper" },
};

export function lookOf(name) {
  return LOOKS[name] ?? { look: "other", doing: "", done: "" };
}
