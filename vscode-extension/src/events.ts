// Mirrors agent_ls/loop/events.py: the data of each kind of event.
import type { Decision, HunkState, State } from "./protocol";
import type { ApprovalRequest, QuestionData } from "./protocol_approvals";

/** A process that has a session open; `program` "" when it is not known what it is. */
export interface OwnerInfo {
  readonly pid: number;
  readonly host: string;
  readonly program: string;
}

/** A hunk as events tell it. Lines [start, end) from 0; `lines` with their endings. */
export interface EventHunk {
  readonly id: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly path: string;
  readonly uri: string;
  readonly what: "content" | "create" | "delete";
  readonly state: HunkState;
  readonly baseStart: number;
  readonly baseEnd: number;
  readonly start: number;
  readonly end: number;
  readonly baseLines: readonly string[];
  readonly lines: readonly string[];
  /** Hunks with the same one are decided together; "": by itself. */
  readonly link: string;
  readonly laterTurns: readonly string[];
}

export interface ToolCallResult {
  readonly callId: string;
  readonly name: string;
  readonly output: string;
  readonly summary: string;
  readonly isError: boolean;
  readonly errorKind: string;
  readonly durationMs: number;
  readonly outputChars: number;
  readonly outputRef: string;
  readonly exitCode: number | null;
  /** How much of it the model was given, where that is less. */
  readonly modelChars: number | null;
}

export interface QueuedData {
  readonly queuedId: string;
  readonly text: string;
  readonly clientKey: string;
  /** How many pictures go with it; the events of older logs do not say. */
  readonly images: number;
}

export type FileAction = "create" | "modify" | "delete";

interface PartEnd {
  readonly partId: string;
  readonly text: string;
  readonly interrupted: boolean;
}

interface Message {
  readonly message: string;
}

/** Of one call, or of all; null where the provider does not tell. */
export interface Tokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number | null;
  readonly cacheReadTokens: number | null;
  readonly cacheWriteTokens: number | null;
  readonly reportedCostUsd: number | null;
}

/** Costs in USD; null when a price is not known. */
export interface UsageData {
  readonly call: Tokens;
  readonly total: Tokens;
  readonly contextTokens: number;
  readonly contextWindowTokens: number;
  readonly context: ContextParts;
  readonly callCostUsd: number | null;
  readonly totalCostUsd: number | null;
  readonly calibration: number;
  readonly durationMs: number | null;
  readonly firstOutputMs: number | null;
}

export interface PlanStep {
  readonly text: string;
  readonly status: "pending" | "active" | "done";
}

export interface PlanData {
  readonly explanation: string;
  readonly items: readonly PlanStep[];
}

export interface RevertedFile {
  readonly path: string;
  readonly uri: string;
  readonly action: FileAction;
  readonly state: "restored" | "conflict" | "unknown";
}

export interface RevertedData {
  readonly revertId: string;
  readonly atTurnId: string;
  readonly conversation: boolean;
  readonly turns: readonly string[];
  readonly restoredTurns: readonly string[];
  readonly files: readonly RevertedFile[];
}

/** Tokens by what they are spent on. */
export interface ContextParts {
  readonly system: number;
  readonly tools: number;
  readonly documents: number;
  readonly history: number;
  readonly toolOutput: number;
}

/** What this client may do with the session from now on: an event without a number, of no log. */
export interface AccessData {
  readonly access: "owner" | "readOnly";
  readonly owner?: OwnerInfo;
}

export type EndReason = "completed" | "interrupted" | "limit" | "error" | "aborted" | "refused";

/** The data of each recorded kind; those of another version are skipped. */
export interface EventData {
  session_start: { readonly provider: string; readonly model: string; readonly workingDirectory: string; readonly resumed: boolean; readonly isWalkthrough: boolean };
  session_end: { readonly state: State; readonly reason: EndReason | "suspended" };
  state: { readonly state: State };
  title: { readonly title: string };
  user_input: { readonly text: string; readonly clientKey: string; readonly queuedId: string };
  processing_end: { readonly reason: EndReason };
  assistant_text_start: { readonly partId: string };
  assistant_text_end: PartEnd;
  reasoning_start: { readonly partId: string };
  reasoning_end: PartEnd;
  tool_call_start: { readonly callId: string; readonly index: number; readonly name: string; readonly arguments: string; readonly summary: string };
  tool_call_end: ToolCallResult;
  steering_queued: { readonly steerId: string; readonly text: string; readonly clientKey: string };
  steering_injected: { readonly steerId: string; readonly text: string };
  steering_removed: { readonly steerId: string };
  queue: { readonly items: readonly QueuedData[] };
  turn_limit: Message & { readonly limit: string; readonly count: number };
  loop_detection: Message;
  reverted: RevertedData;
  question_asked: QuestionData;
  question_answered: { readonly questionId: string; readonly answers: readonly string[]; readonly declined: boolean; readonly decidedBy: string; readonly clientKey: string };
  subagent: {
    readonly agentId: string;
    readonly status: "running" | "completed" | "failed";
    readonly callId: string;
    readonly task: string;
    readonly model: string;
    readonly workingDir: string;
    readonly reason: "" | "limit" | "refused" | "error" | "interrupted" | "closed";
    readonly output: string;
    readonly turnsUsed: number;
  };
  compaction: {
    readonly compactionId: string;
    readonly status: "started" | "done" | "failed" | "interrupted";
    readonly trigger: "auto" | "request" | "overflow";
    readonly strategy: "summarize" | "dropOldest" | "slidingWindow";
    readonly tokensBefore: number;
    readonly tokensAfter: number;
    readonly removed: number;
    readonly kept: number;
    readonly message: string;
    readonly summary: string;
    readonly clientKey: string;
  };
  rule_removed: { readonly ruleId: string };
  cache_lost: Message & { readonly reason: "model" | "tools" | "documents" | "instructions" | "compaction" | "provider"; readonly tokens: number };
  warning: Message & { readonly code: string };
  error: Message & { readonly errorKind: string; readonly hint: string; readonly retryable: boolean };
  retry: Message & { readonly errorKind: string; readonly attempt: number; readonly delayMs: number };
  usage: UsageData;
  plan: PlanData;
  file_change: {
    readonly callId: string;
    readonly path: string;
    readonly uri: string;
    readonly action: FileAction;
    readonly added: number;
    readonly removed: number;
    readonly diff: string;
    readonly hunks: readonly EventHunk[];
  };
  save_requested: { readonly callId: string; readonly paths: readonly string[] };
  diagnostics: { readonly callId: string; readonly files: readonly { readonly path: string; readonly uri: string; readonly problems: number; readonly isSettled: boolean }[] };
  hunk_state: { readonly path: string; readonly uri: string; readonly hunks: readonly EventHunk[]; readonly by: "user" | "editor" | "agent"; readonly comment: string };
  approval_requested: ApprovalRequest;
  approval_resolved: {
    readonly requestId: string;
    readonly decision: Decision;
    readonly scope: string;
    readonly decidedBy: string;
    readonly reason: string;
    readonly ruleId: string;
    readonly clientKey: string;
    /** What was run in place of the command that was asked about; "": that one. */
    readonly command: string;
  };
  terminal_open: { readonly terminalId: string; readonly callId: string; readonly title: string; readonly background: boolean };
  terminal_waiting: { readonly terminalId: string; readonly callId: string; readonly waiting: boolean };
  terminal_exit: { readonly terminalId: string; readonly exitCode: number | null };
}

export type EventKind = keyof EventData;

/** What `client_request` asks of this client. */
export interface ClientRequest {
  readonly requestId: string;
  readonly clientId: string;
  readonly what: string;
  /** By `what`: protocol_asked.ts. */
  readonly params: object;
  readonly deadlineMs: number;
}

/** The data of each kind that is in no log, and has no number. */
export interface UnrecordedData {
  client_request: ClientRequest;
  access: AccessData;
}

/** A piece of a part that is open; `name` is the tool's for arguments, the stream's for output. */
export interface DeltaData {
  readonly text: string;
  readonly name?: string;
}
