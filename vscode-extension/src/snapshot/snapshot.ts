// Applies events to a session snapshot. Pure. Rules (docs/protocol/events.md): a recorded event is applied if its seq is
// the last one plus 1, and a delta if its offset is the length of its part. Events with a smaller seq or offset are
// dropped. A larger one is a gap, which requires a new subscription.
import type { AccessData, AgentEvent, EventKind, InputPart, SubscribeResult } from "../connection/protocol";
import { askQuestion } from "./fold_questions";
import { addApproval, foldEvent, folds, addNoticeItem } from "./folds";
import type { Activity, ApprovalItem, Item, Level, QuestionItem, Snapshot } from "./items";
import { foldAccess, isReadOnly } from "../sessions/owners";
import { appendText, isPartKind, partKind, replaceOpenText, markChanged } from "./parts";
import type { Action } from "../commands/failure_actions";

export type Outcome = "applied" | "dropped" | "gap" | "skipped";

export function newSnapshot(): Snapshot {
  return {
    session: {},
    state: "IDLE",
    suspended: false,
    hasFailed: false,
    troubles: [],
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
    moves: new Map(),
    terminals: new Map(),
    turnFiles: new Map(),
    ends: new Map(),
    touched: new Set(),
  };
}

function turnAndAgent({ turnId = "", agentId = "" }: AgentEvent): Snapshot["now"] {
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
  s.now = turnAndAgent(event);
  const { text, name } = event.data as { text: string; name?: string };
  appendText(s, kind, { partId, text, ...(name !== undefined && { name }) });
  return "applied";
}

/** Applies one event. On "gap" nothing has changed: subscribe again from `lastSeq`. */
export function applyEvent(s: Snapshot, event: AgentEvent): Outcome {
  if (event.kind === "access") {
    foldAccess(s, event.data as AccessData);
    return "applied";
  }
  if (event.seq === undefined) return applyDelta(s, event);
  if (event.seq <= s.lastSeq) return "dropped";
  if (event.seq > s.lastSeq + 1) return "gap";
  s.lastSeq = event.seq;
  if (!Object.hasOwn(folds, event.kind)) return "skipped";
  s.now = turnAndAgent(event);
  foldEvent(s, event.kind as EventKind, event);
  return "applied";
}

/** Applies the result of agent/subscribe. On "gap", its events do not continue this snapshot: subscribe from 0. */
export function applySubscription(s: Snapshot, result: SubscribeResult): Outcome {
  if (result.lastSeq < s.lastSeq) return "gap";
  for (const event of result.events) if (applyEvent(s, event) === "gap") return "gap";
  const session = { ...s.session };
  delete session.owner;
  s.session = { ...session, ...result.session };
  s.state = result.session.state;
  if (result.draft && s.draft === undefined) s.draft = result.draft;
  for (const open of result.openParts) {
    const kind = partKind(open.kind);
    if (isPartKind(kind)) replaceOpenText(s, kind, open);
  }
  s.now = {};
  for (const request of result.pending.approvals) addApproval(s, request);
  for (const question of result.pending.questions) askQuestion(s, question);
  return "applied";
}

/** Adds a notice of the extension, which is not in the session's log, at the end of the transcript. */
export function addNotice(s: Snapshot, level: Level, text: string, hint?: string, actions: readonly Action[] = []): void {
  // Do not repeat a failure that is already displayed with its buttons.
  if (s.troubles.some((item) => item.text === text)) return;
  addNoticeItem(s, level, text, hint ?? "", `local:${s.items.length + 1}`, actions);
}

/** Sets the parts of the last message, which this window sent. Its event contains only the text for the model. */
export function setMessageParts(s: Snapshot, parts: readonly InputPart[]): void {
  const item = s.items.findLast(({ kind }) => kind === "user" || kind === "steer");
  if (item?.kind !== "user" && item?.kind !== "steer") return;
  item.parts = parts;
  markChanged(s, item);
}

/** Returns the pending approvals, oldest first. Returns none if another process owns the session and answers them. */
export function pendingApprovals(s: Snapshot): ApprovalItem[] {
  if (isReadOnly(s)) return [];
  return [...s.requests.values()].filter((item) => item.status === "pending").sort((a, b) => a.index - b.index);
}

/** Returns the oldest pending question. */
export function openQuestion(s: Snapshot): QuestionItem | undefined {
  if (isReadOnly(s)) return undefined;
  return [...s.questions.values()].find(({ status }) => status === "pending");
}

/** Returns the items that changed since the last call of this function, in order. */
export function takeChangedItems(s: Snapshot): Item[] {
  const indexes = [...s.touched].sort((a, b) => a - b);
  s.touched.clear();
  return indexes.flatMap((index) => s.items[index - s.first] ?? []);
}

/** Returns the session's activity, as displayed in the panel and the status bar. */
export function findActivity(s: Snapshot): Activity {
  if (s.state === "CLOSED") return s.hasFailed ? "idle" : "closed";
  if (s.state === "AWAITING_INPUT" || pendingApprovals(s).length > 0 || openQuestion(s)) return "waiting";
  // A turn with proposals waits for the user's decision.
  if (s.state === "PROCESSING" && !isReadOnly(s) && [...s.hunks.values()].some(({ state }) => state === "proposed")) return "waiting";
  return s.state === "PROCESSING" ? "working" : "idle";
}

/** Returns the plan that the user can accept: the last answer in mode plan. Undefined while the agent is working. */
export function planOf(s: Snapshot): string | undefined {
  if (s.session.mode !== "plan" || findActivity(s) !== "idle" || isReadOnly(s)) return undefined;
  for (const item of s.items.toReversed()) {
    if (item.kind === "user") return undefined;
    if (item.kind === "text" && item.agentId === undefined && item.isOut !== true) return item.part.text;
  }
  return undefined;
}
