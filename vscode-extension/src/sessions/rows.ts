// Labels of sessions in lists. Pure; the current time is a parameter.
import { describeOwner } from "./owners";
import type { SessionInfo } from "../connection/protocol";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export interface Row {
  readonly label: string;
  readonly description: string;
  /** Name of a codicon. */
  readonly icon: string;
  /** The context value, on which the menu of the row depends. */
  readonly context: string;
  /** Label for screen readers. */
  readonly spoken: string;
}

/** Formats how long ago a time is. */
export function formatAge(thenMs: number, nowMs: number): string {
  const past = nowMs - thenMs;
  if (Number.isNaN(past)) return "";
  if (past < MINUTE_MS) return "just now";
  if (past < HOUR_MS) return `${Math.floor(past / MINUTE_MS)} min ago`;
  if (past < DAY_MS) return `${Math.floor(past / HOUR_MS)} h ago`;
  const days = Math.floor(past / DAY_MS);
  if (days < 30) return days === 1 ? "yesterday" : `${days} days ago`;
  return new Date(thenMs).toISOString().slice(0, 10);
}

export function titleOf(info: Pick<SessionInfo, "title">): string {
  const [line = ""] = info.title.trim().split("\n");
  return line === "" ? "(no title)" : line;
}

/** The session's activity in a word; "" if no process has the session open. */
function activityWord(info: SessionInfo): string {
  if (info.access === "readOnly") return "in another window";
  if (!info.live || info.state === "CLOSED") return "";
  return { IDLE: "", PROCESSING: "working", AWAITING_INPUT: "asks you" }[info.state];
}

function icon(info: SessionInfo, isCurrent: boolean): string {
  if (info.access === "readOnly") return "lock";
  if (info.live && info.state === "PROCESSING") return "sync~spin";
  if (info.live && info.state === "AWAITING_INPUT") return "bell-dot";
  if (isCurrent) return "circle-filled";
  return info.live ? "circle-outline" : "history";
}

export function rowOf(info: SessionInfo, currentId: string | undefined, nowMs: number): Row {
  const isCurrent = info.id === currentId;
  const when = formatAge(Date.parse(info.updated), nowMs);
  const words = [isCurrent ? "shown" : "", activityWord(info), info.worktree === undefined ? "" : "worktree", when].filter(Boolean);
  const context = info.access === "readOnly" ? "session.readOnly" : info.live ? "session.live" : "session";
  const label = titleOf(info);
  return { label, description: words.join(" · "), icon: icon(info, isCurrent), context, spoken: [label, ...words].join(", ") };
}

const ACTIVITIES = { working: "working", waiting: "waits for you", idle: "idle", closed: "" } as const;
const ACTIVITY_ICONS = { working: "sync~spin", waiting: "bell-dot", idle: "circle-outline", closed: "history" } as const;

/** The row of a session in the list of sessions that run in any editor. */
export function runningRow(info: SessionInfo, nowMs: number): { label: string; description: string; detail: string } {
  const cost = info.costUsd === undefined ? "" : `$${info.costUsd.toFixed(2)}`;
  const words = [ACTIVITIES[info.activity], formatAge(Date.parse(info.updated), nowMs), cost].filter(Boolean);
  const place = decodeURIComponent(info.workspaceFolder.replace(/^file:\/\//, ""));
  const where = [info.owner ? describeOwner(info.owner) : "this window", info.worktree === undefined ? "" : "worktree", place].filter(Boolean);
  return { label: `$(${ACTIVITY_ICONS[info.activity]}) ${titleOf(info)}`, description: words.join(" · "), detail: where.join(" · ") };
}

export type ExportFormat = "markdown" | "html" | "jsonl";

const ENDINGS: Readonly<Record<ExportFormat, string>> = { markdown: "md", html: "html", jsonl: "jsonl" };

/** The suggested name of the file for an exported session. */
export function fileName(info: Pick<SessionInfo, "title" | "id">, format: ExportFormat): string {
  const words = info.title.toLowerCase().normalize("NFKD").replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 50).replace(/-+$/, "");
  return `${words || info.id}.${ENDINGS[format]}`;
}
