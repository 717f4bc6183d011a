// The protocol of this client: method names, announced capabilities, short names for the types in src/wire, and
// conversion of errors. The types in src/wire are generated from the server's types. The types here select from
// them or narrow them.
import type { ClientRequests } from "../wire/asked";
import type { EventData, UnrecordedData } from "../wire/events";
import type * as wire from "../wire/objects";
import type { Requests } from "../wire/requests";

export type { ClientRequests } from "../wire/asked";
export type { DeltaData, Event as AgentEvent, EventData, UnrecordedData } from "../wire/events";
export type {
  ActionEdits, ApprovalRequested, BlameResult, CodeActions, CodeCalls, CodeLocations, CodeSymbol, CodeSymbols, CommandInfo, CommandInput, Completion, ContextParts, Diagnostic, Diagnostics,
  DocumentEdits, DraftInfo, EditorSelection, EditorState, FileHunks, FileSum, GuideRow, HoverTexts, HunkInfo, InputPart, McpServerInfo, ModelsResult, NamedDocument, NewCell,
  BroughtFile, OwnerInfo, PlanChanged, QuestionAsked, RenameEdits, RevertFile, RevertResult, Reverted, ReviewResult, RuleInfo, RuleOffer, Saved,
  SessionInfo, SubscribeResult, TerminalInfo, TerminalTextInput, ToolCallEnd, TurnFacts, UsageReport,
} from "../wire/objects";
export type { Requests } from "../wire/requests";

export const VERSION = 1;
export const EVENT_METHOD = "agent/event";
/** Notification with the positions of a file's open hunks (FileHunks), sent after its text has changed. */
export const MOVED_METHOD = "agent/hunksMoved";

/** Capabilities of this client. `terminal`: commands of the server can run in terminals of this window. */
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
  details: true,
} as const;

/** The modes, and what is asked about in each. */
export const MODE_WORDS = {
  plan: "reads only",
  ask: "asks before commands, and once before edits",
  edits: "asks before commands",
  full: "asks only for actions that always need approval",
} as const satisfies Record<Mode, string>;
export const MODES = Object.keys(MODE_WORDS) as readonly Mode[];

export type Method = keyof Requests;
export type EventKind = keyof EventData;
export type Mode = wire.SessionInfo["mode"];
export type ReviewMode = wire.SessionInfo["review"];
export type State = wire.SessionInfo["state"];
export type HunkState = wire.HunkInfo["state"];
export type FileAction = wire.FileChange["action"];
export type Verdict = wire.Review["verdict"];
export type Decision = wire.Approve["decision"];
export type EventHunk = wire.Hunk;
export type StoredItem = wire.Item;
export type StoredSnapshot = wire.Snapshot;
export type Tokens = wire.UsageReport["call"];
export type ClientRequest = UnrecordedData["client_request"];
export type AccessData = UnrecordedData["access"];

type KeyOfAny<T> = T extends unknown ? keyof T : never;

/** The effect of an approval request, with the fields of all kinds of effect. Each kind has only some of the fields. */
export type Effect = { readonly [K in KeyOfAny<wire.Effect>]?: wire.Effect extends infer E ? (E extends Partial<Record<K, infer V>> ? V : never) : never };

export function effectOf({ effect }: wire.ApprovalRequested): Effect {
  return effect;
}

/** Parameters for a new session. */
export type NewSessionChoice = Configuration & Pick<wire.NewSession, "worktree">;
export type Configuration = Pick<wire.Configure, "provider" | "model" | "effort" | "mode" | "review">;
export type ApproveAnswer = Omit<wire.Approve, "sessionId" | "requestId" | "clientKey">;

type OneOf<T, K extends keyof T> = { [P in K]: Readonly<Record<P, Exclude<T[P], undefined>>> }[K];

/** Selects hunks by exactly one of these fields. */
export type ReviewSelector = OneOf<wire.Review, "hunkIds" | "uri" | "turnId" | "sessionId">;
export type Review = ReviewSelector & Pick<wire.Review, "verdict" | "comment" | "confirm" | "lines" | "replacement">;
export type QueueChange = OneOf<wire.Queue, "edit" | "move" | "remove" | "startNow">;

/** Notifications to the server. */
export type Notifications = { readonly [M in "agent/editorState" | "agent/diagnostics" | "agent/draft" | "agent/looked"]: Requests[M]["params"] };

/** Handlers for the server's requests to this client. */
export type Answerers = { readonly [W in keyof ClientRequests]: (params: ClientRequests[W]["params"]) => ClientRequests[W]["result"] | Promise<ClientRequests[W]["result"]> };

/** An error to display to the user. `hint` says what to do next. */
export interface Problem {
  readonly message: string;
  readonly hint?: string;
  readonly kind?: string;
}

const METHOD_NOT_FOUND = -32601;

/** Whether the server is older than this client and does not know a method; such features are hidden. */
export function isMethodNotFound(error: unknown): boolean {
  return typeof error === "object" && error !== null && (error as { code?: unknown }).code === METHOD_NOT_FOUND;
}

/** Converts a JSON-RPC error, or any other failure, for display. */
export function problemOf(error: unknown): Problem {
  if (typeof error !== "object" || error === null) return { message: String(error) };
  const { message, data } = error as { message?: unknown; data?: unknown };
  const fields = typeof data === "object" && data !== null ? (data as Record<string, unknown>) : {};
  return {
    message: typeof message === "string" && message !== "" ? message : "The server returned an error without a message.",
    ...(typeof fields["hint"] === "string" && { hint: fields["hint"] }),
    ...(typeof fields["kind"] === "string" && { kind: fields["kind"] }),
  };
}
