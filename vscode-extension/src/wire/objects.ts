// Objects inside messages, named like the server's classes. Types only.
// Written by `python -m tests.tools.wire_types` from the server's own types: do not edit.
import type { Event } from "./events";

export interface Abort { readonly sessionId: string; readonly clientKey?: string; }

export interface AcceptPlan {
  readonly sessionId: string;
  readonly clientKey: string;
  readonly text: string;
  readonly mode: "ask" | "edits";
}

export interface AcceptPlanResult { readonly session: SessionInfo; readonly turnId: string; }

export interface ActionEdits {
  readonly documents: readonly DocumentEdits[];
  readonly fileOperations?: readonly string[];
  readonly command?: string;
}

export interface Answer {
  readonly sessionId: string;
  readonly questionId: string;
  readonly clientKey: string;
  readonly answers?: readonly string[];
  readonly declined?: boolean;
}

export interface AnswerResult {
  readonly answers: readonly string[];
  readonly declined: boolean;
  readonly decidedBy: string;
}

export interface ApprovalRequested {
  readonly requestId: string;
  readonly callId: string;
  readonly tool: string;
  readonly summary: string;
  readonly reason: string;
  readonly effect: Effect;
  readonly digest: string;
  readonly rules: readonly RuleOffer[];
  readonly agentId: string;
  readonly cause: "mode" | "outside" | "sensitive" | "danger" | "unclear" | "network" | "sandbox" | "trust" | "tool" | "hook";
}

export interface ApprovalResolved {
  readonly requestId: string;
  readonly decision: "allow" | "deny";
  readonly scope: string;
  readonly decidedBy: string;
  readonly reason: string;
  readonly ruleId: string;
  readonly clientKey: string;
  readonly command: string;
}

export interface Approve {
  readonly sessionId: string;
  readonly requestId: string;
  readonly clientKey: string;
  readonly decision: "allow" | "deny";
  readonly scope?: "once" | "turn" | "session" | "project" | "user";
  readonly ruleId?: string;
  readonly reason?: string;
  readonly replacement?: CommandReplacement;
}

export interface ApproveResult { readonly decision: "allow" | "deny"; readonly decidedBy: string; }

export interface AskedActionEdits {
  readonly uri: string;
  readonly startLine: number;
  readonly startCharacter: number;
  readonly endLine: number;
  readonly endCharacter: number;
  readonly title: string;
}

export interface AskedActions {
  readonly uri: string;
  readonly startLine: number;
  readonly startCharacter: number;
  readonly endLine: number;
  readonly endCharacter: number;
}

export interface AskedCalls {
  readonly uri: string;
  readonly line: number;
  readonly character: number;
  readonly direction: "incoming" | "outgoing";
}

export interface AskedCheckTime { readonly uris: readonly string[]; }

export interface AskedDiagnostics { readonly uri?: string; }

export interface AskedNotebookEdit {
  readonly uri: string;
  readonly cellCount: number;
  readonly texts: readonly CellText[];
  readonly splices: readonly CellSplice[];
}

export interface AskedPosition { readonly uri: string; readonly line: number; readonly character: number; }

export interface AskedRename {
  readonly uri: string;
  readonly line: number;
  readonly character: number;
  readonly newName: string;
}

export interface AskedSave { readonly documents: readonly NamedDocument[]; }

export interface AskedSymbols { readonly uri?: string; readonly query?: string; }

export interface AskedTerminal {
  readonly terminalId: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly title: string;
}

export interface AskedTerminalRuns { readonly terminalId: string; readonly callId: string; }

export interface AssistantTextEnd {
  readonly partId: string;
  readonly text: string;
  readonly interrupted: boolean;
  readonly reasoning: string;
}

export interface AssistantTextStart { readonly partId: string; }

export interface Blame { readonly uri: string; }

export interface BlameOrigin {
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly message: string;
  readonly model: string;
  readonly time: string;
  readonly decision: "" | "kept" | "pending" | "edited";
}

export interface BlameResult {
  readonly ranges: readonly BlamedRange[];
  readonly origins: readonly BlameOrigin[];
  readonly version?: number;
}

export interface BlamedRange {
  readonly range: readonly [number, number];
  readonly author: "user" | "agent" | "unknown";
  readonly origin?: number;
}

export interface BringChanges { readonly sessionId: string; readonly clientKey: string; }

export interface BringChangesResult { readonly files: readonly BroughtFile[]; }

export interface BroughtFile {
  readonly uri: string;
  readonly state: "brought" | "proposed" | "left";
  readonly reason: string;
}

export interface CacheLost {
  readonly reason: "model" | "tools" | "documents" | "instructions" | "compaction" | "provider";
  readonly message: string;
  readonly tokens: number;
}

export interface CallEffect {
  readonly type: "CallEffect";
  readonly tool: string;
  readonly text: string;
  readonly category: "read" | "write" | "admin";
  readonly definition: string;
  readonly argv: readonly string[];
  readonly workingDir: string;
  readonly envVars: readonly (readonly [string, string])[];
  readonly server?: string;
  readonly title?: string;
  readonly about?: string;
  readonly change?: string;
  readonly annotated?: "" | "read" | "safe";
  readonly hosts?: readonly string[];
  readonly readsRule?: string;
}

export interface CellSplice {
  readonly start: number;
  readonly was: readonly string[];
  readonly cells: readonly NewCell[];
}

export interface CellText { readonly index: number; readonly uri: string; readonly was: string; readonly text: string; }

export interface CheckRun {
  readonly callId: string;
  readonly command: string;
  readonly result: "passed" | "failed" | "unclear" | "running" | "stopped";
  readonly exitCode: number | null;
  readonly durationMs: number | null;
  readonly changedFiles: number;
}

export interface ClientAnswer {
  readonly sessionId: string;
  readonly requestId: string;
  readonly result?: object;
  readonly error?: string;
}

export interface CloseSession { readonly sessionId: string; readonly clientKey: string; }

export interface CodeActionInfo {
  readonly title: string;
  readonly kind?: string;
  readonly preferred?: boolean;
  readonly disabled?: string;
}

export interface CodeActions { readonly actions: readonly CodeActionInfo[]; }

export interface CodeCalls { readonly calls: readonly FunctionCalls[]; readonly truncated?: boolean; }

export interface CodeEdit {
  readonly startLine: number;
  readonly startCharacter?: number;
  readonly endLine: number;
  readonly endCharacter?: number;
  readonly newText: string;
}

export interface CodeLocation {
  readonly startLine: number;
  readonly startCharacter?: number;
  readonly endLine: number;
  readonly endCharacter?: number;
  readonly uri: string;
}

export interface CodeLocations { readonly locations: readonly CodeLocation[]; readonly truncated?: boolean; }

export interface CodeSymbol {
  readonly startLine: number;
  readonly startCharacter?: number;
  readonly endLine: number;
  readonly endCharacter?: number;
  readonly uri: string;
  readonly name: string;
  readonly kind: number;
  readonly container?: string;
  readonly depth?: number;
}

export interface CodeSymbols { readonly symbols: readonly CodeSymbol[]; readonly truncated?: boolean; }

export interface CommandEffect {
  readonly type: "CommandEffect";
  readonly command: string;
  readonly workingDir: string;
  readonly envVars: readonly (readonly [string, string])[];
  readonly background: boolean;
  readonly inputOf?: string;
  readonly outsideSandbox?: boolean;
}

export interface CommandInfo { readonly name: string; readonly description: string; readonly argumentHint?: string; }

export interface CommandInput { readonly type: "command"; readonly name: string; readonly arguments?: string; }

export interface CommandReplacement { readonly command?: string; }

export interface Commands { readonly sessionId?: string; }

export interface CommandsResult { readonly commands: readonly CommandInfo[]; }

export interface CommitInput { readonly type: "commit"; readonly revision: string; }

export interface CommitMessage { readonly folder?: string; readonly draft?: string; }

export interface CommitMessageResult { readonly message: string; readonly staged: boolean; }

export interface Compact { readonly sessionId: string; readonly clientKey: string; readonly instructions?: string; }

export interface CompactResult { readonly compactionId: string; }

export interface Compaction {
  readonly compactionId: string;
  readonly status: "started" | "done" | "failed" | "interrupted";
  readonly trigger: "auto" | "request" | "overflow";
  readonly strategy: "summarize" | "dropOldest" | "slidingWindow";
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly removed: number;
  readonly kept: number;
  readonly summary: string;
  readonly message: string;
  readonly clientKey: string;
}

export interface Complete {
  readonly workspaceFolder?: string;
  readonly sessionId?: string;
  readonly trigger: "@" | "/";
  readonly query: string;
  readonly limit?: number;
}

export interface CompleteResult { readonly items: readonly Completion[]; }

export interface Completion {
  readonly kind: "file" | "folder" | "command" | "problems" | "selection" | "resource" | "symbol" | "diff" | "commit" | "terminal" | "page";
  readonly label: string;
  readonly detail?: string;
  readonly part: TextInput | FileInput | SelectionInput | ImageInput | FolderInput | DiagnosticsInput | CommandInput | ResourceInput | SymbolInput | DiffInput | CommitInput | TerminalTextInput | PageInput;
}

export interface Configure {
  readonly sessionId: string;
  readonly clientKey: string;
  readonly provider?: string;
  readonly model?: string;
  readonly effort?: string;
  readonly mode?: "plan" | "ask" | "edits" | "full";
  readonly review?: "after" | "before";
  readonly limits?: LimitChanges;
  readonly remember?: boolean;
}

export interface ConfigureResult {
  readonly session: SessionInfo;
  readonly appliesFrom: "now" | "nextCall" | "nextTurn";
}

export interface ContextParts {
  readonly system: number;
  readonly tools: number;
  readonly documents: number;
  readonly history: number;
  readonly toolOutput: number;
}

export interface CredentialResult { readonly ok: true; }

export interface DeleteSession { readonly sessionId: string; readonly clientKey: string; readonly force?: boolean; }

export interface DiagnosedFile {
  readonly path: string;
  readonly problems: number;
  readonly isSettled: boolean;
  readonly introduced: readonly string[];
  readonly fixed: readonly string[];
  readonly uri: string;
}

export interface DiagnosedFiles { readonly files: readonly Diagnostics[]; }

export interface Diagnostic {
  readonly startLine: number;
  readonly startCharacter?: number;
  readonly endLine: number;
  readonly endCharacter?: number;
  readonly severity?: 1 | 2 | 3 | 4;
  readonly message: string;
  readonly source?: string;
  readonly code?: string | number;
}

export interface Diagnostics {
  readonly uri: string;
  readonly version?: number;
  readonly settled?: boolean;
  readonly items: readonly Diagnostic[];
}

export interface DiagnosticsInput { readonly type: "diagnostics"; readonly uri?: string; }

export interface DiffInput { readonly type: "diff"; readonly staged?: boolean; }

export interface DocumentEdits { readonly uri: string; readonly version?: number; readonly edits: readonly CodeEdit[]; }

export interface Draft {
  readonly sessionId: string;
  readonly text?: string;
  readonly attachments?: readonly (TextInput | FileInput | SelectionInput | ImageInput | FolderInput | DiagnosticsInput | CommandInput | ResourceInput | SymbolInput | DiffInput | CommitInput | TerminalTextInput | PageInput)[];
}

export interface DraftInfo {
  readonly text: string;
  readonly attachments: readonly (TextInput | FileInput | SelectionInput | ImageInput | FolderInput | DiagnosticsInput | CommandInput | ResourceInput | SymbolInput | DiffInput | CommitInput | TerminalTextInput | PageInput)[];
}

export interface EditDiagnosed { readonly callId: string; readonly files: readonly DiagnosedFile[]; }

export interface EditQueued {
  readonly queuedId: string;
  readonly input: readonly (TextInput | FileInput | SelectionInput | ImageInput | FolderInput | DiagnosticsInput | CommandInput | ResourceInput | SymbolInput | DiffInput | CommitInput | TerminalTextInput | PageInput)[];
  readonly keepImages?: boolean;
}

export interface EditorSelection {
  readonly startLine: number;
  readonly startCharacter?: number;
  readonly endLine: number;
  readonly endCharacter?: number;
}

export interface EditorState {
  readonly activeUri?: string;
  readonly selection?: EditorSelection;
  readonly visibleUris?: readonly string[];
  readonly unsynced?: readonly string[];
}

export type Effect =
  | NoEffect
  | ReadEffect
  | WriteEffect
  | CommandEffect
  | ProcessEffect
  | TrustEffect
  | FetchEffect
  | CallEffect
  | ServerEffect;

export type Empty = Readonly<Record<string, never>>;

export interface Error {
  readonly message: string;
  readonly errorKind: string;
  readonly hint: string;
  readonly retryable: boolean;
  readonly action: "" | "setKey" | "retry" | "continue" | "manageTrust" | "chooseModel";
}

export interface Export {
  readonly sessionId: string;
  readonly format: "markdown" | "jsonl" | "html";
  readonly redact?: boolean;
}

export interface ExportResult { readonly text: string; }

export interface FetchEffect { readonly type: "FetchEffect"; readonly url: string; readonly privateAddress: string; }

export interface FileChange {
  readonly callId: string;
  readonly path: string;
  readonly action: "create" | "modify" | "delete";
  readonly added: number;
  readonly removed: number;
  readonly diff: string;
  readonly hunks: readonly Hunk[];
  readonly copyOf: string;
  readonly uri: string;
}

export interface FileHunks {
  readonly uri: string;
  readonly baseHash: string;
  readonly version?: number;
  readonly hunks: readonly HunkInfo[];
}

export interface FileInput { readonly type: "file"; readonly uri: string; }

export interface FileSum {
  readonly path: string;
  readonly action: "create" | "modify" | "delete";
  readonly added: number;
  readonly removed: number;
  readonly uri: string;
}

export interface FolderInput { readonly type: "folder"; readonly uri: string; }

export interface FollowUp {
  readonly sessionId: string;
  readonly clientKey: string;
  readonly input: readonly (TextInput | FileInput | SelectionInput | ImageInput | FolderInput | DiagnosticsInput | CommandInput | ResourceInput | SymbolInput | DiffInput | CommitInput | TerminalTextInput | PageInput)[];
}

export interface FollowUpResult { readonly queuedId: string; }

export interface Fork { readonly sessionId: string; readonly clientKey: string; readonly atTurnId?: string; }

export interface FunctionCalls {
  readonly startLine: number;
  readonly startCharacter?: number;
  readonly endLine: number;
  readonly endCharacter?: number;
  readonly uri: string;
  readonly name: string;
  readonly kind: number;
  readonly container?: string;
  readonly depth?: number;
  readonly lines?: readonly number[];
}

export interface GuideMark {
  readonly kind: "untested" | "newProblem" | "sensitive" | "signature" | "yourText";
  readonly text: string;
}

export interface GuideRow {
  readonly kind: "change" | "renames" | "whiteSpace" | "generated";
  readonly title: string;
  readonly hunkIds: readonly string[];
  readonly state: "notLooked" | "looked" | "kept" | "undone";
  readonly marks: readonly GuideMark[];
  readonly unknown: readonly ("untested" | "newProblem" | "sensitive" | "signature" | "yourText")[];
}

export interface History { readonly sessionId: string; readonly before?: number; readonly limit?: number; }

export interface HistoryResult { readonly items: readonly Item[]; readonly more: boolean; }

export interface HoverTexts { readonly texts: readonly string[]; }

export interface Hunk {
  readonly id: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly path: string;
  readonly what: "content" | "create" | "delete";
  readonly state: "proposed" | "pending" | "kept" | "undone" | "edited" | "stale" | "gone";
  readonly baseStart: number;
  readonly baseEnd: number;
  readonly start: number;
  readonly end: number;
  readonly baseLines: readonly string[];
  readonly lines: readonly string[];
  readonly link: string;
  readonly laterTurns: readonly string[];
  readonly looked: boolean;
  readonly uri: string;
}

export interface HunkCell {
  readonly cell: number;
  readonly uri?: string;
  readonly version?: number;
  readonly range: readonly [number, number];
  readonly oldLines: readonly string[];
  readonly newLines: readonly string[];
}

export interface HunkInfo {
  readonly id: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly what: "content" | "create" | "delete";
  readonly state: "proposed" | "pending" | "kept" | "undone" | "edited" | "stale" | "gone";
  readonly oldRange: readonly [number, number];
  readonly newRange: readonly [number, number];
  readonly oldLines: readonly string[];
  readonly newLines: readonly string[];
  readonly link?: string;
  readonly laterTurnIds?: readonly string[];
  readonly cells?: readonly HunkCell[];
  readonly looked?: boolean;
  readonly reason?: string;
}

export interface HunkStateChanged {
  readonly path: string;
  readonly hunks: readonly Hunk[];
  readonly by: "user" | "editor" | "agent" | "look";
  readonly comment: string;
  readonly uri: string;
}

export interface Hunks {
  readonly sessionId?: string;
  readonly uri?: string;
  readonly turnId?: string;
  readonly guide?: boolean;
}

export interface HunksResult { readonly files: readonly FileHunks[]; readonly guide?: readonly GuideRow[]; }

export interface ImageInput { readonly type: "image"; readonly mediaType: string; readonly data: string; }

export interface Interrupt {
  readonly sessionId: string;
  readonly clientKey?: string;
  readonly keepProcesses?: boolean;
  readonly thenSubmit?: readonly (TextInput | FileInput | SelectionInput | ImageInput | FolderInput | DiagnosticsInput | CommandInput | ResourceInput | SymbolInput | DiffInput | CommitInput | TerminalTextInput | PageInput)[];
  readonly agentId?: string;
}

export type Item =
  | { readonly id: string; readonly seq: number; readonly turnId: string; readonly timestamp: string; readonly kind: "user"; readonly text: string; readonly agentId?: string; }
  | { readonly id: string; readonly seq: number; readonly turnId: string; readonly timestamp: string; readonly kind: "steer"; readonly steerId: string; readonly text: string; readonly status: "waiting" | "injected" | "removed"; readonly agentId?: string; }
  | { readonly id: string; readonly seq: number; readonly turnId: string; readonly timestamp: string; readonly kind: "text"; readonly partId: string; readonly text: string; readonly interrupted: boolean; readonly agentId?: string; }
  | { readonly id: string; readonly seq: number; readonly turnId: string; readonly timestamp: string; readonly kind: "reasoning"; readonly partId: string; readonly text: string; readonly interrupted: boolean; readonly agentId?: string; }
  | { readonly id: string; readonly seq: number; readonly turnId: string; readonly timestamp: string; readonly kind: "tool"; readonly callId: string; readonly name: string; readonly summary: string; readonly arguments: string; readonly status: "running" | "done" | "failed"; readonly agentId?: string; readonly result?: ToolCallEnd; readonly terminalId?: string; readonly background?: boolean; readonly look?: "read" | "search" | "edit" | "move" | "delete" | "execute" | "fetch" | "think" | "other"; readonly doing?: string; readonly done?: string; }
  | { readonly id: string; readonly seq: number; readonly turnId: string; readonly timestamp: string; readonly kind: "file"; readonly callId: string; readonly path: string; readonly action: "create" | "modify" | "delete"; readonly added: number; readonly removed: number; readonly diff: string; readonly hunks: readonly Hunk[]; readonly copyOf: string; readonly uri: string; readonly agentId?: string; }
  | { readonly id: string; readonly seq: number; readonly turnId: string; readonly timestamp: string; readonly kind: "approval"; readonly request: ApprovalRequested; readonly status: "pending" | "allow" | "deny"; readonly agentId?: string; readonly reason?: string; readonly scope?: string; readonly decidedBy?: string; readonly command?: string; }
  | { readonly id: string; readonly seq: number; readonly turnId: string; readonly timestamp: string; readonly kind: "question"; readonly asked: QuestionAsked; readonly status: "pending" | "answered" | "declined"; readonly agentId?: string; readonly answers?: readonly string[]; readonly decidedBy?: string; }
  | { readonly id: string; readonly seq: number; readonly turnId: string; readonly timestamp: string; readonly kind: "subagent"; readonly agentId: string; readonly status: "running" | "completed" | "failed"; readonly callId: string; readonly task: string; readonly model: string; readonly workingDir: string; readonly reason: "" | "limit" | "refused" | "error" | "interrupted" | "closed" | "stopped"; readonly output: string; readonly turnsUsed: number; readonly agentKind: string; }
  | { readonly id: string; readonly seq: number; readonly turnId: string; readonly timestamp: string; readonly kind: "retry"; readonly attempt: number; readonly delayMs: number; readonly text: string; readonly agentId?: string; }
  | { readonly id: string; readonly seq: number; readonly turnId: string; readonly timestamp: string; readonly kind: "notice"; readonly level: "info" | "warn" | "error"; readonly text: string; readonly agentId?: string; readonly hint?: string; readonly action?: string; }
  | { readonly id: string; readonly seq: number; readonly turnId: string; readonly timestamp: string; readonly kind: "end"; readonly reason: "completed" | "interrupted" | "limit" | "error" | "aborted" | "refused"; readonly files: readonly FileSum[]; readonly agentId?: string; readonly facts?: TurnFacts; }
  | { readonly id: string; readonly seq: number; readonly turnId: string; readonly timestamp: string; readonly kind: "reverted"; readonly revertId: string; readonly atTurnId: string; readonly conversation: boolean; readonly turns: readonly string[]; readonly restoredTurns: readonly string[]; readonly files: readonly RevertedFile[]; readonly agentId?: string; };

export interface LimitChanges {
  readonly tokensPerInput?: number;
  readonly tokensPerSession?: number;
  readonly costUsdPerInput?: number;
  readonly costUsdPerSession?: number;
  readonly secondsPerInput?: number;
  readonly secondsPerSession?: number;
}

export interface Looked { readonly hunkIds: readonly string[]; }

export interface LoopDetection { readonly message: string; }

export interface McpServerInfo {
  readonly name: string;
  readonly state: "off" | "unapproved" | "denied" | "starting" | "running" | "restarting" | "login" | "failed" | "stopped";
  readonly source: "user" | "client" | "settings" | "project";
  readonly file?: string;
  readonly target: string;
  readonly title: string;
  readonly era: "modern" | "legacy" | "";
  readonly tools: readonly string[];
  readonly prompts: readonly string[];
  readonly resources: number;
  readonly error?: string;
}

export interface McpServers { readonly sessionId: string; }

export interface McpServersResult { readonly servers: readonly McpServerInfo[]; readonly problems: readonly string[]; }

export interface McpSwitch {
  readonly sessionId: string;
  readonly clientKey: string;
  readonly name: string;
  readonly to: "on" | "off" | "restart";
}

export interface Memory { readonly workspaceFolder?: string; }

export interface MemoryResult { readonly project: string; readonly user: string; }

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
  readonly address?: string;
}

export interface Models { readonly look?: boolean; }

export interface ModelsResult {
  readonly defaultProvider: string;
  readonly defaultMode: "plan" | "ask" | "edits" | "full";
  readonly providers: readonly ProviderInfo[];
  readonly models: readonly ModelInfo[];
}

export interface MoveQueued { readonly queuedId: string; readonly before?: string; }

export interface NamedCell { readonly uri: string; readonly version: number; }

export interface NamedDocument {
  readonly uri: string;
  readonly version: number;
  readonly cells?: readonly NamedCell[];
}

export interface NewCell {
  readonly kind: "code" | "markdown" | "raw";
  readonly language: string;
  readonly text: string;
  readonly id?: string;
}

export interface NewSession {
  readonly clientKey: string;
  readonly workspaceFolder?: string;
  readonly provider?: string;
  readonly model?: string;
  readonly effort?: string;
  readonly mode?: "plan" | "ask" | "edits" | "full";
  readonly review?: "after" | "before";
  readonly title?: string;
  readonly worktree?: "current" | "head";
}

export interface NoEffect { readonly type: "NoEffect"; }

export interface NotSaved { readonly uri: string; readonly reason?: string; }

export interface OpenPart {
  readonly partId: string;
  readonly kind: string;
  readonly text: string;
  readonly name: string;
  readonly agentId?: string;
}

export interface Output {
  readonly sessionId: string;
  readonly outputRef: string;
  readonly offset?: number;
  readonly limit?: number;
}

export interface OutputResult { readonly text: string; readonly totalChars: number; readonly nextOffset?: number; }

export interface OwnerInfo { readonly pid: number; readonly host: string; readonly program: string; }

export interface PageInput { readonly type: "page"; readonly url: string; }

export interface Pending {
  readonly approvals: readonly ApprovalRequested[];
  readonly questions: readonly QuestionAsked[];
  readonly hunks: readonly FileHunks[];
}

export interface PlanChanged { readonly explanation: string; readonly items: readonly PlanItem[]; }

export interface PlanItem { readonly text: string; readonly status: "pending" | "active" | "done"; }

export interface PlannedWrite {
  readonly path: string;
  readonly action: "create" | "modify" | "delete" | "move";
  readonly diff: string;
  readonly changeKey: string;
}

export interface ProcessEffect {
  readonly type: "ProcessEffect";
  readonly processId: string;
  readonly action: "list" | "read" | "write" | "kill";
}

export interface ProcessingEnd {
  readonly reason: "completed" | "interrupted" | "limit" | "error" | "aborted" | "refused";
}

export interface ProviderInfo {
  readonly id: string;
  readonly name: string;
  readonly hasKey: boolean;
  readonly keyVariable: string;
  readonly problem?: string;
}

export interface QuestionAnswered {
  readonly questionId: string;
  readonly answers: readonly string[];
  readonly declined: boolean;
  readonly decidedBy: string;
  readonly clientKey: string;
}

export interface QuestionAsked {
  readonly questionId: string;
  readonly callId: string;
  readonly question: string;
  readonly choices: readonly string[];
  readonly multiple: boolean;
  readonly purpose: "question" | "limit";
}

export interface Queue {
  readonly sessionId: string;
  readonly clientKey: string;
  readonly edit?: EditQueued;
  readonly move?: MoveQueued;
  readonly remove?: string;
  readonly startNow?: string;
}

export interface QueueChanged { readonly items: readonly QueueItem[]; }

export interface QueueItem {
  readonly queuedId: string;
  readonly text: string;
  readonly clientKey: string;
  readonly images: number;
}

export interface QueueSpliced { readonly at: number; readonly removed: number; readonly items: readonly QueueItem[]; }

export interface ReadEffect { readonly type: "ReadEffect"; readonly paths: readonly string[]; }

export interface ReasoningEnd { readonly partId: string; readonly text: string; readonly interrupted: boolean; }

export interface ReasoningStart { readonly partId: string; }

export interface RemoveRule {
  readonly clientKey: string;
  readonly ruleId: string;
  readonly sessionId?: string;
  readonly workspaceFolder?: string;
}

export interface RemoveRuleResult { readonly removed: number; }

export interface Rename { readonly sessionId: string; readonly clientKey: string; readonly title: string; }

export interface RenameEdits {
  readonly documents: readonly DocumentEdits[];
  readonly fileOperations?: readonly string[];
}

export interface ResourceInput { readonly type: "resource"; readonly server: string; readonly uri: string; }

export interface Retry {
  readonly attempt: number;
  readonly delayMs: number;
  readonly errorKind: string;
  readonly message: string;
}

export interface Revert {
  readonly sessionId: string;
  readonly clientKey: string;
  readonly atTurnId: string;
  readonly conversation?: boolean;
  readonly files?: "restore" | "keep" | "preview";
  readonly uris?: readonly string[];
  readonly force?: boolean;
}

export interface RevertConflict { readonly start: number; readonly end: number; readonly reason: string; }

export interface RevertFile {
  readonly path: string;
  readonly uri: string;
  readonly action: "create" | "modify" | "delete";
  readonly state: "planned" | "restored" | "conflict" | "unknown";
  readonly diff: string;
  readonly reason: string;
  readonly conflicts: readonly RevertConflict[];
}

export interface RevertResult {
  readonly session: SessionInfo;
  readonly revertId: string;
  readonly inputText: string;
  readonly turns: readonly string[];
  readonly restoredTurns: readonly string[];
  readonly files: readonly RevertFile[];
}

export interface Reverted {
  readonly revertId: string;
  readonly atTurnId: string;
  readonly conversation: boolean;
  readonly turns: readonly string[];
  readonly restoredTurns: readonly string[];
  readonly files: readonly RevertedFile[];
}

export interface RevertedFile {
  readonly path: string;
  readonly action: "create" | "modify" | "delete";
  readonly state: "restored" | "conflict" | "unknown";
  readonly uri: string;
}

export interface Review {
  readonly clientKey: string;
  readonly hunkIds?: readonly string[];
  readonly uri?: string;
  readonly turnId?: string;
  readonly sessionId?: string;
  readonly verdict: "keep" | "undo";
  readonly comment?: string;
  readonly confirm?: boolean;
  readonly lines?: readonly [number, number];
  readonly replacement?: string;
}

export interface ReviewResult {
  readonly changed: readonly HunkInfo[];
  readonly refused: readonly ({ readonly id: string; readonly reason: string; })[];
}

export interface RuleInfo {
  readonly id: string;
  readonly label: string;
  readonly scope: "turn" | "session" | "project" | "user";
  readonly workspace?: string;
  readonly hits: number;
  readonly created?: string;
  readonly used?: string;
}

export interface RuleOffer {
  readonly id: string;
  readonly label: string;
  readonly scope: "turn" | "session" | "project" | "user";
  readonly allows: readonly string[];
  readonly stillAsked: readonly string[];
}

export interface RuleRemoved { readonly ruleId: string; }

export interface Rules { readonly sessionId?: string; readonly workspaceFolder?: string; }

export interface RulesResult { readonly rules: readonly RuleInfo[]; }

export interface SaveRequested { readonly callId: string; readonly paths: readonly string[]; }

export interface Saved { readonly saved?: readonly string[]; readonly failed?: readonly NotSaved[]; }

export interface SelectionInput {
  readonly type: "selection";
  readonly uri: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly text: string;
}

export interface ServerEffect {
  readonly type: "ServerEffect";
  readonly name: string;
  readonly config: string;
  readonly file: string;
  readonly command: string;
  readonly url: string;
  readonly variables: readonly string[];
  readonly isFetched: boolean;
}

export interface SessionEnd {
  readonly state: "IDLE" | "PROCESSING" | "AWAITING_INPUT" | "CLOSED";
  readonly reason: "completed" | "interrupted" | "limit" | "error" | "aborted" | "refused" | "suspended";
}

export interface SessionInfo {
  readonly id: string;
  readonly title: string;
  readonly state: "IDLE" | "PROCESSING" | "AWAITING_INPUT" | "CLOSED";
  readonly provider: string;
  readonly model: string;
  readonly effort?: string;
  readonly mode: "plan" | "ask" | "edits" | "full";
  readonly review: "after" | "before";
  readonly workspaceFolder: string;
  readonly created: string;
  readonly updated: string;
  readonly lastSeq: number;
  readonly live: boolean;
  readonly access: "owner" | "readOnly";
  readonly owner?: OwnerInfo;
  readonly isWalkthrough: boolean;
  readonly worktree?: string;
  readonly activity: "closed" | "idle" | "working" | "waiting";
  readonly costUsd?: number;
  readonly queue: readonly ({ readonly queuedId: string; readonly text: string; readonly images: number; })[];
  readonly steering: readonly ({ readonly steerId: string; readonly text: string; })[];
}

export interface SessionResult { readonly session: SessionInfo; }

export interface SessionStart {
  readonly provider: string;
  readonly model: string;
  readonly workingDirectory: string;
  readonly resumed: boolean;
  readonly isWalkthrough: boolean;
}

export interface Sessions {
  readonly workspaceFolder?: string;
  readonly cursor?: string;
  readonly limit?: number;
  readonly query?: string;
  readonly running?: boolean;
}

export interface SessionsResult { readonly sessions: readonly SessionInfo[]; readonly nextCursor?: string; }

export interface SetCredential {
  readonly clientKey: string;
  readonly provider: string;
  readonly secret: string | null;
}

export interface Snapshot {
  readonly items: readonly Item[];
  readonly more: boolean;
  readonly usage?: UsageReport;
  readonly plan?: PlanChanged;
}

export interface StateChange {
  readonly change: "file_moved" | "folder_created" | "process_started" | "process_ended";
  readonly subject: string;
  readonly source: string;
}

export interface StateChanged { readonly state: "IDLE" | "PROCESSING" | "AWAITING_INPUT" | "CLOSED"; }

export interface Steer {
  readonly sessionId: string;
  readonly clientKey: string;
  readonly input: readonly (TextInput | FileInput | SelectionInput | ImageInput | FolderInput | DiagnosticsInput | CommandInput | ResourceInput | SymbolInput | DiffInput | CommitInput | TerminalTextInput | PageInput)[];
  readonly expectedTurnId?: string;
  readonly agentId?: string;
}

export interface SteerResult { readonly steerId: string; }

export interface SteeringInjected { readonly steerId: string; readonly text: string; }

export interface SteeringQueued { readonly steerId: string; readonly text: string; readonly clientKey: string; }

export interface SteeringRemoved { readonly steerId: string; }

export interface SubagentChanged {
  readonly agentId: string;
  readonly status: "running" | "completed" | "failed";
  readonly callId: string;
  readonly task: string;
  readonly model: string;
  readonly workingDir: string;
  readonly reason: "" | "limit" | "refused" | "error" | "interrupted" | "closed" | "stopped";
  readonly output: string;
  readonly turnsUsed: number;
  readonly agentKind: string;
}

export interface Submit {
  readonly sessionId: string;
  readonly clientKey: string;
  readonly input: readonly (TextInput | FileInput | SelectionInput | ImageInput | FolderInput | DiagnosticsInput | CommandInput | ResourceInput | SymbolInput | DiffInput | CommitInput | TerminalTextInput | PageInput)[];
  readonly whenBusy?: "queue" | "steer" | "refuse";
}

export interface SubmitResult { readonly turnId?: string; readonly queuedId?: string; readonly steerId?: string; }

export interface Subscribe { readonly sessionId: string; readonly since?: number; readonly maxEvents?: number; }

export interface SubscribeResult {
  readonly clientId: string;
  readonly session: SessionInfo;
  readonly events: readonly Event[];
  readonly lastSeq: number;
  readonly openParts: readonly OpenPart[];
  readonly pending: Pending;
  readonly snapshot?: Snapshot;
  readonly draft?: DraftInfo;
}

export interface SymbolInput {
  readonly type: "symbol";
  readonly name: string;
  readonly uri: string;
  readonly startLine?: number;
  readonly endLine?: number;
}

export interface TakeOver { readonly sessionId: string; readonly clientKey: string; readonly force?: boolean; }

export interface TerminalExit { readonly terminalId: string; readonly exitCode: number | null; }

export interface TerminalInfo {
  readonly terminalId: string;
  readonly callId: string;
  readonly command: string;
  readonly background: boolean;
  readonly pid?: number;
  readonly exitCode?: number;
  readonly startedMs: number;
  readonly waiting: boolean;
}

export interface TerminalInput {
  readonly sessionId: string;
  readonly clientKey?: string;
  readonly terminalId: string;
  readonly data: string;
}

export interface TerminalKill { readonly sessionId: string; readonly clientKey?: string; readonly terminalId: string; }

export interface TerminalOpen {
  readonly terminalId: string;
  readonly callId: string;
  readonly title: string;
  readonly background: boolean;
}

export interface TerminalOutput { readonly sessionId: string; readonly terminalId: string; readonly offset?: number; }

export interface TerminalOutputResult {
  readonly text: string;
  readonly nextOffset: number;
  readonly running: boolean;
  readonly exitCode?: number;
}

export interface TerminalResize {
  readonly sessionId: string;
  readonly clientKey?: string;
  readonly terminalId: string;
  readonly columns: number;
  readonly rows: number;
}

export interface TerminalTextInput { readonly type: "terminal"; readonly name: string; readonly text?: string; }

export interface TerminalWaiting { readonly terminalId: string; readonly callId: string; readonly waiting: boolean; }

export interface Terminals { readonly sessionId: string; }

export interface TerminalsResult { readonly terminals: readonly TerminalInfo[]; }

export interface TextDocumentContent { readonly uri: string; }

export interface TextDocumentContentResult { readonly text: string; }

export interface TextInput { readonly type: "text"; readonly text: string; }

export interface Title { readonly title: string; }

export interface ToolCallEnd {
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
  readonly modelChars: number | null;
  readonly index: number | null;
  readonly inputSummary: string;
  readonly outputBytes: number | null;
  readonly changes: readonly StateChange[];
}

export interface ToolCallStart {
  readonly callId: string;
  readonly index: number;
  readonly name: string;
  readonly arguments: string;
  readonly summary: string;
  readonly look: "read" | "search" | "edit" | "move" | "delete" | "execute" | "fetch" | "think" | "other";
  readonly doing: string;
  readonly done: string;
}

export interface Trust {
  readonly clientKey?: string;
  readonly workspaceFolder?: string;
  readonly decision?: "trust" | "restrict" | "forget";
}

export interface TrustEffect { readonly type: "TrustEffect"; readonly folder: string; readonly owner: string; }

export interface TrustResult {
  readonly workspaceFolder: string;
  readonly trust: "trusted" | "restricted" | "unknown";
  readonly folders: readonly TrustedFolder[];
}

export interface TrustedFolder {
  readonly path: string;
  readonly owner: string;
  readonly trust: "trusted" | "restricted";
  readonly decided: string;
}

export interface TurnFacts {
  readonly text: string;
  readonly files: number;
  readonly checks: readonly CheckRun[];
  readonly otherCommands: number;
  readonly newProblems: number | null;
  readonly fixedProblems: number | null;
}

export interface TurnLimit { readonly limit: string; readonly count: number; readonly message: string; }

export interface Unsteer { readonly sessionId: string; readonly clientKey?: string; readonly steerId: string; }

export interface Unsubscribe { readonly sessionId: string; }

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number | null;
  readonly cacheReadTokens: number | null;
  readonly cacheWriteTokens: number | null;
  readonly reportedCostUsd: number | null;
}

export interface UsageReport {
  readonly call: Usage;
  readonly total: Usage;
  readonly contextTokens: number;
  readonly contextWindowTokens: number;
  readonly callCostUsd: number | null;
  readonly totalCostUsd: number | null;
  readonly context: ContextParts;
  readonly calibration: number;
  readonly durationMs: number | null;
  readonly firstOutputMs: number | null;
  readonly estimated: boolean;
}

export interface UserInput { readonly text: string; readonly clientKey: string; readonly queuedId: string; }

export interface Warning {
  readonly message: string;
  readonly code: string;
  readonly action: "" | "setKey" | "retry" | "continue" | "manageTrust" | "chooseModel";
}

export interface WriteEffect { readonly type: "WriteEffect"; readonly files: readonly PlannedWrite[]; }

export type InputPart =
  | TextInput
  | FileInput
  | SelectionInput
  | ImageInput
  | FolderInput
  | DiagnosticsInput
  | CommandInput
  | ResourceInput
  | SymbolInput
  | DiffInput
  | CommitInput
  | TerminalTextInput
  | PageInput;
