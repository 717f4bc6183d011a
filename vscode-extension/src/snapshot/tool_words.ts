// Descriptions of tool calls for users. Pure.

interface Words {
  /** The verb while the call runs. */
  readonly doing: string;
  readonly done: string;
}

const WORDS: Readonly<Record<string, Words>> = {
  shell: { doing: "Running", done: "Ran" },
  read_file: { doing: "Reading", done: "Read" },
  read_many_files: { doing: "Reading", done: "Read" },
  list_dir: { doing: "Looking into", done: "Looked into" },
  glob: { doing: "Looking for", done: "Looked for" },
  grep: { doing: "Searching", done: "Searched" },
  edit_file: { doing: "Editing", done: "Edited" },
  write_file: { doing: "Writing", done: "Wrote" },
  apply_patch: { doing: "Editing", done: "Edited" },
  edit_notebook: { doing: "Editing", done: "Edited" },
  ask_user: { doing: "Asking", done: "Asked" },
  plan: { doing: "Planning", done: "Planned" },
  definition: { doing: "Finding the definition of", done: "Found the definition of" },
  references: { doing: "Finding uses of", done: "Found uses of" },
  symbols: { doing: "Looking for symbols", done: "Looked for symbols" },
  diagnostics: { doing: "Looking at problems of", done: "Looked at problems of" },
  rename_symbol: { doing: "Renaming", done: "Renamed" },
  spawn_agent: { doing: "Starting a helper", done: "Started a helper" },
  web_fetch: { doing: "Fetching", done: "Fetched" },
  processes: { doing: "Using a background process:", done: "Used a background process:" },
  send_input: { doing: "Sending a message to a helper", done: "Sent a message to a helper" },
  wait: { doing: "Waiting for", done: "Waited for" },
  close_agent: { doing: "Ending", done: "Ended" },
  think: { doing: "Thinking", done: "Thought" },
  save_memory: { doing: "Remembering", done: "Remembered" },
  web_search: { doing: "Searching the web for", done: "Searched the web for" },
};

const ICONS: Readonly<Record<string, string>> = {
  shell: "terminal", processes: "terminal", read_file: "file", read_many_files: "files", list_dir: "folder", glob: "search", grep: "search",
  edit_file: "edit", write_file: "new-file", apply_patch: "edit", edit_notebook: "notebook", ask_user: "question", plan: "checklist",
  definition: "symbol-method", references: "references", symbols: "symbol-class", diagnostics: "warning", rename_symbol: "replace-all",
  spawn_agent: "hubot", send_input: "hubot", wait: "hubot", close_agent: "hubot", web_fetch: "globe", web_search: "globe", think: "lightbulb", save_memory: "save",
};

export function toolIcon(name: string): string {
  return ICONS[name] ?? "tools";
}

/** Read-only tools. The chat collapses several consecutive calls of them. */
const LOOKS: Readonly<Record<string, "read" | "search">> = {
  read_file: "read", read_many_files: "read", list_dir: "search", glob: "search", grep: "search", definition: "search", references: "search",
  symbols: "search", web_fetch: "read", web_search: "search",
};

export function lookOf(name: string): "read" | "search" | "" {
  return LOOKS[name] ?? "";
}

function field(values: Readonly<Record<string, unknown>>, ...names: readonly string[]): unknown {
  return names.map((name) => values[name]).find((value) => value !== undefined);
}

/** Returns the lines that a call reads, counted from 1; undefined if it reads the whole file. */
function linesRead(values: Readonly<Record<string, unknown>>): readonly [number, number | undefined] | undefined {
  const offset = field(values, "offset", "start_line");
  const limit = field(values, "limit"), end = field(values, "end_line");
  const first = typeof offset === "number" && offset > 0 ? offset : 1;
  const last = typeof end === "number" && end > 0 ? end : typeof limit === "number" ? first + limit - 1 : undefined;
  return first === 1 && last === undefined ? undefined : [first, last];
}

/** Returns the lines that a call reads, as text, and a link to them; undefined if the call is not about a file. */
export function fileOf(name: string, summary: string, given: string): { readonly lines: string; readonly target: string } | undefined {
  let values: unknown;
  try {
    values = JSON.parse(given);
  } catch {
    return undefined;
  }
  if (typeof values !== "object" || values === null) return undefined;
  const path = field(values as Readonly<Record<string, unknown>>, "file_path", "path", "notebook_path");
  if (typeof path !== "string" || path !== summary || name === "list_dir") return undefined;
  const [first, last] = (name === "read_file" ? linesRead(values as Readonly<Record<string, unknown>>) : undefined) ?? [];
  if (first === undefined) return { lines: "", target: path };
  return { lines: last === undefined ? `from ${first}` : `${first}–${last}`, target: `${path}#L${first}${last === undefined ? "" : `-L${last}`}` };
}

/** Returns the verbs for calls of a tool. For an unknown tool, returns its name. */
export function toolWords(name: string): Words {
  return WORDS[name] ?? { doing: name, done: name };
}
