// Turns items that the server has folded (agent/history, the snapshot of agent/subscribe) into ours. Pure.
import { rollBack } from "./fold_more";
import { isWorthALine, noteFile, usageOf } from "./folds";
import type { Entry, Item, Part, QuestionItem, Snapshot, SubagentItem, TextItem, ToolItem } from "./items";
import { newPart } from "./parts";
import type { SubscribeResult } from "./protocol";
import type { StoredItem, StoredSnapshot } from "./protocol_chat";
import { hunkOf, hunkOfInfo, isOpen } from "./review/model";
import { newSnapshot } from "./snapshot";

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
    ...entry, id: callId, kind: "tool", name, summary, status,
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

function fileItem(s: Snapshot, raw: Stored<"file">, entry: Entry): Item {
  const { path, uri, action, added, removed, diff, hunks } = raw;
  const item = { ...entry, kind: "file" as const, path, uri, action, added, removed, diff, hunkIds: hunks.map((hunk) => hunk.id) };
  for (const hunk of hunks) {
    // What became of it since is said by the open hunks that come with a subscription: others are closed.
    const known = s.hunks.get(hunk.id) ?? hunkOf(hunk);
    s.hunks.set(hunk.id, isOpen(hunk.state) && !s.hunks.has(hunk.id) ? { ...known, state: "gone" } : known);
    s.hunkItem.set(hunk.id, item);
  }
  return item;
}

function itemOf(s: Snapshot, raw: StoredItem, index: number, open: ReadonlySet<string>): Item {
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
      return fileItem(s, raw, entry);
    case "approval": {
      const { request, status, reason, scope } = raw;
      const item = {
        ...entry, id: request.requestId, kind: "approval" as const, request, summary: request.summary, status,
        ...(typeof reason === "string" && reason !== "" && { reason }), ...(scope && { scope }),
      };
      s.requests.set(item.id, item);
      return item;
    }
    case "retry":
      return { ...entry, kind: "retry", attempt: raw.attempt, delayMs: raw.delayMs, text: raw.text };
    case "notice":
      return { ...entry, kind: "notice", level: raw.level, text: raw.text, ...(typeof raw.hint === "string" && raw.hint !== "" && { hint: raw.hint }) };
    case "question": {
      const { asked, status, answers } = raw;
      const item: QuestionItem = { ...entry, id: asked.questionId, kind: "question", text: asked.question, choices: asked.choices, multiple: asked.multiple, status, answers: answers ?? [] };
      s.questions.set(item.id, item);
      return item;
    }
    case "subagent": {
      const { status, task, reason, output, turnsUsed: turns } = raw;
      const item: SubagentItem = { ...entry, id: raw.agentId, kind: "subagent", status, task, reason, output, turns };
      delete item.agentId; // it is its parent's
      s.agents.set(item.id, item);
      return item;
    }
    case "reverted":
      return { ...entry, kind: "reverted", data: raw, turnId: raw.revertId };
    case "end": {
      const item = { ...entry, kind: "end" as const, turnId: raw.turnId, reason: raw.reason, files: raw.files };
      s.ends.set(raw.turnId, item);
      return item;
    }
  }
}

/** The files of the turn that has not ended: its end will sum them up. */
function noteOpenTurn(s: Snapshot, oldestFirst: readonly StoredItem[]): void {
  const ended = new Set(oldestFirst.flatMap((raw) => (raw.kind === "end" ? [raw.turnId] : [])));
  for (const raw of oldestFirst) if (raw.kind === "file" && !ended.has(raw.turnId)) noteFile(s, raw.turnId, raw);
  for (const turnId of s.turnFiles.keys()) if (oldestFirst.at(-1)?.turnId !== turnId) s.turnFiles.delete(turnId);
}

function isShown(raw: StoredItem): boolean {
  if (raw.kind === "end") return isWorthALine(raw.reason, raw.files);
  return !(raw.kind === "text" || raw.kind === "reasoning") || raw.text !== "";
}

/** Of each roll back what it took out, oldest first. */
function rollBackAll(s: Snapshot): void {
  s.items.forEach((item, i) => { if (item.kind === "reverted") rollBack(s, s.items.slice(0, i), item.data); });
}

/** A snapshot that begins with what the server has folded: what `subscribed` does comes after. */
export function fromStored(stored: StoredSnapshot, result: SubscribeResult): Snapshot {
  const s = newSnapshot();
  s.lastSeq = result.lastSeq;
  for (const file of result.pending.hunks) for (const hunk of file.hunks) s.hunks.set(hunk.id, hunkOfInfo(hunk, file.uri));
  const open = new Set(result.openParts.map(({ partId }) => partId));
  const oldestFirst = [...stored.items].reverse();
  s.items = oldestFirst.filter(isShown).map((raw, index) => itemOf(s, raw, index, open));
  rollBackAll(s);
  noteOpenTurn(s, oldestFirst);
  s.more = stored.more;
  s.oldestSeq = oldestFirst[0]?.seq ?? 0;
  if (stored.usage) s.usage = usageOf(stored.usage);
  if (stored.plan) s.plan = stored.plan;
  s.queue = result.session.queue;
  return s;
}

/** Puts a page of the history before what is there. */
export function prepend(s: Snapshot, { items, more }: { readonly items: readonly StoredItem[]; readonly more: boolean }): void {
  const shown = items.filter((raw) => raw.seq < s.oldestSeq && isShown(raw));
  const none: ReadonlySet<string> = new Set();
  const oldestFirst = shown.map((raw, i) => itemOf(s, raw, s.first - 1 - i, none)).reverse();
  s.items = [...oldestFirst, ...s.items];
  s.first -= oldestFirst.length;
  rollBackAll(s);
  s.oldestSeq = items.at(-1)?.seq ?? s.oldestSeq;
  s.more = more && items.length > 0;
}
