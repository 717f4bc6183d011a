// Text of the status bar: activity, pending requests, cost. Pure.
import type { Activity, Snapshot } from "../snapshot/items";
import { formatMoney } from "../snapshot/money";
import { formatCount } from "../review/words";
import { findActivity, pendingApprovals } from "../snapshot/snapshot";

export interface StatusLine {
  readonly text: string;
  /** Label for screen readers. */
  readonly label: string;
  readonly isUrgent: boolean;
  /** The lines of its tooltip. */
  readonly details: readonly string[];
}

const ICONS: Record<Activity, string> = {
  working: "$(sync~spin)", waiting: "$(bell-dot)", idle: "$(comment-discussion)", closed: "$(comment-discussion)",
};

export function formatTokens(tokens: number): string {
  if (tokens < 1_000) return String(tokens);
  return tokens < 1_000_000 ? `${Math.round(tokens / 100) / 10}k` : `${Math.round(tokens / 100_000) / 10}M`;
}

interface Waiting {
  readonly files: number;
  readonly proposals: number;
}

function listFacts(s: Snapshot, doing: Activity, { files, proposals }: Waiting): string[] {
  const asked = pendingApprovals(s).length;
  const what = proposals > 0 ? `proposes ${formatCount(proposals, "change")}` : asked > 1 ? `asks you (${asked})` : "asks you";
  const state: Record<Activity, string> = { working: "working", waiting: what, idle: "", closed: "" };
  // If there are proposals, the turn waits for the user, even if its state is not "waiting".
  const first = proposals > 0 ? what : state[doing];
  return [s.session.access === "readOnly" ? "read only" : "", first, files > 0 ? `${formatCount(files, "file")} to review` : ""].filter((each) => each !== "");
}

function details(s: Snapshot): string[] {
  const { session, usage } = s;
  const lines = [session.title ?? ""];
  if (session.model !== undefined) lines.push([session.model, session.effort ?? "", session.mode ?? ""].filter(Boolean).join(" · "));
  const folder = decodeURIComponent(session.workspaceFolder?.replace(/\/$/, "").split("/").at(-1) ?? "");
  if (folder !== "") lines.push(`In ${folder}`);
  if (session.access === "readOnly") lines.push("Another window owns this session, so it is read-only here.");
  if (usage && usage.contextWindowTokens > 0) {
    lines.push(`Context: ${Math.round((100 * usage.contextTokens) / usage.contextWindowTokens)} % of ${formatTokens(usage.contextWindowTokens)} tokens`);
    lines.push(`Used: ${formatTokens(usage.inputTokens)} in (${formatTokens(usage.cacheReadTokens)} from the cache), ${formatTokens(usage.outputTokens)} out`);
  }
  const cost = costOf(s);
  if (cost !== undefined) lines.push(`Cost: ${formatMoney(cost)}`);
  return lines.filter((line) => line !== "");
}

/** Returns the cost of the session in USD; undefined if a price is unknown, or no usage was reported yet. */
function costOf(s: Snapshot): number | undefined {
  return s.usage?.totalCostUsd ?? undefined;
}

export function statusLine(s: Snapshot, waiting: Waiting, isServerGone: boolean): StatusLine {
  const doing = findActivity(s);
  const said = isServerGone ? ["server stopped"] : listFacts(s, doing, waiting);
  const { model, isWalkthrough } = s.session;
  const cost = costOf(s);
  const shown = [...said, isWalkthrough === true ? "" : (model ?? ""), cost === undefined || cost === 0 ? "" : formatMoney(cost)].filter((each) => each !== "");
  const isUrgent = isServerGone || doing === "waiting" || waiting.proposals > 0;
  const icon = isServerGone ? "$(warning)" : isUrgent ? ICONS.waiting : ICONS[doing];
  return {
    text: `${icon} agent-ls${shown.length === 0 ? "" : `: ${shown.join(" · ")}`}`,
    label: `agent-ls ${shown.length === 0 ? "is idle" : shown.join(", ")}`,
    isUrgent,
    details: details(s),
  };
}
