// Mirrors the package agent_ls/server/protocol: the methods, what we announce, and the shapes that we send and read.
// Names are those of the wire. Requests are in requests.ts, events in events.ts, what the chat alone reads in
// protocol_chat.ts, what the user is asked in protocol_approvals.ts, what the server asks of us in protocol_asked.ts. All
// are held against the server's schema, field by field (protocol_types.test.ts). It does not know that there is a connection.
import type { OwnerInfo } from "./events";
import type { ApprovalRequest, QuestionData } from "./protocol_approvals";
import type { Draft, StoredSnapshot } from "./protocol_chat";

export const VERSION = 1;
export const EVENT_METHOD = "agent/event";

/** What this client can do. `terminal`: commands of the server run in terminals of this window. */
export const ABILITIES = {
  version: VERSION,
  events: true,
  review: true,
  approvals: true,
  terminal: true,
  save: true,
  diagnostics: true,
  notebooks: true,
  language: true,
} as const;

export type Mode = "plan" | "ask" | "edits" | "full";
export type State = "IDLE" | "PROCESSING" | "AWAITING_INPUT" | "CLOSED";
export type HunkState = "proposed" | "pending" | "kept" | "undone" | "edited" | "stale" | "gone";
export type Verdict = "keep" | "undo";
export type Decision = "allow" | "deny";
/** How long a rule holds. */
export type RuleScope = "turn" | "session" | "project" | "user";
export type Scope = "once" | RuleScope;
export type ReviewMode = "after" | "before";

export interface TextInput {
  readonly type: "text";
  readonly text: string;
}

export interface FileInput {
  readonly type: "file";
  readonly uri: string;
}

/** Lines count from 0, `endLine` is exclusive. */
export interface SelectionInput {
  readonly type: "selection";
  readonly uri: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly text: string;
}

/** `data` is base64. */
export interface ImageInput {
  readonly type: "image";
  readonly mediaType: string;
  readonly data: string;
}

export interface FolderInput {
  readonly type: "folder";
  readonly uri: string;
}

/** The problems of a file; without `uri` all that are known. */
export interface DiagnosticsInput {
  readonly type: "diagnostics";
  readonly uri?: string;
}

/** A slash command of the server. */
export interface CommandInput {
  readonly type: "command";
  readonly name: string;
  readonly arguments?: string;
}

export type InputPart = TextInput | FileInput | SelectionInput | ImageInput | FolderInput | DiagnosticsInput | CommandInput;

export interface SessionInfo {
  readonly id: string;
  readonly title: string;
  readonly state: State;
  readonly provider: string;
  readonly model: string;
  readonly effort?: string;
  readonly mode: Mode;
  /** When changes are judged: once they are in the file, or before. */
  readonly review: ReviewMode;
  readonly workspaceFolder: string;
  readonly created: string;
  readonly updated: string;
  readonly lastSeq: number;
  readonly live: boolean;
  readonly access: "owner" | "readOnly";
  /** The process that has it open, when that is another. */
  readonly owner?: OwnerInfo;
  readonly isWalkthrough: boolean;
  readonly queue: readonly { readonly queuedId: string; readonly text: string; readonly images: number }[];
  readonly steering: readonly { readonly steerId: string; readonly text: string }[];
}

/** Ranges are lines [start, end) from 0: `newRange` in the current text, `oldRange` in the accepted one. */
export interface HunkInfo {
  readonly id: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly what: "content" | "create" | "delete";
  readonly state: HunkState;
  readonly oldRange: readonly [number, number];
  readonly newRange: readonly [number, number];
  readonly oldLines: readonly string[];
  readonly newLines: readonly string[];
  /** Hunks with the same one are decided together. */
  readonly link?: string;
  readonly laterTurnIds?: readonly string[];
}

export interface FileHunks {
  readonly uri: string;
  readonly baseHash: string;
  readonly version?: number;
  readonly hunks: readonly HunkInfo[];
}

export interface OpenPart {
  readonly partId: string;
  readonly kind: string;
  readonly text: string;
  /** Of the tool, for arguments. */
  readonly name: string;
  readonly agentId?: string;
}

/** A message of agent/event. Recorded events have `seq`; deltas have `after`, `partId` and `offset` instead. */
export interface AgentEvent {
  readonly sessionId: string;
  readonly kind: string;
  readonly timestamp: string;
  readonly turnId?: string;
  /** Of a subagent. */
  readonly agentId?: string;
  readonly seq?: number;
  readonly after?: number;
  readonly partId?: string;
  readonly offset?: number;
  readonly data: unknown;
}

export interface SubscribeResult {
  readonly clientId: string;
  readonly session: SessionInfo;
  readonly events: readonly AgentEvent[];
  readonly lastSeq: number;
  readonly openParts: readonly OpenPart[];
  /** In place of `events`, when there are more than was asked for. */
  readonly snapshot?: StoredSnapshot;
  readonly draft?: Draft;
  readonly pending: { readonly approvals: readonly ApprovalRequest[]; readonly questions: readonly QuestionData[]; readonly hunks: readonly FileHunks[] };
}

export interface TerminalInfo {
  readonly terminalId: string;
  readonly command: string;
  readonly pid?: number;
  readonly exitCode?: number;
  readonly startedMs: number;
  readonly background: boolean;
  readonly callId: string;
  /** For the user to type into it. */
  readonly waiting: boolean;
}

export interface Configuration {
  readonly provider?: string;
  readonly model?: string;
  readonly effort?: string;
  readonly mode?: Mode;
  readonly review?: ReviewMode;
}

/** Only those that are given are changed; 0 is no limit. */
export interface LimitChanges {
  readonly tokensPerInput?: number;
  readonly tokensPerSession?: number;
  readonly costUsdPerInput?: number;
  readonly costUsdPerSession?: number;
  readonly secondsPerInput?: number;
  readonly secondsPerSession?: number;
}

/** Lines and characters (UTF-16) from 0, characters 0 when they are left out; the end is exclusive. */
export interface TextRange {
  readonly startLine: number;
  readonly startCharacter?: number;
  readonly endLine: number;
  readonly endCharacter?: number;
}

export interface EditorState {
  readonly activeUri?: string;
  readonly selection?: TextRange;
  readonly visibleUris?: readonly string[];
  readonly unsynced?: readonly string[];
}

/** `severity` as in the language server protocol: 1 error, 2 warning, 3 information, 4 hint. */
export interface DiagnosticItem extends TextRange {
  readonly severity?: 1 | 2 | 3 | 4;
  readonly message: string;
  readonly source?: string;
  readonly code?: string | number;
}

/** What all other servers say of one file. `settled`: no more is expected for this version. */
export interface DiagnosticsReport {
  readonly uri: string;
  readonly version?: number;
  readonly settled?: boolean;
  readonly items: readonly DiagnosticItem[];
}

export interface Notifications {
  "agent/editorState": EditorState;
  "agent/diagnostics": DiagnosticsReport;
  /** The last one wins; an empty one is none. */
  "agent/draft": Partial<Draft> & { readonly sessionId: string };
}

/** What an error means to the user. `hint` says what to do next. */
export interface Problem {
  readonly message: string;
  readonly hint?: string;
  readonly kind?: string;
}

const METHOD_NOT_FOUND = -32601;

/** The server is older than this client: what it does not know is not offered, and not an error. */
export function isMethodNotFound(error: unknown): boolean {
  return typeof error === "object" && error !== null && (error as { code?: unknown }).code === METHOD_NOT_FOUND;
}

/** The problem that a JSON-RPC error, or any other failure, tells of. */
export function problemOf(error: unknown): Problem {
  if (typeof error !== "object" || error === null) return { message: String(error) };
  const { message, data } = error as { message?: unknown; data?: unknown };
  const told = typeof data === "object" && data !== null ? (data as Record<string, unknown>) : {};
  return {
    message: typeof message === "string" && message !== "" ? message : "The server gave an error without words.",
    ...(typeof told["hint"] === "string" && { hint: told["hint"] }),
    ...(typeof told["kind"] === "string" && { kind: told["kind"] }),
  };
}
