// The golden messages (tests/golden/protocol), which the tests of the server and of all clients use.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentEvent, EventData, EventKind, SubscribeResult, Tokens } from "../../connection/protocol";

export function golden(name: string): unknown {
  // The working folder is vscode-extension, because npm runs scripts there.
  return JSON.parse(readFileSync(join(process.cwd(), "../tests/golden/protocol", name), "utf8"));
}

export const sessionEvents = (golden("session.json") as { events: AgentEvent[] }).events;

export const accessEvent = (golden("access.json") as { event: AgentEvent }).event;

// Methods of the server that this client does not call: it steers by agent/submit with whenBusy, gets hunks by events,
// uses the trust of the editor, and the language client library requests the text of documents.
export const UNUSED_METHODS = ["agent/output", "workspace/textDocumentContent", "agent/trust"];

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
  readonly view: { readonly lastSeq: number; readonly state: string; readonly items: readonly Record<string, unknown>[]; readonly pending?: readonly string[]; readonly queue?: readonly string[] };
}

export const foldCases = (golden("folds.json") as { cases: FoldCase[] }).cases;

/** Returns the first event of a kind in the golden session. */
export function eventOf(kind: EventKind): AgentEvent {
  const found = sessionEvents.find((event) => event.kind === kind);
  if (!found) throw new Error(`no ${kind} in the golden session`);
  return found;
}

/** The usage report of a provider that counts only input and output tokens. */
export function tokens(inputTokens: number, outputTokens: number): Tokens {
  return { inputTokens, outputTokens, reasoningTokens: null, cacheReadTokens: null, cacheWriteTokens: null, reportedCostUsd: null };
}

/** How the server says that calls of some tools are shown. */
export const LOOKS = {
  read_file: { look: "read", doing: "Reading", done: "Read" },
  grep: { look: "search", doing: "Searching", done: "Searched" },
  shell: { look: "execute", doing: "Running", done: "Ran" },
  edit_file: { look: "edit", doing: "Editing", done: "Edited" },
} as const;

/** Creates a recorded event, with data of the type for its kind. */
export function recorded<K extends EventKind>(seq: number, kind: K, data: Partial<EventData[K]>): AgentEvent {
  return { sessionId: "s1", seq, kind, timestamp: "", data };
}

export function delta(kind: string, partId: string, offset: number, text: string, after = 0): AgentEvent {
  return { sessionId: "s1", kind, timestamp: "", partId, offset, after, data: { text } };
}
