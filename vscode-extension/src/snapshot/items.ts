// Types of a snapshot and of the items of a transcript, shared with the webview.
import type { ApprovalRequested, ContextParts, Decision, DraftInfo, FileAction, FileSum, HunkState, InputPart, PlanChanged, Reverted, SessionInfo, State, ToolCallEnd, TurnFacts } from "../connection/protocol";
import type { Action } from "../commands/failure_actions";
import type { Look } from "./tool_words";

/** A streamed text. `length` counts code points, as offsets do; `revision` changes when the text was replaced. */
export interface Part {
  text: string;
  length: number;
  open: boolean;
  interrupted: boolean;
  revision: number;
}

export interface Entry {
  /** Stays the same after a reload. */
  readonly id: string;
  /** Index in the transcript: Snapshot.items[index - Snapshot.first]. Negative for items added from the history. */
  readonly index: number;
  turnId?: string;
  /** The subagent that the item belongs to. */
  agentId?: string;
  /** Whether the item was rolled back, so that the model no longer has it. */
  isOut?: boolean;
}

export interface UserItem extends Entry {
  readonly kind: "user";
  /** The text for the model. */
  readonly text: string;
  /** The parts of the message, if this window sent it. */
  parts?: readonly InputPart[];
}

export interface TextItem extends Entry {
  readonly kind: "text" | "reasoning";
  readonly part: Part;
}

export interface ToolItem extends Entry {
  readonly kind: "tool";
  name: string;
  summary: string;
  look: Look["look"];
  doing: string;
  done: string;
  status: "writing" | "running" | "done" | "failed";
  readonly arguments: Part;
  /** The output of the call. */
  readonly part: Part;
  result?: ToolCallEnd;
  terminalId?: string;
  background?: boolean;
}

export interface FileItem extends Entry {
  readonly kind: "file";
  path: string;
  uri: string;
  action: FileAction;
  added: number;
  removed: number;
  diff: string;
  hunkIds: readonly string[];
  readonly callId: string;
  /** The earlier path, if the call moved the file unchanged. */
  movedFrom?: string;
  /** Whether the item is a proposal, which is not in the file until it is accepted. */
  readonly isProposal?: boolean;
}

export interface ApprovalItem extends Entry {
  readonly kind: "approval";
  readonly request: ApprovalRequested;
  readonly summary: string;
  status: "pending" | Decision;
  reason?: string;
  scope?: string;
  /** Who decided; "interrupt" if the turn was stopped before an answer. */
  decidedBy?: string;
  /** The command that the user ran instead of the requested one. */
  command?: string;
}

export interface SteerItem extends Entry {
  readonly kind: "steer";
  readonly text: string;
  parts?: readonly InputPart[];
  status: "waiting" | "injected" | "removed";
}

export interface RetryItem extends Entry {
  readonly kind: "retry";
  attempt: number;
  delayMs: number;
  text: string;
  /** Whether the last attempt failed too; undefined while it is awaited. */
  hasFailed?: boolean;
}

export interface NoticeItem extends Entry {
  readonly kind: "notice";
  readonly level: Level;
  readonly text: string;
  hint?: string;
  /** Actions for the user; they are removed when the next message is sent. */
  actions?: readonly Action[];
}

/** The end of a turn, and the files that it changed. */
export interface EndItem extends Entry {
  readonly kind: "end";
  turnId: string;
  readonly reason: string;
  readonly files: readonly FileSum[];
  readonly facts?: TurnFacts;
}

export interface QuestionItem extends Entry {
  readonly kind: "question";
  readonly text: string;
  readonly choices: readonly string[];
  readonly multiple: boolean;
  /** The turn has reached a limit, and only a choice is an answer. */
  readonly isLimit: boolean;
  status: "pending" | "answered" | "declined";
  answers: readonly string[];
}

/** A subagent; its id is the item's id. */
export interface SubagentItem extends Entry {
  readonly kind: "subagent";
  status: "running" | "completed" | "failed";
  task: string;
  reason: string;
  output: string;
  turns: number;
}

/** A compaction: the conversation is summarised to free context. */
export interface CompactionItem extends Entry {
  readonly kind: "compaction";
  status: "started" | "done" | "failed" | "interrupted";
  text: string;
  summary: string;
}

export interface RevertedItem extends Entry {
  readonly kind: "reverted";
  readonly data: Reverted;
}

export type Level = "info" | "warn" | "error";
export type Item = UserItem | TextItem | ToolItem | FileItem | ApprovalItem | SteerItem | RetryItem | NoticeItem | EndItem | QuestionItem | SubagentItem | CompactionItem | RevertedItem;

/** A hunk, converted from either wire format. Lines from 0, [first, last), texts without line ends. */
export interface Hunk {
  readonly id: string;
  readonly uri: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly what: "content" | "create" | "delete";
  readonly state: HunkState;
  /** Whether the user has looked at exactly this text; absent if not. */
  readonly looked?: true;
  readonly first: number;
  readonly last: number;
  readonly oldLines: readonly string[];
  readonly newLines: readonly string[];
  /** The same for hunks that are decided together, such as both ends of a move; absent if it is decided alone. */
  readonly link?: string;
  /** The parts in the cells of a notebook; absent if the file is not a notebook, or the parts are not known. */
  readonly cells?: readonly HunkCell[] | undefined;
}

/** A part of a notebook's hunk: lines [first, last) of a cell. A hunk can have several parts in one cell. */
export interface HunkCell {
  /** Index of the cell in the notebook. */
  readonly cell: number;
  /** The cell's document, if the notebook is open. */
  readonly uri?: string;
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
  /** Start time by this machine's clock; undefined if the command was running before this window subscribed. */
  readonly sinceMs?: number;
  /** Whether the command waits for input. */
  waiting?: boolean;
  exitCode?: number | null;
}

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly contextTokens: number;
  readonly contextWindowTokens: number;
  /** In USD; null if a price is unknown. */
  readonly totalCostUsd: number | null;
  /** Use of the context in tokens; undefined if the server does not report it. */
  readonly parts?: ContextParts;
}

export type Activity = "working" | "waiting" | "idle" | "closed";

/** The state of a session, reduced from its events. Views only read it. */
export interface Snapshot {
  session: Partial<SessionInfo>;
  state: State;
  /** The last server process ended while the turn waited for the user. The next process continues the turn. */
  suspended: boolean;
  lastSeq: number;
  items: Item[];
  /** The index of items[0]: 0, or negative if older ones were fetched. */
  first: number;
  /** Whether the server has items before items[0]. They have a seq below `oldestSeq`. */
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
  /** The turn and the agent to which items are assigned that the current event adds. */
  now: { readonly turnId?: string; readonly agentId?: string };
  queue: SessionInfo["queue"];
  hunks: Map<string, Hunk>;
  hunkItem: Map<string, FileItem>;
  /** Earlier paths of files that were moved unchanged, by current URI. */
  moves: Map<string, { readonly path: string; readonly uri: string }>;
  terminals: Map<string, Terminal>;
  /** Files that each turn changed, by turn and uri. */
  turnFiles: Map<string, Map<string, FileSum>>;
  ends: Map<string, EndItem>;
  /** What the running turn has checked, until it ends. */
  facts?: TurnFacts;
  usage?: Usage;
  plan?: PlanChanged;
  /** The draft of the prompt, as stored by the server or last sent by the page. */
  draft?: DraftInfo;
  /** The message being sent. */
  sending?: readonly InputPart[];
  /** Describes the step that must end before the agent can begin, such as the start of the server. */
  progress?: string;
  /** Whether the session was closed because its turn failed. The next message opens it again. */
  hasFailed: boolean;
  /** Failures that the user can still act on. */
  troubles: NoticeItem[];
  /** Indexes of items that changed since the last takeChangedItems. */
  touched: Set<number>;
}
