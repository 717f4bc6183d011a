// Descriptions of tool calls for users. Pure.
import type { ToolCallStart } from "../wire/objects";

/** How the server says that a call is shown: what it does, and its verbs while it runs and when it is done. */
export type Look = Pick<ToolCallStart, "look" | "doing" | "done">;

const ICONS: Readonly<Record<Look["look"], string>> = {
  read: "file", search: "search", edit: "edit", move: "arrow-right", delete: "trash", execute: "terminal", fetch: "globe", think: "lightbulb", other: "tools",
};

export function toolIcon(look: Look["look"]): string {
  return ICONS[look];
}

/** Returns how a call is shown; older servers and logs do not say it. */
export function lookOf({ look = "other", doing = "", done = "" }: Partial<Look>): Look {
  return { look, doing, done };
}

const GROUPS: Readonly<Partial<Record<Look["look"], "read" | "search">>> = { read: "read", fetch: "read", search: "search" };

/** Returns the group of a read-only call, else "". The chat collapses several consecutive calls of a group. */
export function groupOf(look: Look["look"]): "read" | "search" | "" {
  return GROUPS[look] ?? "";
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

/** A problem that a review reports: its place, a link to its lines, and what is wrong. */
export interface Finding {
  readonly place: string;
  readonly target: string;
  readonly severity: "error" | "warning" | "info";
  readonly message: string;
}

/** Returns the problem that a call reports; undefined for other calls, and while the arguments are incomplete. */
export function findingOf(name: string, given: string): Finding | undefined {
  if (name !== "report_finding") return undefined;
  const values = parse(given);
  if (values === undefined) return undefined;
  const path = field(values, "file_path", "path"), { start_line: first, end_line: last, severity, message } = values;
  if (typeof path !== "string" || typeof first !== "number" || typeof message !== "string") return undefined;
  const target = `${path}#L${first}${typeof last === "number" && last > first ? `-L${last}` : ""}`;
  return { place: `${path}:${first}`, target, message, severity: severity === "error" || severity === "warning" ? severity : "info" };
}

function parse(given: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const values: unknown = JSON.parse(given);
    return typeof values === "object" && values !== null ? (values as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the lines that a call reads, as text, and a link to them; undefined if the call is not about a file. */
export function fileOf(name: string, summary: string, given: string): { readonly lines: string; readonly target: string } | undefined {
  const values = parse(given);
  if (values === undefined) return undefined;
  const path = field(values, "file_path", "path", "notebook_path");
  if (typeof path !== "string" || path !== summary || name === "list_dir") return undefined;
  const [first, last] = (name === "read_file" ? linesRead(values) : undefined) ?? [];
  if (first === undefined) return { lines: "", target: path };
  return { lines: last === undefined ? `from ${first}` : `${first}–${last}`, target: `${path}#L${first}${last === undefined ? "" : `-L${last}`}` };
}

/** Returns the verbs of a call; the tool's name if the server gives none. */
export function toolWords({ name, doing, done }: { readonly name: string } & Omit<Look, "look">): Omit<Look, "look"> {
  return doing === "" ? { doing: name, done: name } : { doing, done };
}
