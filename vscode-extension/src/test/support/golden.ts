// The golden messages that the tests of all languages read (tests/golden/protocol).
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentEvent, EventData, EventKind, SubscribeResult, Tokens } from "../../connection/protocol";

export function golden(name: string): unknown {
  // npm runs scripts in the extension's folder.
  return JSON.parse(readFileSync(join(process.cwd(), "../tests/golden/protocol", name), "utf8"));
}

export const sessionEvents = (golden("session.json") as { events: AgentEvent[] }).events;

export const accessEvent = (golden("access.json") as { event: AgentEvent }).event;

// Of what the server offers, what this client has no use for: `agent/submit` with whenBusy steers, hunks come as events,
// trust is the editor's own, and the text of a document is asked for by the library of the language client.
export const UNSPOKEN = ["agent/steer", "agent/hunks", "agent/output", "workspace/textDocumentContent", "agent/trust"];

interface Example {
  readonly method: string;
  readonly params: unknown;
  readonly result: unknown;
}

export const examples = (golden("requests.json") as { requests: Example[] }).requests;

export interface FoldCase {
  readonly name: string;
  readonly steps: readonly { readonly event?: AgentEvent; readonly subscribed?: SubscribeResult }[];
  readonly outcomes: readonly string[];
  readonly view: { readonly lastSeq: number; readonly state: string; readonly items: readonly Record<string, unknown>[]; readonly pending?: readonly string[] };
}

export const foldCases = (golden("folds.json") as { cases: FoldCase[] }).cases;

/** The data of the first event of a kind. */
export function eventOf(kind: EventKind): AgentEvent {
  const found = sessionEvents.find((event) => event.kind === kind);
  if (!found) throw new Error(`no ${kind} in the golden session`);
  return found;
}

/** The usage report of a provider that counts only input and output tokens. */
export function tokens(inputTokens: number, outputTokens: number): Tokens {
  return { inputTokens, outputTokens, reasoningTokens: null, cacheReadTokens: null, cacheWriteTokens: null, reportedCostUsd: null };
}

/** A recorded event, with data that fits its kind. */
export function recorded<K extends EventKind>(seq: number, kind: K, data: Partial<EventData[K]>): AgentEvent {
  return { sessionId: "s1", seq, kind, timestamp: "", data };
}

export function delta(kind: string, partId: string, offset: number, text: string, after = 0): AgentEvent {
  return { sessionId: "s1", kind, timestamp: "", partId, offset, after, data: { text } };
}
