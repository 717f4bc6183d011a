// Messages between the extension (chat/panel.ts) and the chat's webview (main.ts). Types only.
import type { Configuration, FileSum, HunkState, InputPart, Mode, ModelsResult, PlanChanged, RuleOffer, Verdict } from "../connection/protocol";
import type {
  Activity, ApprovalItem, CompactionItem, FileItem, NoticeItem, QuestionItem, RetryItem, SteerItem, SubagentItem, ToolItem, Usage,
} from "../snapshot/items";
import type { DisplayedMessage } from "../chat/message_display";
import type { Action } from "../commands/failure_actions";
import type { Finding } from "../snapshot/tool_words";

/** A queued message. */
export interface QueuedView {
  readonly queuedId: string;
  readonly text: string;
  /** Number of images in the message. */
  readonly images: number;
}

/** Data of the session for the header, the prompt and the bars. */
export interface SessionView {
  readonly id: string;
  readonly title: string;
  readonly activity: Activity;
  /** Describes the current activity, or what the session waits for; "" if it is idle. */
  readonly doing: string;
  /** A message being sent to the server. */
  readonly sending: DisplayedMessage | null;
  readonly provider: string;
  readonly model: string;
  readonly effort: string;
  readonly mode: Mode;
  readonly isWalkthrough: boolean;
  readonly readOnly: boolean;
  /** Description of the owner, if the session is read-only here. */
  readonly owner: string;
  readonly queue: readonly QueuedView[];
  readonly usage: Usage | null;
  readonly plan: PlanChanged | null;
  /** Whether the last answer is a plan that the user can accept. */
  readonly canAcceptPlan: boolean;
  /** Files with open hunks, and the numbers of open hunks and of the proposals among them, for which the turn waits. */
  readonly hunks: { readonly files: readonly (FileSum & { readonly ids: readonly string[]; readonly isProposed: boolean })[]; readonly count: number; readonly proposed: number };
}

export interface TextView {
  readonly kind: "text" | "reasoning";
  readonly id: string;
  readonly index: number;
  text: string;
  readonly open: boolean;
  readonly interrupted: boolean;
}

/** A tool call. If `cutChars` is not 0, `output` lacks that many characters; the terminal has the whole output. */
export interface ToolView extends Pick<ToolItem, "kind" | "id" | "index" | "name" | "summary" | "look" | "doing" | "done" | "status"> {
  readonly arguments: string;
  readonly output: string;
  readonly cutChars: number;
  readonly outcome: string;
  /** How the call was allowed; "" if no approval was requested. */
  readonly allowed: string;
  /** Link target of its file, and the lines as text; "" if it has no file, or is about the whole file. */
  readonly target: string;
  readonly lines: string;
  readonly finding: Finding | null;
  /** The group of a finished read-only call, else "". Several consecutive calls of a group are collapsed. */
  readonly group: "read" | "search" | "";
  /** Whether to hide the row, because the items of the call's changes show the same information. */
  readonly isRedundant: boolean;
  /** Start time of the running command; null if none runs or it is unknown. */
  readonly sinceMs: number | null;
  readonly background: boolean;
  readonly hasTerminal: boolean;
  /** The terminal id, while the command can be stopped without stopping the turn; else null. */
  readonly killable: string | null;
}

export interface FileView extends Pick<FileItem, "kind" | "id" | "index" | "uri" | "action" | "added" | "removed" | "diff"> {
  readonly isCut: boolean; // `diff` has only the first lines of a long diff
  readonly path: string;
  readonly states: readonly { readonly state: HunkState; readonly count: number }[];
  readonly openIds: readonly string[];
  /** The path before a move; "" if it was not moved. */
  readonly movedFrom: string;
  readonly isProposed: boolean; // the change is not in the file until it is accepted
  /** The id of its call if the snapshot contains the call, else "". */
  readonly callId: string;
}

/** The end of a turn: the changed files, and a text if the user stopped the turn. */
export interface EndView {
  readonly kind: "end";
  readonly id: string;
  readonly index: number;
  readonly text: string;
  readonly files: readonly (FileSum & { readonly movedFrom?: string })[];
  /** The result of the user's decisions about its hunks; "" if some hunks are still open. */
  readonly outcome: string;
  /** Whether to hide the files: the bar decides about them first, or the item of the only file shows the same. */
  readonly isRedundant: boolean;
  /** Whether to show the button that continues the turn. */
  readonly canContinue: boolean;
  /** What was checked after the last change; null if nothing is known. */
  readonly facts: FactsView | null;
}

/** What was checked after the last change. `command` is the last check, "" for none. */
export interface FactsView {
  readonly text: string;
  readonly outcome: "passed" | "failed" | "none";
  readonly command: string;
}

export interface AskedFile {
  readonly path: string;
  readonly action: string;
  readonly diff: string;
}

export interface ApprovalView extends Pick<ApprovalItem, "kind" | "id" | "index" | "summary" | "status"> {
  readonly tool: string;
  readonly why: string;
  readonly command: string;
  /** The folder to trust, "" for other requests. */
  readonly trust: string;
  readonly text: string;
  readonly where: string;
  readonly files: readonly AskedFile[];
  readonly paths: readonly string[];
  readonly rules: readonly RuleOffer[];
  readonly reason: string;
  readonly scope: string;
  /** The user's command that was run instead; "" if the user did not edit the command. */
  readonly instead: string;
  /** The model's description of the call; "" if it gave none. */
  readonly about: string;
  /** Whether to hide the approval, because the row of the call shows the decision. */
  readonly isRedundant: boolean;
}

export interface UserView {
  readonly kind: "user";
  readonly id: string;
  readonly index: number;
  readonly message: DisplayedMessage;
  readonly turnId?: string;
}

export interface SteerView extends Pick<SteerItem, "kind" | "id" | "index" | "status"> {
  readonly message: DisplayedMessage;
}

export type QuestionView = QuestionItem;
export type SubagentView = SubagentItem;

export interface RevertedView {
  readonly kind: "reverted";
  readonly id: string;
  readonly index: number;
  readonly revertId: string;
  /** Number of turns that the roll back removed from the conversation. */
  readonly turns: number;
  readonly isBack: boolean;
  readonly files: readonly { readonly path: string; readonly state: string }[];
}

/** Members of all items. `agentId`: the subagent that the item belongs to; `isOut`: the item was rolled back. */
interface Belonging {
  readonly agentId?: string;
  readonly isOut?: boolean;
}

export type ItemView = Belonging &
  (UserView | SteerView | RetryItem | NoticeItem | TextView | ToolView | FileView | ApprovalView | EndView | QuestionView | SubagentView | CompactionItem | RevertedView);

export interface Attachment {
  readonly label: string;
  readonly part: InputPart;
}

/** The text and the attachments of the unsent prompt. */
export interface DraftView {
  readonly text: string;
  readonly attachments: readonly Attachment[];
}

/** One completion for `@` or `/`. Choosing it inserts `insert` into the prompt; `token` identifies the attachment. */
export interface Offer {
  readonly icon: string;
  readonly label: string;
  readonly detail: string;
  readonly insert: string;
  /** null if the completion has no attachment. */
  readonly token: string | null;
  /** Whether the completion is a command without arguments, which runs when it is chosen. */
  readonly runs: boolean;
}

export interface Append {
  readonly id: string;
  readonly text: string;
  readonly open: boolean;
}

export type ToView =
  /** Replaces everything. `first`: index of the first item in `items`; `more`: there are earlier items, to request. */
  | {
      readonly type: "reset";
      readonly session: SessionView;
      readonly items: readonly ItemView[];
      readonly first: number;
      readonly more: boolean;
      readonly draft: DraftView | null;
    }
  | { readonly type: "update"; readonly session: SessionView | null; readonly items: readonly ItemView[]; readonly appends: readonly Append[] }
  | { readonly type: "earlier"; readonly items: readonly ItemView[]; readonly first: number; readonly more: boolean }
  | { readonly type: "later"; readonly items: readonly ItemView[]; readonly isEnd: boolean }
  | { readonly type: "attach"; readonly attachment: Attachment }
  | { readonly type: "focus" }
  /** A session is being created: text typed into an empty prompt from now on is meant for it. */
  | { readonly type: "making" }
  /** Opens the list of models, for `/model`. */
  | { readonly type: "pickModel" }
  | { readonly type: "offers"; readonly request: number; readonly offers: readonly Offer[] }
  /** `models` is null if the server does not support the request. */
  | { readonly type: "models"; readonly models: ModelsResult | null }
  | { readonly type: "home"; readonly home: Home }
  | { readonly type: "along"; readonly along: Along | null }
  /** The message was not sent. Its text and attachments return to the prompt. */
  | { readonly type: "unsent"; readonly text: string; readonly attachments: readonly Attachment[] };

/** The automatic attachment of messages: the active file, if `isShared`. */
export interface Along {
  readonly label: string;
  readonly isShared: boolean;
}

/** Content of the chat while the session is empty. */
export interface Home {
  readonly examples: readonly string[];
  readonly recents: readonly { readonly id: string; readonly title: string; readonly when: string }[];
  /** Whether the provider of new sessions has a key; "unknown" until a server reports it. */
  readonly key: "set" | "missing" | "unknown";
  readonly provider: string;
}

export type HostCommand = "newSession" | "sessions" | "demo" | "configure" | "nextHunk" | "previousHunk" | "reviewAll" | "guidedReview" | "keepAll" | "undoAll" | "compact" | "takeOver" | "plan";

/**
 * A message that the page sends. `of` is the displayed session; it is "" if there is none, or if the message is meant
 * for a session that is being created.
 */
export type Posted = FromView & { readonly of: string };

export type FromView =
  | { readonly type: "ready" }
  /** The last reset or update is displayed, so that the next one can be sent. */
  | { readonly type: "drawn" }
  /** Reports whether the page has the focus. */
  | { readonly type: "keyboard"; readonly isHere: boolean }
  | { readonly type: "submit"; readonly text: string; readonly attachments: readonly Attachment[]; readonly how: "send" | "queue" | "stopFirst" }
  /** Reports the draft. `attachments`: null if unchanged. `isLast`: the page is closing, so save the draft at once. */
  | { readonly type: "draft"; readonly text: string; readonly attachments: readonly Attachment[] | null; readonly isLast: boolean }
  | { readonly type: "offer"; readonly request: number; readonly trigger: "@" | "/"; readonly query: string }
  | { readonly type: "choose"; readonly token: string }
  | { readonly type: "stop" }
  | { readonly type: "stopAgent" | "steerAgent"; readonly agentId: string }
  /** Requests the content for an empty session. */
  | { readonly type: "home" }
  | { readonly type: "openSession"; readonly id: string }
  /** Turns the automatic attachment on or off. */
  | { readonly type: "share"; readonly isShared: boolean }
  | { readonly type: "insert"; readonly text: string }
  /** Runs an action that was offered after a failure. */
  | { readonly type: "act"; readonly action: Action }
  | { readonly type: "unsteer"; readonly steerId: string }
  | { readonly type: "editQueued"; readonly queuedId: string; readonly text: string }
  | { readonly type: "moveQueued"; readonly queuedId: string; readonly before: string | null }
  | { readonly type: "removeQueued"; readonly queuedId: string }
  | { readonly type: "startQueued"; readonly queuedId: string }
  /** Allows a request. `command` is the command to run instead, as edited by the user. */
  | { readonly type: "allow"; readonly requestId: string; readonly ruleId: string | null; readonly command?: string }
  | { readonly type: "deny"; readonly requestId: string; readonly reason: string }
  | { readonly type: "answer"; readonly questionId: string; readonly answers: readonly string[]; readonly declined: boolean }
  /** Rolls back to before the message of a turn. With the id of a roll back, reverts that roll back. */
  | { readonly type: "rollBack"; readonly turnId: string }
  | { readonly type: "review"; readonly hunkIds: readonly string[]; readonly verdict: Verdict }
  /** Shows the proposed text of a file. */
  | { readonly type: "compare"; readonly hunkId: string }
  | { readonly type: "openFile"; readonly target: string }
  | { readonly type: "openLink"; readonly url: string }
  | { readonly type: "terminal"; readonly callId: string }
  | { readonly type: "kill"; readonly terminalId: string }
  /** Requests the items before or after those that the page has, or the newest items. */
  | { readonly type: "earlier"; readonly before: number }
  | { readonly type: "later"; readonly after: number }
  | { readonly type: "end" }
  /** Requests the list of models. `look`: also search for model servers on this machine. */
  | { readonly type: "models"; readonly look: boolean }
  | { readonly type: "configure"; readonly configuration: Configuration }
  | { readonly type: "command"; readonly command: HostCommand };
