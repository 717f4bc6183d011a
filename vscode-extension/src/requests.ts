// Mirrors the package agent_ls/server/protocol: every request that this client makes, with its parameters and its result.
import type { CommandInfo, CompleteParams, Completion, HistoryResult, ModelsResult, QueueChange, RevertResult, RuleInfo } from "./protocol_chat";
import type { Configuration, Decision, HunkInfo, InputPart, LimitChanges, Scope, SessionInfo, SubscribeResult, TerminalInfo, Verdict } from "./protocol";

type Empty = Readonly<Record<string, never>>;
interface Keyed {
  readonly clientKey: string;
}
interface OfSession {
  readonly sessionId: string;
}
type Change = Keyed & OfSession;
/** A change that is the same when it is made twice. */
type PlainChange = Partial<Keyed> & OfSession;

/** A selector of hunks: exactly one. */
export type ReviewSelector = { readonly hunkIds: readonly string[] } | { readonly uri: string } | { readonly turnId: string } | { readonly sessionId: string };

/** `confirm`: undo edited hunks as well. With one hunk: `lines` [first, last) of its new lines alone, and `replacement`,
 * which is kept in their place. */
export type Review = ReviewSelector & {
  readonly verdict: Verdict;
  readonly comment?: string;
  readonly confirm?: boolean;
  readonly lines?: readonly [number, number];
  readonly replacement?: string;
};

export interface ReviewResult {
  readonly changed: readonly HunkInfo[];
  readonly refused: readonly { readonly id: string; readonly reason: string }[];
}

export interface ApproveAnswer {
  readonly decision: Decision;
  readonly scope?: Scope;
  readonly ruleId?: string;
  readonly reason?: string;
  /** What is to be done instead; asked about again where it would be never silent. */
  readonly replacement?: { readonly command?: string };
}

/** Every request that we make: its parameters and its result. */
export interface Requests {
  "agent/newSession": {
    params: Keyed & Configuration & { readonly workspaceFolder?: string; readonly title?: string };
    result: { readonly session: SessionInfo };
  };
  "agent/sessions": {
    params: { readonly workspaceFolder?: string; readonly cursor?: string; readonly limit?: number; readonly query?: string };
    result: { readonly sessions: readonly SessionInfo[]; readonly nextCursor?: string };
  };
  "agent/subscribe": { params: OfSession & { readonly since?: number; readonly maxEvents?: number }; result: SubscribeResult };
  "agent/unsubscribe": { params: OfSession; result: Empty };
  "agent/submit": {
    params: Change & { readonly input: readonly InputPart[]; readonly whenBusy?: "queue" | "steer" | "refuse" };
    result: { readonly turnId?: string; readonly queuedId?: string; readonly steerId?: string };
  };
  "agent/unsteer": { params: PlainChange & { readonly steerId: string }; result: Empty };
  "agent/followUp": { params: Change & { readonly input: readonly InputPart[] }; result: { readonly queuedId: string } };
  "agent/interrupt": { params: PlainChange & { readonly keepProcesses?: boolean; readonly thenSubmit?: readonly InputPart[] }; result: Empty };
  "agent/abort": { params: PlainChange; result: Empty };
  "agent/takeOver": { params: Change & { readonly force?: boolean }; result: { readonly session: SessionInfo } };
  "agent/configure": {
    params: Change & Configuration & { readonly limits?: LimitChanges; readonly remember?: boolean };
    result: { readonly session: SessionInfo; readonly appliesFrom: "now" | "nextCall" | "nextTurn" };
  };
  "agent/approve": {
    params: Change & ApproveAnswer & { readonly requestId: string };
    result: { readonly decision: Decision; readonly decidedBy: string };
  };
  "agent/history": { params: OfSession & { readonly before?: number; readonly limit?: number }; result: HistoryResult };
  "agent/queue": { params: Change & QueueChange; result: Empty };
  "agent/models": { params: { readonly look?: boolean }; result: ModelsResult };
  "agent/commands": { params: Partial<OfSession>; result: { readonly commands: readonly CommandInfo[] } };
  "agent/complete": { params: CompleteParams; result: { readonly items: readonly Completion[] } };
  "agent/review": { params: Keyed & Review; result: ReviewResult };
  "agent/terminals": { params: OfSession; result: { readonly terminals: readonly TerminalInfo[] } };
  "agent/terminalKill": { params: PlainChange & { readonly terminalId: string }; result: Empty };
  "agent/terminalInput": { params: PlainChange & { readonly terminalId: string; readonly data: string }; result: Empty };
  "agent/terminalResize": {
    params: PlainChange & { readonly terminalId: string; readonly columns: number; readonly rows: number };
    result: Empty;
  };
  "agent/terminalOutput": {
    params: OfSession & { readonly terminalId: string; readonly offset?: number };
    result: { readonly text: string; readonly nextOffset: number; readonly running: boolean; readonly exitCode?: number };
  };
  "agent/fork": { params: Change & { readonly atTurnId?: string }; result: { readonly session: SessionInfo } };
  "agent/revert": {
    params: Change & { readonly atTurnId: string; readonly conversation?: boolean; readonly files?: "restore" | "keep" | "preview"; readonly uris?: readonly string[]; readonly force?: boolean };
    result: RevertResult;
  };
  "agent/answer": {
    params: Change & { readonly questionId: string; readonly answers?: readonly string[]; readonly declined?: boolean };
    result: { readonly answers: readonly string[]; readonly declined: boolean; readonly decidedBy: string };
  };
  "agent/compact": { params: Change & { readonly instructions?: string }; result: { readonly compactionId: string } };
  "agent/rules": { params: Partial<OfSession> & { readonly workspaceFolder?: string }; result: { readonly rules: readonly RuleInfo[] } };
  "agent/removeRule": { params: Keyed & Partial<OfSession> & { readonly ruleId: string; readonly workspaceFolder?: string }; result: { readonly removed: number } };
  "agent/rename": { params: Change & { readonly title: string }; result: { readonly session: SessionInfo } };
  "agent/closeSession": { params: Change; result: Empty };
  "agent/deleteSession": { params: Change & { readonly force?: boolean }; result: Empty };
  "agent/export": { params: OfSession & { readonly format: "markdown" | "jsonl" }; result: { readonly text: string } };
  "agent/setCredential": {
    params: Keyed & { readonly provider: string; readonly secret: string | null };
    result: { readonly ok: true };
  };
  "agent/clientAnswer": {
    params: OfSession & { readonly requestId: string; readonly result?: object; readonly error?: string };
    result: Empty;
  };
}

export type Method = keyof Requests;
