// Folds events into one session snapshot. Pure: no editor, no view, no clock, no connection.
// Rules (protocol, Events): a recorded event is applied when its seq is the last one plus 1, a delta when its offset
// is the length of its part; smaller ones are dropped; a gap of either asks for a new subscription.
import type { AccessData, EventKind } from "./events";
import { askQuestion } from "./fold_more";
import { askFor, foldEvent, folds, notice } from "./folds";
import type { Activity, ApprovalItem, Item, Level, QuestionItem, Snapshot } from "./items";
import { foldAccess, isReadOnly } from "./owners";
import { extend, isPartKind, partKind, reopen } from "./parts";
import type { AgentEvent, SubscribeResult } from "./protocol";

export type Outcome = "applied" | "dropped" | "gap" | "skipped";

export function newSnapshot(): Snapshot {
  return {
    session: {},
    state: "IDLE",
    suspended: false,
    lastSeq: 0,
    items: [],
    first: 0,
    more: false,
    oldestSeq: 0,
    parts: new Map(),
    partItem: new Map(),
    calls: new Map(),
    requests: new Map(),
    steers: new Map(),
    questions: new Map(),
    agents: new Map(),
    compactions: new Map(),
    now: {},
    queue: [],
    hunks: new Map(),
    hunkItem: new Map(),
    terminals: new Map(),
    turnFiles: new Map(),
    ends: new Map(),
    touched: new Set(),
  };
}

function belonging({ turnId = "", agentId = "" }: AgentEvent): Snapshot["now"] {
  return { ...(turnId !== "" && { turnId }), ...(agentId !== "" && { agentId }) };
}

function applyDelta(s: Snapshot, event: AgentEvent): Outcome {
  const kind = partKind(event.kind);
  const { partId, offset } = event;
  if (!isPartKind(kind) || partId === undefined || offset === undefined) return "skipped";
  const known = s.parts.get(partId);
  const length = known?.length ?? 0;
  if ((event.after ?? 0) > s.lastSeq || offset > length) return "gap";
  if (known && (!known.open || offset < length)) return "dropped";
  s.now = belonging(event);
  const { text, name } = event.data as { text: string; name?: string };
  extend(s, kind, { partId, text, ...(name !== undefined && { name }) });
  return "applied";
}

/** Applies one message. On "gap" nothing was changed: subscribe again from `lastSeq`. */
export function apply(s: Snapshot, event: AgentEvent): Outcome {
  if (event.kind === "access") {
    foldAccess(s, event.data as AccessData);
    return "applied";
  }
  if (event.seq === undefined) return applyDelta(s, event);
  if (event.seq <= s.lastSeq) return "dropped";
  if (event.seq > s.lastSeq + 1) return "gap";
  s.lastSeq = event.seq;
  if (!Object.hasOwn(folds, event.kind)) return "skipped";
  s.now = belonging(event);
  foldEvent(s, event.kind as EventKind, event);
  return "applied";
}

/** Takes in the answer of agent/subscribe. "gap": its events do not follow on what is here, begin anew from 0. */
export function subscribed(s: Snapshot, result: SubscribeResult): Outcome {
  if (result.lastSeq < s.lastSeq) return "gap";
  for (const event of result.events) if (apply(s, event) === "gap") return "gap";
  const session = { ...s.session };
  delete session.owner;
  s.session = { ...session, ...result.session };
  s.state = result.session.state;
  if (result.draft && s.draft === undefined) s.draft = result.draft;
  for (const open of result.openParts) {
    const kind = partKind(open.kind);
    if (isPartKind(kind)) reopen(s, kind, open);
  }
  s.now = {};
  for (const request of result.pending.approvals) askFor(s, request);
  for (const question of result.pending.questions) askQuestion(s, question);
  return "applied";
}

/** A sentence of our own (not of the session's log) at the end of the transcript. */
export function addNotice(s: Snapshot, level: Level, text: string, hint?: string): void {
  notice(s, level, text, hint ?? "", `local:${s.items.length + 1}`);
}

/** The approvals that wait, oldest first; of another process's session they are not for this user to answer. */
export function pendingApprovals(s: Snapshot): ApprovalItem[] {
  if (isReadOnly(s)) return [];
  return [...s.requests.values()].filter((item) => item.status === "pending").sort((a, b) => a.index - b.index);
}

/** The question that was asked first, of those that wait. */
export function openQuestion(s: Snapshot): QuestionItem | undefined {
  if (isReadOnly(s)) return undefined;
  return [...s.questions.values()].find(({ status }) => status === "pending");
}

/** The items that changed since the last call, in order. */
export function drain(s: Snapshot): Item[] {
  const indexes = [...s.touched].sort((a, b) => a - b);
  s.touched.clear();
  return indexes.flatMap((index) => s.items[index - s.first] ?? []);
}

/** What the session does, in the words that panel and status bar share. */
export function activity(s: Snapshot): Activity {
  if (s.state === "CLOSED") return "closed";
  if (s.state === "AWAITING_INPUT" || pendingApprovals(s).length > 0 || openQuestion(s)) return "waiting";
  return s.state === "PROCESSING" ? "working" : "idle";
}
