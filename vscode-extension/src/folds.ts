// What each kind of event does to a snapshot. Pure; the rules of order (seq, offsets) are snapshot.ts's.
import type { EventData, EventHunk, EventKind, UsageData } from "./events";
import { moreFolds } from "./fold_more";
import type { Level, Snapshot, Usage } from "./items";
import { add, call, endPart, replaceText, textPart, touch } from "./parts";
import type { AgentEvent } from "./protocol";
import type { ApprovalRequest } from "./protocol_approvals";
import type { TurnFile } from "./protocol_chat";
import { hunkOf } from "./review/model";

export function notice(s: Snapshot, level: Level, text: string, hint: string, id: string): void {
  add(s, (index) => ({ kind: "notice", id, index, level, text, ...(hint !== "" && { hint }) }));
}

function setHunk(s: Snapshot, raw: EventHunk): void {
  s.hunks.set(raw.id, hunkOf(raw));
  touch(s, s.hunkItem.get(raw.id));
}

export function askFor(s: Snapshot, request: ApprovalRequest): void {
  if (s.requests.has(request.requestId)) return;
  const item = add(s, (index) => ({
    kind: "approval" as const, id: request.requestId, index, request, summary: request.summary, status: "pending" as const,
  }));
  s.requests.set(item.id, item);
}

function steer(s: Snapshot, data: EventData["steering_injected"], status: "waiting" | "injected"): void {
  const known = s.steers.get(data.steerId);
  if (known) {
    known.status = status;
    touch(s, known);
    return;
  }
  const item = add(s, (index) => ({ kind: "steer" as const, id: data.steerId, index, text: data.text, status }));
  s.steers.set(data.steerId, item);
}

function countOpen(s: Snapshot, raw: EventHunk): void {
  const before = s.hunks.get(raw.id);
  setHunk(s, raw);
  if (before?.state !== raw.state) touch(s, s.ends.get(raw.turnId));
}

/** Sums up what a turn did to a file. */
export function noteFile(s: Snapshot, turnId: string, { path, uri, action, added, removed }: TurnFile): void {
  const files = s.turnFiles.get(turnId) ?? new Map<string, TurnFile>();
  const before = files.get(uri);
  const first = before?.action === "create" && action === "modify" ? "create" : action;
  files.set(uri, { path, uri, action: first, added: added + (before?.added ?? 0), removed: removed + (before?.removed ?? 0) });
  s.turnFiles.set(turnId, files);
}

export function usageOf({ total, context, contextTokens, contextWindowTokens, totalCostUsd }: UsageData): Usage {
  const { inputTokens, outputTokens, cacheReadTokens } = total;
  return { inputTokens, outputTokens, cacheReadTokens: cacheReadTokens ?? 0, contextTokens, contextWindowTokens, totalCostUsd, parts: context };
}

/** Ends that are said even when nothing was changed. */
export const END_WORDS: Partial<Record<string, string>> = {
  interrupted: "Stopped.",
  aborted: "The session was ended.",
  error: "Ended by an error.",
};

/** How a turn ended is worth a line when it changed files, or did not end by itself. */
export function isWorthALine(reason: string, files: readonly TurnFile[]): boolean {
  return files.length > 0 || END_WORDS[reason] !== undefined;
}

/** As the server names an item: the same after a reload, whether it comes as an event or from the history. */
function itemId(seq: number): string {
  return `i${seq}`;
}

type Folds = { readonly [K in EventKind]: (s: Snapshot, data: EventData[K], seq: number, event: AgentEvent) => void };

export const folds: Folds = {
  session_start(s, data, seq, event) {
    const { provider, model, isWalkthrough } = data;
    s.session = { id: event.sessionId, title: "", ...s.session, provider, model, isWalkthrough };
    s.state = "IDLE";
    // After a suspended turn its question stands there as before: that says it.
    if (data.resumed && !s.suspended) notice(s, "info", "Session resumed.", "", `resumed:${seq}`);
    s.suspended = false;
  },
  session_end(s, data, seq) {
    s.state = data.state;
    s.suspended = data.reason === "suspended";
    if (!s.suspended && s.session.access !== "readOnly") notice(s, "info", "Session closed.", "Send a message to go on with it.", `end:${seq}`);
  },
  state(s, data) {
    s.state = data.state;
  },
  title(s, data) {
    s.session = { ...s.session, title: data.title };
  },
  user_input(s, data, seq) {
    add(s, (index) => ({ kind: "user", id: itemId(seq), index, text: data.text }));
  },
  processing_end(s, data, seq, { turnId = "" }) {
    const files = [...(s.turnFiles.get(turnId)?.values() ?? [])];
    s.turnFiles.delete(turnId);
    if (!isWorthALine(data.reason, files)) return;
    s.ends.set(turnId, add(s, (index) => ({ kind: "end" as const, id: itemId(seq), index, turnId, reason: data.reason, files })));
  },
  assistant_text_start: (s, data) => void textPart(s, data.partId, "text"),
  assistant_text_end: (s, data) => { endPart(s, data, "text"); },
  reasoning_start: (s, data) => void textPart(s, data.partId, "reasoning"),
  reasoning_end: (s, data) => { endPart(s, data, "reasoning"); },
  tool_call_start(s, data) {
    const item = call(s, data.callId, data.name);
    item.summary = data.summary;
    item.status = "running";
    replaceText(item.arguments, data.arguments);
    item.arguments.open = false;
    touch(s, item);
  },
  tool_call_end(s, data) {
    const item = call(s, data.callId, data.name);
    item.status = data.isError ? "failed" : "done";
    item.result = data;
    item.arguments.open = item.part.open = false;
    replaceText(item.part, data.output);
    touch(s, item);
  },
  steering_queued: (s, data) => { steer(s, data, "waiting"); },
  steering_injected: (s, data) => { steer(s, data, "injected"); },
  steering_removed(s, data) {
    const item = s.steers.get(data.steerId);
    if (item) item.status = "removed";
    touch(s, item);
  },
  queue(s, data) {
    s.queue = data.items;
  },
  turn_limit: (s, data, seq) => { notice(s, "warn", data.message, "", itemId(seq)); },
  loop_detection: (s, data, seq) => { notice(s, "warn", data.message, "", itemId(seq)); },
  ...moreFolds,
  warning: (s, data, seq) => { notice(s, "warn", data.message, "", itemId(seq)); },
  error: (s, data, seq) => { notice(s, "error", data.message, data.hint, itemId(seq)); },
  retry(s, data, seq) {
    const last = s.items.at(-1);
    const fields = { attempt: data.attempt, delayMs: data.delayMs, text: data.message };
    if (last?.kind !== "retry") add(s, (index) => ({ kind: "retry", id: itemId(seq), index, ...fields }));
    else touch(s, Object.assign(last, fields));
  },
  usage(s, data, _seq, { agentId = "" }) {
    const usage = usageOf(data);
    // Of a subagent the context is its own; what was spent is the whole session's.
    const { contextTokens, contextWindowTokens, parts } = agentId === "" || !s.usage ? usage : s.usage;
    s.usage = { ...usage, contextTokens, contextWindowTokens, ...(parts && { parts }) };
  },
  plan(s, data, _seq, { agentId = "" }) {
    if (agentId === "") s.plan = data;
  },
  file_change(s, data, seq, { turnId = "" }) {
    const { path, action, added, removed, diff, hunks, uri } = data;
    const hunkIds = hunks.map((hunk) => hunk.id);
    const item = add(s, (index) => ({
      kind: "file" as const, id: itemId(seq), index, path, uri, action, added, removed, diff, hunkIds,
    }));
    noteFile(s, turnId, item);
    for (const hunk of hunks) {
      setHunk(s, hunk);
      s.hunkItem.set(hunk.id, item);
    }
  },
  hunk_state(s, data) {
    for (const hunk of data.hunks) countOpen(s, hunk);
  },
  approval_requested: (s, data) => { askFor(s, data); },
  approval_resolved(s, data) {
    const item = s.requests.get(data.requestId);
    if (!item) return;
    item.status = data.decision;
    item.scope = data.scope;
    if (data.reason !== "") item.reason = data.reason;
    touch(s, item);
  },
  terminal_open(s, data) {
    s.terminals.set(data.terminalId, { ...data, id: data.terminalId, running: true });
    const item = s.calls.get(data.callId);
    if (item) Object.assign(item, { terminalId: data.terminalId, background: data.background });
    touch(s, item);
  },
  terminal_waiting(s, data) {
    const terminal = s.terminals.get(data.terminalId);
    if (!terminal) return;
    terminal.waiting = data.waiting;
    touch(s, s.calls.get(terminal.callId));
  },
  terminal_exit(s, data) {
    const terminal = s.terminals.get(data.terminalId);
    if (!terminal) return;
    terminal.running = terminal.waiting = false;
    terminal.exitCode = data.exitCode ?? null;
    touch(s, s.calls.get(terminal.callId));
  },
};

/** The one place where the data of an event is taken for what its kind says: the wire is the server's contract. */
export function foldEvent(s: Snapshot, kind: EventKind, event: AgentEvent): void {
  const fold = folds[kind] as (s: Snapshot, data: unknown, seq: number, event: AgentEvent) => void;
  fold(s, event.data ?? {}, event.seq ?? 0, event);
}
