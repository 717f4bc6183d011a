// Mirrors the package agent_ls/server/protocol: what the chat asks for besides events: history, drafts, models, commands, completion.
import type { EndReason, EventData, FileAction, PlanData, RevertedData, RevertedFile, ToolCallResult, UsageData } from "./events";
import type { Decision, InputPart, Mode, RuleScope, SessionInfo } from "./protocol";
import type { ApprovalRequest, QuestionData } from "./protocol_approvals";

interface OfItem {
  readonly id: string;
  /** Of the event that began it. */
  readonly seq: number;
  readonly turnId: string;
  readonly timestamp: string;
  readonly agentId?: string;
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
    readonly status: "running" | "done" | "failed";
    readonly result?: ToolCallResult;
    readonly terminalId?: string;
    readonly background?: boolean;
  };
  file: EventData["file_change"];
  approval: {
    readonly request: ApprovalRequest;
    readonly status: "pending" | Decision;
    readonly reason?: string;
    readonly scope?: string;
    readonly decidedBy?: string;
  };
  retry: { readonly attempt: number; readonly delayMs: number; readonly text: string };
  notice: { readonly level: "info" | "warn" | "error"; readonly text: string; readonly hint?: string };
  question: { readonly asked: QuestionData; readonly status: "pending" | "answered" | "declined"; readonly answers?: readonly string[]; readonly decidedBy?: string };
  subagent: EventData["subagent"];
  reverted: RevertedData;
  end: { readonly reason: EndReason; readonly files: readonly TurnFile[] };
}

export type StoredItem = { [K in keyof StoredItems]: { readonly kind: K } & OfItem & StoredItems[K] }[keyof StoredItems];

/** In place of events, when there would be too many: the newest items, newest first. */
export interface StoredSnapshot {
  readonly items: readonly StoredItem[];
  readonly more: boolean;
  readonly usage?: UsageData;
  readonly plan?: PlanData;
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
  | { readonly edit: { readonly queuedId: string; readonly input: readonly InputPart[]; readonly keepImages?: boolean } }
  | { readonly move: { readonly queuedId: string; readonly before?: string } }
  | { readonly remove: string }
  | { readonly startNow: string };

export interface ProviderInfo {
  readonly id: string;
  readonly name: string;
  readonly hasKey: boolean;
  readonly keyVariable: string;
  readonly problem?: string;
}

/** Prices are USD per million tokens. */
export interface ModelInfo {
  readonly provider: string;
  readonly id: string;
  readonly name: string;
  readonly contextTokens?: number;
  readonly maxOutputTokens?: number;
  readonly efforts: readonly string[];
  readonly isDefault: boolean;
  readonly inputPrice?: number;
  readonly outputPrice?: number;
  readonly images: boolean;
  /** Where a server without a key has just named it. */
  readonly address?: string;
}

export interface ModelsResult {
  /** Used where nothing is chosen. */
  readonly defaultProvider: string;
  readonly providers: readonly ProviderInfo[];
  readonly models: readonly ModelInfo[];
}

export interface CommandInfo {
  readonly name: string;
  readonly description: string;
  readonly argumentHint?: string;
}

export interface Completion {
  readonly kind: "file" | "folder" | "command" | "problems" | "selection";
  readonly label: string;
  readonly detail?: string;
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
  readonly scope: RuleScope;
  /** The folder that it is for (scope `project`). */
  readonly workspace?: string;
  readonly hits: number;
  readonly created?: string;
  readonly used?: string;
}

/** What a roll back does, or would do, to a file. */
export interface RevertFile extends Omit<RevertedFile, "state"> {
  readonly state: RevertedFile["state"] | "planned";
  readonly diff: string;
  readonly reason: string;
  /** Lines [start, end) of the current text that are not as the agent left them. */
  readonly conflicts: readonly { readonly start: number; readonly end: number; readonly reason: string }[];
}

export interface RevertResult {
  readonly session: SessionInfo;
  readonly revertId: string;
  /** What was said there, to be written anew. */
  readonly inputText: string;
  readonly turns: readonly string[];
  readonly restoredTurns: readonly string[];
  readonly files: readonly RevertFile[];
}
