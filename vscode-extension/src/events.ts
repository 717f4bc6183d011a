// Mirrors agent_ls/loop/events.py: the data of each kind of recorded event, as far as a client reads it.
import type { ApprovalRequest, Decision, HunkState, InputPart, QuestionData, Scope, State } from "./protocol";

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
  readonly uri?: string;
  readonly what: "content" | "create" | "delete";
  readonly state: HunkState;
  readonly baseStart: number;
  readonly baseEnd: number;
  readonly start: number;
  readonly end: number;
  readonly baseLines: readonly string[];
  readonly lines: readonly string[];
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
  readonly exitCode?: number | null;
}

/** `input` is what `text` was made of, from a server that tells it. */
export interface QueuedData {
  readonly queuedId: string;
  readonly text: string;
  readonly input?: readonly InputPart[];
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

/** Costs in USD; null when a price is not known. */
export interface UsageData {
  readonly total: { readonly inputTokens: number; readonly outputTokens: number; readonly cacheReadTokens?: number | null };
  readonly contextTokens: number;
  readonly contextWindowTokens: number;
  readonly context?: ContextParts;
  readonly callCostUsd?: number | null;
  readonly totalCostUsd?: number | null;
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
  readonly uri?: string;
  readonly action: FileAction;
  readonly state: "planned" | "restored" | "conflict" | "unknown";
}

export interface RevertedData {
  readonly revertId: string;
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
  readonly owner?: OwnerInfo | null;
}

/** The data of each kind that we fold; other kinds are skipped. */
export interface EventData {
  session_start: { readonly provider: string; readonly model: string; readonly resumed: boolean; readonly isWalkthrough: boolean };
  session_end: { readonly state: State; readonly reason: string };
  state: { readonly state: State };
  title: { readonly title: string };
  user_input: { readonly text: string };
  processing_end: { readonly reason: string };
  assistant_text_start: { readonly partId: string };
  assistant_text_end: PartEnd;
  reasoning_start: { readonly partId: string };
  reasoning_end: PartEnd;
  tool_call_start: { readonly callId: string; readonly name: string; readonly arguments: string; readonly summary: string };
  tool_call_end: ToolCallResult;
  steering_queued: { readonly steerId: string; readonly text: string };
  steering_injected: { readonly steerId: string; readonly text: string };
  steering_removed: { readonly steerId: string };
  queue: { readonly items: readonly QueuedData[] };
  turn_limit: Message;
  loop_detection: Message;
  reverted: RevertedData;
  question_asked: QuestionData;
  question_answered: { readonly questionId: string; readonly answers: readonly string[]; readonly declined: boolean };
  subagent: {
    readonly agentId: string;
    readonly status: "running" | "completed" | "failed";
    readonly task: string;
    readonly reason: string;
    readonly output: string;
    readonly turnsUsed: number;
  };
  compaction: {
    readonly compactionId: string;
    readonly status: "started" | "done" | "failed" | "interrupted";
    readonly message: string;
    readonly summary: string;
  };
  rule_removed: { readonly ruleId: string };
  cache_lost: { readonly message: string };
  warning: Message;
  error: Message & { readonly hint: string };
  retry: Message & { readonly attempt: number; readonly delayMs: number };
  usage: UsageData;
  plan: PlanData;
  file_change: {
    readonly callId: string;
    readonly path: string;
    readonly uri?: string;
    readonly action: FileAction;
    readonly added: number;
    readonly removed: number;
    readonly diff: string;
    readonly hunks?: readonly EventHunk[];
  };
  save_requested: { readonly callId: string; readonly paths: readonly string[] };
  diagnostics: { readonly callId: string; readonly files: readonly { readonly path: string; readonly uri?: string; readonly problems: number; readonly isSettled: boolean }[] };
  hunk_state: { readonly path: string; readonly uri?: string; readonly hunks: readonly EventHunk[] };
  approval_requested: ApprovalRequest;
  approval_resolved: {
    readonly requestId: string;
    readonly decision: Decision;
    readonly scope: Scope;
    readonly decidedBy: string;
    readonly reason: string;
  };
  terminal_open: { readonly terminalId: string; readonly callId: string; readonly title: string; readonly background: boolean };
  terminal_waiting: { readonly terminalId: string; readonly callId: string; readonly waiting: boolean };
  terminal_exit: { readonly terminalId: string; readonly exitCode?: number | null };
}

export type EventKind = keyof EventData;

/** What `client_request` asks of this client (never recorded). */
export interface ClientRequest {
  readonly requestId: string;
  readonly what: string;
  readonly params?: unknown;
}
