// Texts that grow (parts), and the items they belong to. Pure; folds.ts says which event does what to them.
import type { EventData } from "./events";
import type { Item, Part, Snapshot, TextItem, ToolItem } from "./items";

/** Offsets count code points, as Python's strings do; ours count half of some. */
export function codePoints(text: string): number {
  return text.length - (text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0);
}

export function newPart(text = ""): Part {
  return { text, length: codePoints(text), open: true, interrupted: false, revision: 0 };
}

export function replaceText(part: Part, text: string): void {
  // What streamed is kept where it is equal, so that a view has nothing to redo.
  if (part.text === text) return;
  part.text = text;
  part.length = codePoints(text);
  part.revision += 1;
}

export function touch(s: Snapshot, item: Item | undefined): void {
  if (item) s.touched.add(item.index);
}

export function add<T extends Item>(s: Snapshot, make: (index: number) => T): T {
  const item = make(s.first + s.items.length);
  if (item.turnId === undefined && s.now.turnId !== undefined) item.turnId = s.now.turnId;
  if (item.agentId === undefined && s.now.agentId !== undefined) item.agentId = s.now.agentId;
  s.items.push(item);
  s.touched.add(item.index);
  return item;
}

/** The item of a call, made when it is first heard of: arguments stream before the call itself starts. */
export function call(s: Snapshot, callId: string, name = ""): ToolItem {
  const known = s.calls.get(callId);
  if (known) {
    if (name !== "") known.name = name;
    return known;
  }
  const item = add<ToolItem>(s, (index) => ({
    kind: "tool", id: callId, index, name, summary: "", status: "writing", arguments: newPart(), part: newPart(),
  }));
  s.calls.set(callId, item);
  s.parts.set(`${callId}:args`, item.arguments).set(`${callId}:out`, item.part);
  s.partItem.set(`${callId}:args`, item).set(`${callId}:out`, item);
  return item;
}

export function textPart(s: Snapshot, partId: string, kind: "text" | "reasoning"): Part {
  const part = s.parts.get(partId) ?? newPart();
  s.parts.set(partId, part);
  // The item comes with the first text, so that an empty part leaves no empty place in the transcript.
  if (part.length > 0 && !s.partItem.has(partId)) {
    s.partItem.set(partId, add<TextItem>(s, (index) => ({ kind, id: partId, index, part })));
  }
  touch(s, s.partItem.get(partId));
  return part;
}

/** How the part of each kind (of delta, or open part) is found or made. */
const partOf = {
  assistant_text: (s: Snapshot, id: string) => textPart(s, id, "text"),
  reasoning: (s: Snapshot, id: string) => textPart(s, id, "reasoning"),
  tool_call_args: (s: Snapshot, id: string, name?: string) => call(s, id.replace(/:args$/, ""), name).arguments,
  tool_call_output: (s: Snapshot, id: string) => call(s, id.replace(/:out$/, "")).part,
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

/** Text at the end of a part. */
export function extend(s: Snapshot, kind: PartKind, piece: Piece): void {
  // The output's `name` is the stream it came from, not the tool's.
  const name = kind === "tool_call_args" ? piece.name : undefined;
  const part = partOf[kind](s, piece.partId, name);
  part.text += piece.text;
  part.length += codePoints(piece.text);
  partOf[kind](s, piece.partId, name); // now that it has text, it has an item
  touch(s, s.partItem.get(piece.partId));
}

/** The whole text so far of an open part, in place of what was here. */
export function reopen(s: Snapshot, kind: PartKind, piece: Piece): void {
  const part = partOf[kind](s, piece.partId, kind === "tool_call_args" ? piece.name : undefined);
  if (!part.open) return;
  replaceText(part, piece.text);
  partOf[kind](s, piece.partId);
  touch(s, s.partItem.get(piece.partId));
}

export function endPart(s: Snapshot, data: EventData["reasoning_end"], kind: "text" | "reasoning"): void {
  const part = s.parts.get(data.partId) ?? newPart();
  s.parts.set(data.partId, part);
  replaceText(part, data.text);
  part.open = false;
  part.interrupted = data.interrupted;
  textPart(s, data.partId, kind);
}
