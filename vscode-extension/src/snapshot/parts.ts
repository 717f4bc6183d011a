// Streamed texts (parts) and the items they belong to. Pure; folds.ts applies events to them.
import type { EventData } from "../connection/protocol";
import type { Item, Part, Snapshot, TextItem, ToolItem } from "./items";
import { lookOf } from "./tool_words";

/** Counts code points, as the protocol's offsets do. The length of a JavaScript string counts UTF-16 units. */
export function codePoints(text: string): number {
  return text.length - (text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0);
}

export function newPart(text = ""): Part {
  return { text, length: codePoints(text), open: true, interrupted: false, revision: 0 };
}

export function replaceText(part: Part, text: string): void {
  // If the streamed text is equal, keep it, so that views need no redraw.
  if (part.text === text) return;
  part.text = text;
  part.length = codePoints(text);
  part.revision += 1;
}

export function markChanged(s: Snapshot, item: Item | undefined): void {
  if (item) s.touched.add(item.index);
}

export function addItem<T extends Item>(s: Snapshot, make: (index: number) => T): T {
  const item = make(s.first + s.items.length);
  if (item.turnId === undefined && s.now.turnId !== undefined) item.turnId = s.now.turnId;
  if (item.agentId === undefined && s.now.agentId !== undefined) item.agentId = s.now.agentId;
  const before = s.items.at(-1);
  settleRetry(before, item);
  if (before?.kind === "retry") s.touched.add(before.index);
  s.items.push(item);
  s.touched.add(item.index);
  return item;
}

/** Notes in the item of a retry what has come of it, which the next item shows. */
export function settleRetry(before: Item | undefined, next: Item): void {
  if (before?.kind === "retry") before.hasFailed = next.kind === "notice" && next.level === "error";
}

/** Returns the item of a call. Creates it at the first event of the call: arguments stream before the call starts. */
export function ensureCall(s: Snapshot, callId: string, name = ""): ToolItem {
  const known = s.calls.get(callId);
  if (known) {
    if (name !== "") known.name = name;
    return known;
  }
  const item = addItem<ToolItem>(s, (index) => ({
    kind: "tool", id: callId, index, name, summary: "", ...lookOf({}), status: "writing", arguments: newPart(), part: newPart(),
  }));
  s.calls.set(callId, item);
  s.parts.set(`${callId}:args`, item.arguments).set(`${callId}:out`, item.part);
  s.partItem.set(`${callId}:args`, item).set(`${callId}:out`, item);
  return item;
}

export function ensureTextItem(s: Snapshot, partId: string, kind: "text" | "reasoning"): Part {
  const part = s.parts.get(partId) ?? newPart();
  s.parts.set(partId, part);
  // The item is added with the first text, so that an empty part leaves no empty item.
  if (part.length > 0 && !s.partItem.has(partId)) {
    s.partItem.set(partId, addItem<TextItem>(s, (index) => ({ kind, id: partId, index, part })));
  }
  markChanged(s, s.partItem.get(partId));
  return part;
}

/** Finds or creates the part for each kind of delta or open part. */
const partOf = {
  assistant_text: (s: Snapshot, id: string) => ensureTextItem(s, id, "text"),
  reasoning: (s: Snapshot, id: string) => ensureTextItem(s, id, "reasoning"),
  tool_call_args: (s: Snapshot, id: string, name?: string) => ensureCall(s, id.replace(/:args$/, ""), name).arguments,
  tool_call_output: (s: Snapshot, id: string) => ensureCall(s, id.replace(/:out$/, "")).part,
};

export type PartKind = keyof typeof partOf;

export function partKind(kind: string): string {
  return kind.replace(/_(delta|start)$/, "");
}

export function isPartKind(kind: string): kind is PartKind {
  return Object.hasOwn(partOf, kind);
}

interface Piece {
  readonly partId: string;
  readonly text: string;
  readonly name?: string;
}

/** Appends text to a part. */
export function appendText(s: Snapshot, kind: PartKind, piece: Piece): void {
  // In output deltas, `name` is the stream (stdout or stderr), not the tool.
  const name = kind === "tool_call_args" ? piece.name : undefined;
  const part = partOf[kind](s, piece.partId, name);
  part.text += piece.text;
  part.length += codePoints(piece.text);
  partOf[kind](s, piece.partId, name); // creates the item, now that there is text
  markChanged(s, s.partItem.get(piece.partId));
}

/** Replaces the text of an open part by its whole text so far. */
export function replaceOpenText(s: Snapshot, kind: PartKind, piece: Piece): void {
  const part = partOf[kind](s, piece.partId, kind === "tool_call_args" ? piece.name : undefined);
  if (!part.open) return;
  replaceText(part, piece.text);
  partOf[kind](s, piece.partId);
  markChanged(s, s.partItem.get(piece.partId));
}

export function endPart(s: Snapshot, data: EventData["reasoning_end"], kind: "text" | "reasoning"): void {
  const part = s.parts.get(data.partId) ?? newPart();
  s.parts.set(data.partId, part);
  replaceText(part, data.text);
  part.open = false;
  part.interrupted = data.interrupted;
  ensureTextItem(s, data.partId, kind);
}
