// Mirrors the package agent_ls/server/protocol: what the chat asks for besides events: history, drafts, models, commands, completion.
import type { EventData, FileAction, EventHunk, PlanData, RevertedData, RevertedFile, ToolCallResult, UsageData } from "./events";
import type { ApprovalRequest, Decision, InputPart, Mode, QuestionData, Scope } from "./protocol";

interface OfItem {
  readonly id: string;
  /** Of the event that began it. */
  readonly seq: number;
  readonly turnId: string;
  readonly timestamp: string;
  readonly agentId?: string | null;
}

interface StoredText {
  readonly partId: string;
  readonly text: string;
  readonly interrupted: boolean;
}

export interface TurnFile {
  readonly path: string;
  readonly uri: string;
  readonly action: FileAction;
  readonly added: number;
  readonly removed: number;
}

/** An item of a transcript as the server has folded it, by kind. */
export interface StoredItems {
  user: { readonly text: string };
  steer: { readonly steerId: string; readonly text: string; readonly status: "waiting" | "injected" | "removed" };
  text: StoredText;
  reasoning: StoredText;
  tool: {
    readonly callId: string;
    readonly name: string;
    readonly summary: string;
    readonly arguments: string;
    readonly status: "writing" | "running" | "done" | "failed";
    readonly result?: ToolCallResult | null;
    readonly terminalId?: string | null;
    readonly background?: boolean | null;
  };
  file: TurnFile & { readonly callId: string; readonly diff: string; readonly hunks?: readonly EventHunk[] };
  approval: {
    readonly request: ApprovalRequest;
    readonly status: "pending" | Decision;
    readonly reason?: string | null;
    readonly scope?: Scope | null;
  };
  retry: { readonly attempt: number; readonly delayMs: number; readonly text: string };
  notice: { readonly level: "info" | "warn" | "error"; readonly text: string; readonly hint?: string | null };
  question: { readonly asked: QuestionData; readonly status: "pending" | "answered" | "declined"; readonly answers?: readonly string[] | null };
  subagent: EventData["subagent"];
  reverted: RevertedData;
  end: { readonly reason: string; readonly files: readonly TurnFile[] };
}

export type StoredItem = { [K in keyof StoredItems]: { readonly kind: K } & OfItem & StoredItems[K] }[keyof StoredItems];

/** In place of events, when there would be too many: the newest items, newest first. */
export interface StoredSnapshot {
  readonly items: readonly StoredItem[];
  readonly more: boolean;
  readonly usage?: UsageData | null;
  readonly plan?: PlanData | null;
}

export interface HistoryResult {
  readonly items: readonly StoredItem[];
  readonly more: boolean;
}

/** What is written but not sent. */
export interface Draft {
  readonly text: string;
  readonly attachments: readonly InputPart[];
}

/** What is to be done to the queue: exactly one. */
export type QueueChange =
  | { readonly edit: { readonly queuedId: string; readonly input: readonly InputPart[] } }
  | { readonly move: { readonly queuedId: string; readonly before?: string } }
  | { readonly remove: string }
  | { readonly startNow: string };

export interface ProviderInfo {
  readonly id: string;
  readonly name: string;
  readonly hasKey: boolean;
  readonly keyVariable: string;
  readonly problem?: string | null;
}

/** Prices are USD per million tokens. */
export interface ModelInfo {
  readonly provider: string;
  readonly id: string;
  readonly name: string;
  readonly contextTokens?: number | null;
  readonly efforts: readonly string[];
  readonly isDefault: boolean;
  readonly inputPrice?: number | null;
  readonly outputPrice?: number | null;
  readonly images: boolean;
  /** Where a server without a key has just named it. */
  readonly address?: string | null;
}

export interface ModelsResult {
  readonly providers: readonly ProviderInfo[];
  readonly models: readonly ModelInfo[];
}

export interface CommandInfo {
  readonly name: string;
  readonly description: string;
  readonly argumentHint?: string | null;
}

export interface Completion {
  readonly kind: "file" | "folder" | "command" | "problems" | "selection";
  readonly label: string;
  readonly detail?: string | null;
  readonly part: InputPart;
}

export interface CompleteParams {
  readonly workspaceFolder?: string;
  readonly sessionId?: string;
  readonly trigger: "@" | "/";
  readonly query: string;
  readonly limit?: number;
}

export const MODES: readonly Mode[] = ["plan", "ask", "edits", "full"];

export interface RuleInfo {
  readonly id: string;
  readonly label: string;
  readonly scope: Scope;
  readonly hits: number;
}

/** What a roll back does, or would do, to a file. */
export interface RevertFile extends RevertedFile {
  readonly reason: string;
}

export interface RevertResult {
  readonly revertId: string;
  /** What was said there, to be written anew. */
  readonly inputText: string;
  readonly turns: readonly string[];
  readonly restoredTurns: readonly string[];
  readonly files: readonly RevertFile[];
}
