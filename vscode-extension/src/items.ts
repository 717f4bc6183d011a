// The entries of a transcript and what else a snapshot holds: shapes only, shared with the webview.
import type { ContextParts, FileAction, PlanData, RevertedData, ToolCallResult } from "./events";
import type { Decision, HunkState, SessionInfo, State } from "./protocol";
import type { ApprovalRequest } from "./protocol_approvals";
import type { Draft, TurnFile } from "./protocol_chat";

/** Text that grows. `length` counts code points, as offsets do; `revision` changes when text was replaced. */
export interface Part {
  text: string;
  length: number;
  open: boolean;
  interrupted: boolean;
  revision: number;
}

export interface Entry {
  /** Stable over a reload. */
  readonly id: string;
  /** Its place in the transcript: Snapshot.items[index - Snapshot.first]. Below 0: it came from the history later. */
  readonly index: number;
  turnId?: string;
  /** It is about what this subagent does. */
  agentId?: string;
  /** It was rolled back: the model knows nothing of it. */
  isOut?: boolean;
}

export interface UserItem extends Entry {
  readonly kind: "user";
  readonly text: string;
}

export interface TextItem extends Entry {
  readonly kind: "text" | "reasoning";
  readonly part: Part;
}

export interface ToolItem extends Entry {
  readonly kind: "tool";
  name: string;
  summary: string;
  status: "writing" | "running" | "done" | "failed";
  readonly arguments: Part;
  /** Its output. */
  readonly part: Part;
  result?: ToolCallResult;
  terminalId?: string;
  background?: boolean;
}

export interface FileItem extends Entry {
  readonly kind: "file";
  readonly path: string;
  readonly uri: string;
  readonly action: FileAction;
  readonly added: number;
  readonly removed: number;
  readonly diff: string;
  readonly hunkIds: readonly string[];
}

export interface ApprovalItem extends Entry {
  readonly kind: "approval";
  readonly request: ApprovalRequest;
  readonly summary: string;
  status: "pending" | Decision;
  reason?: string;
  scope?: string;
}

export interface SteerItem extends Entry {
  readonly kind: "steer";
  readonly text: string;
  status: "waiting" | "injected" | "removed";
}

export interface RetryItem extends Entry {
  readonly kind: "retry";
  attempt: number;
  delayMs: number;
  text: string;
}

export interface NoticeItem extends Entry {
  readonly kind: "notice";
  readonly level: Level;
  readonly text: string;
  readonly hint?: string;
}

/** The end of a turn, and the files that it changed. */
export interface EndItem extends Entry {
  readonly kind: "end";
  turnId: string;
  readonly reason: string;
  readonly files: readonly TurnFile[];
}

export interface QuestionItem extends Entry {
  readonly kind: "question";
  readonly text: string;
  readonly choices: readonly string[];
  readonly multiple: boolean;
  status: "pending" | "answered" | "declined";
  answers: readonly string[];
}

/** A helper of the agent: its id is the item's. */
export interface SubagentItem extends Entry {
  readonly kind: "subagent";
  status: "running" | "completed" | "failed";
  task: string;
  reason: string;
  output: string;
  turns: number;
}

/** The conversation is summed up, to make room. */
export interface CompactionItem extends Entry {
  readonly kind: "compaction";
  status: "started" | "done" | "failed" | "interrupted";
  text: string;
  summary: string;
}

export interface RevertedItem extends Entry {
  readonly kind: "reverted";
  readonly data: RevertedData;
}

export type Level = "info" | "warn" | "error";
export type Item = UserItem | TextItem | ToolItem | FileItem | ApprovalItem | SteerItem | RetryItem | NoticeItem | EndItem | QuestionItem | SubagentItem | CompactionItem | RevertedItem;

/** A hunk in one shape, whichever message brought it. Lines from 0, [first, last), texts without line ends. */
export interface Hunk {
  readonly id: string;
  readonly uri: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly what: "content" | "create" | "delete";
  readonly state: HunkState;
  readonly first: number;
  readonly last: number;
  readonly oldLines: readonly string[];
  readonly newLines: readonly string[];
}

export interface Terminal {
  readonly id: string;
  readonly callId: string;
  readonly title: string;
  readonly background: boolean;
  running: boolean;
  /** For somebody to type. */
  waiting?: boolean;
  exitCode?: number | null;
}

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly contextTokens: number;
  readonly contextWindowTokens: number;
  /** In USD; null when a price is not known. */
  readonly totalCostUsd: number | null;
  /** What fills the context, in tokens; undefined: the server does not tell. */
  readonly parts?: ContextParts;
}

export type Activity = "working" | "waiting" | "idle" | "closed";

/** One session as its events tell it. Made and changed by snapshot.ts and folds.ts only. */
export interface Snapshot {
  session: Partial<SessionInfo>;
  state: State;
  /** Its last process ended while the turn waited for the user; the next one goes on with it. */
  suspended: boolean;
  lastSeq: number;
  items: Item[];
  /** The index of items[0]: 0, or less when older ones were fetched. */
  first: number;
  /** The server has items before items[0]: those with a seq below `oldestSeq`. */
  more: boolean;
  oldestSeq: number;
  parts: Map<string, Part>;
  partItem: Map<string, TextItem | ToolItem>;
  calls: Map<string, ToolItem>;
  requests: Map<string, ApprovalItem>;
  steers: Map<string, SteerItem>;
  questions: Map<string, QuestionItem>;
  agents: Map<string, SubagentItem>;
  compactions: Map<string, CompactionItem>;
  /** What the entries that an event makes belong to. */
  now: { readonly turnId?: string; readonly agentId?: string };
  queue: SessionInfo["queue"];
  hunks: Map<string, Hunk>;
  hunkItem: Map<string, FileItem>;
  terminals: Map<string, Terminal>;
  /** Files that each turn changed, by turn and uri. */
  turnFiles: Map<string, Map<string, TurnFile>>;
  ends: Map<string, EndItem>;
  usage?: Usage;
  plan?: PlanData;
  /** What the prompt holds, as the server kept it or the page told last. */
  draft?: Draft;
  /** Indexes of items that changed since the last drain. */
  touched: Set<number>;
}
