// Converts the server's stored items (agent/history, the snapshot of agent/subscribe) to items of a snapshot. Pure.
import { rollBack } from "./fold_rollbacks";
import { isEndDisplayed, addFileChange, settleTrouble, usageOf } from "./folds";
import type { Entry, FileItem, Item, Part, QuestionItem, Snapshot, SubagentItem, TextItem, ToolItem } from "./items";
import { type StoredMove, findStoredMoves } from "./moves";
import { newPart, settleRetry } from "./parts";
import { addProposals } from "./proposed_files";
import { type Action, actionsOf } from "../commands/failure_actions";
import { pathOf } from "../connection/uris";
import type { StoredItem, StoredSnapshot, SubscribeResult } from "../connection/protocol";
import { hunkOf, hunkOfInfo, isOpen } from "../review/model";
import { newSnapshot } from "./snapshot";
import { lookOf } from "./tool_words";

type Stored<K extends StoredItem["kind"]> = Extract<StoredItem, { kind: K }>;

function part(text: string, open: boolean, interrupted = false): Part {
  return { ...newPart(text), open, interrupted };
}

function textItem(s: Snapshot, raw: Stored<"text" | "reasoning">, entry: Entry, open: ReadonlySet<string>): TextItem {
  const item: TextItem = { ...entry, id: raw.partId, kind: raw.kind, part: part(raw.text, open.has(raw.partId), raw.interrupted) };
  s.parts.set(raw.partId, item.part);
  s.partItem.set(raw.partId, item);
  return item;
}

function toolItem(s: Snapshot, raw: Stored<"tool">, entry: Entry): ToolItem {
  const { callId, name, summary, status, result, terminalId, background } = raw;
  const isRunning = status === "running";
  const item: ToolItem = {
    ...entry, id: callId, kind: "tool", name, summary, ...lookOf(raw), status,
    arguments: part(raw.arguments, false),
    part: part(result?.output ?? "", isRunning),
    ...(result && { result }),
    ...(typeof terminalId === "string" && { terminalId, background: background === true }),
  };
  s.calls.set(callId, item);
  s.parts.set(`${callId}:args`, item.arguments).set(`${callId}:out`, item.part);
  s.partItem.set(`${callId}:args`, item).set(`${callId}:out`, item);
  if (item.terminalId !== undefined && !s.terminals.has(item.terminalId)) {
    const { terminalId: id } = item;
    s.terminals.set(id, { id, callId, title: summary, background: background === true, running: isRunning, exitCode: result?.exitCode ?? null });
  }
  return item;
}

function fileItem(s: Snapshot, raw: Stored<"file">, entry: Entry, move: StoredMove | null | undefined): FileItem {
  const { path, uri, action, added, removed, diff } = move ? { ...move.made, action: "modify" as const, added: 0, removed: 0, diff: "" } : raw;
  const hunks = move ? [...move.gone.hunks, ...move.made.hunks] : raw.hunks;
  const item: FileItem = { ...entry, kind: "file", path, uri, action, added, removed, diff, hunkIds: hunks.map((hunk) => hunk.id), callId: raw.callId };
  if (move) {
    item.movedFrom = move.gone.path;
    s.moves.set(uri, { path: move.gone.path, uri: move.gone.uri });
  }
  for (const hunk of hunks) {
    // `s.hunks` contains all hunks that are open now. Other hunks that are open in the history were decided later.
    const known = s.hunks.get(hunk.id) ?? hunkOf(hunk);
    s.hunks.set(hunk.id, isOpen(hunk.state) && !s.hunks.has(hunk.id) ? { ...known, state: "gone" } : known);
    s.hunkItem.set(hunk.id, item);
  }
  return item;
}

/** Returns the actions to offer for a stored failure, from the action that the server stored with it. */
function storedActions(raw: Stored<"notice">): { readonly actions?: readonly Action[] } {
  const actions = actionsOf("", false, raw.action);
  return actions.length > 0 ? { actions } : {};
}

/** Settles the failures before the user's last message, and collects the later ones in `troubles`. */
function collectTroubles(s: Snapshot): void {
  const last = s.items.findLastIndex(({ kind }) => kind === "user");
  s.items.forEach((item, i) => {
    if (item.kind !== "notice" || item.actions === undefined) return;
    if (i > last) s.troubles.push(item);
    else settleTrouble(item);
  });
}

/** Data that the conversion of items needs: open parts, and moved files. */
interface Known {
  readonly open: ReadonlySet<string>;
  readonly moves: ReadonlyMap<StoredItem, StoredMove | null>;
}

function itemOf(s: Snapshot, raw: StoredItem, index: number, { open, moves }: Known): Item {
  const agentId = raw.agentId ?? "";
  const entry: Entry = { id: raw.id, index, ...(raw.turnId !== "" && { turnId: raw.turnId }), ...(agentId !== "" && { agentId }) };
  switch (raw.kind) {
    case "user":
      return { ...entry, kind: "user", text: raw.text };
    case "steer": {
      const item = { ...entry, id: raw.steerId, kind: "steer" as const, text: raw.text, status: raw.status };
      s.steers.set(item.id, item);
      return item;
    }
    case "text":
    case "reasoning":
      return textItem(s, raw, entry, open);
    case "tool":
      return toolItem(s, raw, entry);
    case "file":
      return fileItem(s, raw, entry, moves.get(raw));
    case "approval": {
      const { request, status, reason, scope, command, decidedBy } = raw;
      const item = {
        ...entry, id: request.requestId, kind: "approval" as const, request, summary: request.summary, status,
        ...(typeof reason === "string" && reason !== "" && { reason }), ...(scope && { scope }), ...(decidedBy && { decidedBy }),
        ...(typeof command === "string" && command !== "" && { command }),
      };
      s.requests.set(item.id, item);
      return item;
    }
    case "retry":
      return { ...entry, kind: "retry", attempt: raw.attempt, delayMs: raw.delayMs, text: raw.text };
    case "notice":
      return { ...entry, kind: "notice", level: raw.level, text: raw.text, ...(typeof raw.hint === "string" && raw.hint !== "" && { hint: raw.hint }), ...storedActions(raw) };
    case "question": {
      const { asked, status, answers } = raw;
      const item: QuestionItem = { ...entry, id: asked.questionId, kind: "question", text: asked.question, choices: asked.choices, multiple: asked.multiple, isLimit: asked.purpose === "limit", status, answers: answers ?? [] };
      s.questions.set(item.id, item);
      return item;
    }
    case "subagent": {
      const { status, task, reason, output, turnsUsed: turns } = raw;
      const item: SubagentItem = { ...entry, id: raw.agentId, kind: "subagent", status, task, reason, output, turns };
      delete item.agentId; // it belongs to its parent agent
      s.agents.set(item.id, item);
      return item;
    }
    case "reverted":
      return { ...entry, kind: "reverted", data: raw, turnId: raw.revertId };
    case "end": {
      const item = { ...entry, kind: "end" as const, turnId: raw.turnId, reason: raw.reason, files: raw.files, ...(raw.facts && { facts: raw.facts }) };
      s.ends.set(raw.turnId, item);
      return item;
    }
  }
}

/** Collects the files that the running turn has changed so far, for the summary at its end. */
function noteOpenTurn(s: Snapshot, oldestFirst: readonly StoredItem[]): void {
  const ended = new Set(oldestFirst.flatMap((raw) => (raw.kind === "end" ? [raw.turnId] : [])));
  for (const raw of oldestFirst) if (raw.kind === "file" && !ended.has(raw.turnId)) addFileChange(s, raw.turnId, raw);
  for (const turnId of s.turnFiles.keys()) if (oldestFirst.at(-1)?.turnId !== turnId) s.turnFiles.delete(turnId);
}

function isShown(raw: StoredItem): boolean {
  if (raw.kind === "end") return isEndDisplayed(raw.reason, raw.files, raw.facts);
  return !(raw.kind === "text" || raw.kind === "reasoning") || raw.text !== "";
}

/** Applies all roll backs, oldest first. */
function rollBackAll(s: Snapshot): void {
  s.items.forEach((item, i) => { if (item.kind === "reverted") rollBack(s, s.items.slice(0, i), item.data); });
}

/** Creates a snapshot from the server's stored items. Call applySubscription afterwards. */
export function restoreSnapshot(stored: StoredSnapshot, result: SubscribeResult): Snapshot {
  const s = newSnapshot();
  s.lastSeq = result.lastSeq;
  for (const file of result.pending.hunks) for (const hunk of file.hunks) s.hunks.set(hunk.id, hunkOfInfo(hunk, file.uri));
  const open = new Set(result.openParts.map(({ partId }) => partId));
  const oldestFirst = [...stored.items].reverse();
  const moves = findStoredMoves(oldestFirst);
  s.items = oldestFirst.filter((raw) => isShown(raw) && moves.get(raw) !== null).map((raw, index) => itemOf(s, raw, index, { open, moves }));
  s.items.forEach((item, i) => { settleRetry(s.items[i - 1], item); });
  rollBackAll(s);
  collectTroubles(s);
  noteOpenTurn(s, oldestFirst);
  addProposals(s, result.pending.hunks.flatMap(({ uri, hunks }) => hunks.map((hunk) => ({ ...hunkOfInfo(hunk, uri), path: pathOf(uri) }))));
  s.more = stored.more;
  s.oldestSeq = oldestFirst[0]?.seq ?? 0;
  if (stored.usage) s.usage = usageOf(stored.usage);
  if (stored.plan) s.plan = stored.plan;
  s.queue = result.session.queue;
  return s;
}

/** Inserts a page of the history before the first item. */
export function prependHistory(s: Snapshot, { items, more }: { readonly items: readonly StoredItem[]; readonly more: boolean }): void {
  const moves = findStoredMoves([...items].reverse());
  const shown = items.filter((raw) => raw.seq < s.oldestSeq && isShown(raw) && moves.get(raw) !== null);
  const known: Known = { open: new Set(), moves };
  const oldestFirst = shown.map((raw, i) => itemOf(s, raw, s.first - 1 - i, known)).reverse();
  [...oldestFirst, ...s.items.slice(0, 1)].forEach((item, i) => { settleRetry(oldestFirst[i - 1], item); });
  s.items = [...oldestFirst, ...s.items];
  s.first -= oldestFirst.length;
  rollBackAll(s);
  s.oldestSeq = items.at(-1)?.seq ?? s.oldestSeq;
  s.more = more && items.length > 0;
}
