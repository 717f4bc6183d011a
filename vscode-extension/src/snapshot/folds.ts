// Reducers: apply each kind of event to a snapshot. Pure; snapshot.ts checks the order (seq, offsets).
import type { AgentEvent, ApprovalRequested, EventData, EventHunk, EventKind, FileSum, TurnFacts, UsageReport } from "../connection/protocol";
import { compactionFolds } from "./fold_compactions";
import { questionFolds } from "./fold_questions";
import { rollBackFolds } from "./fold_rollbacks";
import { subagentFolds } from "./fold_subagents";
import type { Level, NoticeItem, Snapshot, Usage } from "./items";
import { joinMove } from "./moves";
import { addItem, ensureCall, endPart, replaceText, ensureTextItem, markChanged } from "./parts";
import { isProposal, addProposals } from "./proposed_files";
import { hunkOf } from "../review/model";
import { type Action, actionsOf } from "../commands/failure_actions";
import { lookOf } from "./tool_words";
import { END_WORDS } from "../wire/words";

export function addNoticeItem(s: Snapshot, level: Level, text: string, hint: string, id: string, actions: readonly Action[] = []): void {
  const item = addItem(s, (index): NoticeItem => ({ kind: "notice", id, index, level, text, ...(hint !== "" && { hint }), ...(actions.length > 0 && { actions }) }));
  if (actions.length > 0) s.troubles.push(item);
}

/** Removes the actions and the advice of a failure, because the user has continued. A warning keeps its reason. */
export function settleTrouble(item: NoticeItem): void {
  delete item.actions;
  if (item.level === "error") delete item.hint;
}

export function forgetTroubles(s: Snapshot): void {
  for (const item of s.troubles.splice(0)) {
    settleTrouble(item);
    markChanged(s, item);
  }
}

function setHunk(s: Snapshot, raw: EventHunk): void {
  s.hunks.set(raw.id, hunkOf(raw));
  markChanged(s, s.hunkItem.get(raw.id));
}

export function addApproval(s: Snapshot, request: ApprovalRequested): void {
  if (s.requests.has(request.requestId)) return;
  const item = addItem(s, (index) => ({
    kind: "approval" as const, id: request.requestId, index, request, summary: request.summary, status: "pending" as const,
  }));
  s.requests.set(item.id, item);
  markChanged(s, s.calls.get(request.callId));
}

function addSteering(s: Snapshot, data: EventData["steering_injected"], status: "waiting" | "injected"): void {
  const known = s.steers.get(data.steerId);
  if (known) {
    known.status = status;
    markChanged(s, known);
    return;
  }
  const item = addItem(s, (index) => ({ kind: "steer" as const, id: data.steerId, index, text: data.text, status }));
  s.steers.set(data.steerId, item);
}

function updateHunk(s: Snapshot, raw: EventHunk): void {
  const before = s.hunks.get(raw.id);
  setHunk(s, raw);
  if (before?.state !== raw.state) markChanged(s, s.ends.get(raw.turnId));
}

/** Adds a file change to the summary of its turn, in place of the file in the worktree of which it is a copy. */
export function addFileChange(s: Snapshot, turnId: string, { path, uri, action, added, removed, copyOf }: FileSum & { readonly copyOf?: string }): void {
  const files = s.turnFiles.get(turnId) ?? new Map<string, FileSum>();
  for (const [key, file] of files) if (file.path === copyOf) files.delete(key);
  const before = files.get(uri);
  const first = before?.action === "create" && action === "modify" ? "create" : action;
  files.set(uri, { path, uri, action: first, added: added + (before?.added ?? 0), removed: removed + (before?.removed ?? 0) });
  s.turnFiles.set(turnId, files);
}

export function usageOf({ total, context, contextTokens, contextWindowTokens, totalCostUsd }: UsageReport): Usage {
  const { inputTokens, outputTokens, cacheReadTokens } = total;
  return { inputTokens, outputTokens, cacheReadTokens: cacheReadTokens ?? 0, contextTokens, contextWindowTokens, totalCostUsd, parts: context };
}

/** Returns the text of a turn that was stopped; "" for other ends. An end with a text is always displayed. */
export function endText(reason: string): string {
  return reason === "interrupted" || reason === "aborted" ? END_WORDS[reason] ?? "" : "";
}

/** Whether to display the end of a turn: it changed files, checked them, or the user stopped it. */
export function isEndDisplayed(reason: string, files: readonly FileSum[], facts?: TurnFacts): boolean {
  return files.length > 0 || facts !== undefined || endText(reason) !== "";
}

/** Returns the id of the item that an event adds. The server's history uses the same ids. */
function itemId(seq: number): string {
  return `i${seq}`;
}

type Folds = { readonly [K in EventKind]: (s: Snapshot, data: EventData[K], seq: number, event: AgentEvent) => void };

export const folds: Folds = {
  session_start(s, data, _seq, event) {
    const { provider, model, isWalkthrough } = data;
    s.session = { id: event.sessionId, title: "", ...s.session, provider, model, isWalkthrough };
    s.state = "IDLE";
    s.suspended = false;
  },
  session_end(s, data) {
    s.state = data.state;
    s.suspended = data.reason === "suspended";
    s.hasFailed = data.reason === "error";
  },
  state(s, data) {
    s.state = data.state;
  },
  title(s, data) {
    s.session = { ...s.session, title: data.title };
  },
  user_input(s, data, seq) {
    forgetTroubles(s);
    markChanged(s, s.items.at(-1)); // the end of the previous turn may have a Continue button, which must go
    delete s.sending;
    addItem(s, (index) => ({ kind: "user", id: itemId(seq), index, text: data.text }));
  },
  processing_end(s, data, seq, { turnId = "" }) {
    const files = [...(s.turnFiles.get(turnId)?.values() ?? [])];
    s.turnFiles.delete(turnId);
    const facts = s.facts;
    delete s.facts;
    if (!isEndDisplayed(data.reason, files, facts)) return;
    s.ends.set(turnId, addItem(s, (index) => ({ kind: "end" as const, id: itemId(seq), index, turnId, reason: data.reason, files, ...(facts && { facts }) })));
  },
  turn_facts(s, data) {
    s.facts = data;
  },
  assistant_text_start: (s, data) => void ensureTextItem(s, data.partId, "text"),
  assistant_text_end: (s, data) => { endPart(s, data, "text"); },
  reasoning_start: (s, data) => void ensureTextItem(s, data.partId, "reasoning"),
  reasoning_end: (s, data) => { endPart(s, data, "reasoning"); },
  tool_call_start(s, data) {
    const item = ensureCall(s, data.callId, data.name);
    Object.assign(item, lookOf(data));
    item.summary = data.summary;
    item.status = "running";
    replaceText(item.arguments, data.arguments);
    item.arguments.open = false;
    markChanged(s, item);
  },
  tool_call_end(s, data) {
    const item = ensureCall(s, data.callId, data.name);
    item.status = data.isError ? "failed" : "done";
    item.result = data;
    item.arguments.open = item.part.open = false;
    replaceText(item.part, data.output);
    markChanged(s, item);
  },
  steering_queued: (s, data) => { addSteering(s, data, "waiting"); },
  steering_injected: (s, data) => { addSteering(s, data, "injected"); },
  steering_removed(s, data) {
    const item = s.steers.get(data.steerId);
    if (item) item.status = "removed";
    markChanged(s, item);
  },
  queue(s, data) {
    s.queue = data.items;
  },
  queue_splice(s, data) {
    s.queue = s.queue.toSpliced(data.at, data.removed, ...data.items);
  },
  turn_limit: (s, data, seq) => { addNoticeItem(s, "warn", data.message, "", itemId(seq)); },
  loop_detection: (s, data, seq) => { addNoticeItem(s, "warn", data.message, "", itemId(seq)); },
  ...questionFolds,
  ...subagentFolds,
  ...compactionFolds,
  ...rollBackFolds,
  missing: () => undefined,
  rule_removed: () => undefined,
  cache_lost: () => undefined,
  /** Ignored: the diagnostics are in the output of the call. */
  diagnostics: () => undefined,
  save_requested: () => undefined, // ignored: the editor itself marks unsaved files
  warning: (s, data, seq) => { addNoticeItem(s, "warn", data.message, "", itemId(seq), actionsOf("", false, data.action)); },
  error: (s, data, seq) => { addNoticeItem(s, "error", data.message, data.hint, itemId(seq), actionsOf(data.errorKind, data.retryable, data.action)); },
  retry(s, data, seq) {
    const last = s.items.at(-1);
    const fields = { attempt: data.attempt, delayMs: data.delayMs, text: data.message };
    if (last?.kind !== "retry") addItem(s, (index) => ({ kind: "retry", id: itemId(seq), index, ...fields }));
    else markChanged(s, Object.assign(last, fields));
  },
  usage(s, data, _seq, { agentId = "" }) {
    const usage = usageOf(data);
    // The context of a subagent is not displayed, but its costs are part of the session's costs.
    const { contextTokens, contextWindowTokens, parts } = agentId === "" || !s.usage ? usage : s.usage;
    s.usage = { ...usage, contextTokens, contextWindowTokens, ...(parts && { parts }) };
  },
  plan(s, data, _seq, { agentId = "" }) {
    if (agentId === "") s.plan = data;
  },
  file_change(s, data, seq, { turnId = "" }) {
    const { path, action, diff, hunks, uri, added, removed } = data;
    const hunkIds = hunks.map((hunk) => hunk.id);
    if (hunks.length === 0 && isProposal(s, data.callId, uri)) {
      addFileChange(s, turnId, data);
      return; // the item of the proposal is displayed already, with the user's decision
    }
    for (const hunk of hunks) setHunk(s, hunk);
    addFileChange(s, turnId, data);
    if (joinMove(s, { path, uri, action, hunkIds, callId: data.callId })) return;
    const item = addItem(s, (index) => ({
      kind: "file" as const, id: itemId(seq), index, path, uri, action, added, removed, diff, hunkIds, callId: data.callId,
    }));
    for (const hunk of hunks) s.hunkItem.set(hunk.id, item);
  },
  hunk_state(s, data) {
    for (const hunk of data.hunks) updateHunk(s, hunk);
    addProposals(s, data.hunks.map((hunk) => ({ ...hunkOf(hunk), path: hunk.path })));
  },
  approval_requested: (s, data) => { addApproval(s, data); },
  approval_resolved(s, data) {
    const item = s.requests.get(data.requestId);
    if (!item) return;
    item.status = data.decision;
    item.scope = data.scope;
    item.decidedBy = data.decidedBy;
    if (data.reason !== "") item.reason = data.reason;
    const asker = s.calls.get(item.request.callId);
    if (data.command !== "") {
      item.command = data.command;
      if (asker) asker.summary = data.command;
    }
    markChanged(s, asker);
    markChanged(s, item);
  },
  terminal_open(s, data) {
    s.terminals.set(data.terminalId, { ...data, id: data.terminalId, running: true, sinceMs: Date.now() });
    const item = s.calls.get(data.callId);
    if (item) Object.assign(item, { terminalId: data.terminalId, background: data.background });
    markChanged(s, item);
  },
  terminal_waiting(s, data) {
    const terminal = s.terminals.get(data.terminalId);
    if (!terminal) return;
    terminal.waiting = data.waiting;
    markChanged(s, s.calls.get(terminal.callId));
  },
  terminal_exit(s, data) {
    const terminal = s.terminals.get(data.terminalId);
    if (!terminal) return;
    terminal.running = terminal.waiting = false;
    terminal.exitCode = data.exitCode ?? null;
    markChanged(s, s.calls.get(terminal.callId));
  },
};

/** Applies an event. This is the only place that casts event data to the type for its kind. */
export function foldEvent(s: Snapshot, kind: EventKind, event: AgentEvent): void {
  const fold = folds[kind] as (s: Snapshot, data: unknown, seq: number, event: AgentEvent) => void;
  fold(s, event.data ?? {}, event.seq ?? 0, event);
}
