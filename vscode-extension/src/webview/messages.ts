// What the chat's two sides tell each other: the extension (chat/panel.ts) and the webview (main.ts). Shapes only.
import type { PlanData } from "../events";
import type {
  Activity, ApprovalItem, CompactionItem, FileItem, NoticeItem, QuestionItem, RetryItem, SteerItem, SubagentItem, ToolItem, Usage, UserItem,
} from "../items";
import type { Configuration, HunkState, InputPart, Mode, Verdict } from "../protocol";
import type { RuleOffer } from "../protocol_approvals";
import type { ModelsResult, TurnFile } from "../protocol_chat";

/** A message that waits. */
export interface QueuedView {
  readonly queuedId: string;
  readonly text: string;
  /** How many pictures go with it. */
  readonly images: number;
}

/** Whatever the header, the prompt and the bars around it show. */
export interface SessionView {
  readonly id: string;
  readonly title: string;
  readonly activity: Activity;
  readonly provider: string;
  readonly model: string;
  readonly effort: string;
  readonly mode: Mode;
  readonly isWalkthrough: boolean;
  readonly readOnly: boolean;
  /** Who has it, in words, when it can only be read here. */
  readonly owner: string;
  readonly queue: readonly QueuedView[];
  readonly usage: Usage | null;
  readonly plan: PlanData | null;
  /** `proposed`: of them, those that the turn waits for a verdict on. */
  readonly hunks: { readonly files: number; readonly count: number; readonly proposed: number };
}

export interface TextView {
  readonly kind: "text" | "reasoning";
  readonly id: string;
  readonly index: number;
  text: string;
  readonly open: boolean;
  readonly interrupted: boolean;
}

/** `output` is cut in the middle when `cutChars` is not 0; the terminal has all of it. */
export interface ToolView extends Pick<ToolItem, "kind" | "id" | "index" | "name" | "summary" | "status"> {
  readonly arguments: string;
  readonly output: string;
  readonly cutChars: number;
  readonly outcome: string;
  readonly background: boolean;
  readonly hasTerminal: boolean;
  /** Set while it can be ended by itself. */
  readonly killable: string | null;
}

export interface FileView extends Pick<FileItem, "kind" | "id" | "index" | "uri" | "action" | "added" | "removed" | "diff"> {
  readonly path: string;
  readonly states: readonly { readonly state: HunkState; readonly count: number }[];
  readonly openIds: readonly string[];
}

/** The end of a turn: why, when that is worth a word, and what it changed. */
export interface EndView {
  readonly kind: "end";
  readonly id: string;
  readonly index: number;
  readonly text: string;
  readonly files: readonly TurnFile[];
  readonly openIds: readonly string[];
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
  /** The folder that is to be trusted, "" when something else is asked. */
  readonly trust: string;
  readonly text: string;
  readonly where: string;
  readonly files: readonly AskedFile[];
  readonly paths: readonly string[];
  readonly rules: readonly RuleOffer[];
  readonly reason: string;
  readonly scope: string;
}

export type QuestionView = QuestionItem;
export type SubagentView = SubagentItem;

export interface RevertedView {
  readonly kind: "reverted";
  readonly id: string;
  readonly index: number;
  readonly revertId: string;
  /** How many messages are out of the conversation by it. */
  readonly turns: number;
  readonly isBack: boolean;
  readonly files: readonly { readonly path: string; readonly state: string }[];
}

/** What any entry may be: of a subagent, below whose entry it is folded, and out of the conversation. */
interface Belonging {
  readonly agentId?: string;
  readonly isOut?: boolean;
}

export type ItemView = Belonging &
  (UserItem | SteerItem | RetryItem | NoticeItem | TextView | ToolView | FileView | ApprovalView | EndView | QuestionView | SubagentView | CompactionItem | RevertedView);

export interface Attachment {
  readonly label: string;
  readonly part: InputPart;
}

/** What is written but not sent. */
export interface DraftView {
  readonly text: string;
  readonly attachments: readonly Attachment[];
}

/** One thing that `@` or `/` offers. Choosing it puts `insert` into the prompt; `token` brings what it attaches. */
export interface Offer {
  readonly icon: string;
  readonly label: string;
  readonly detail: string;
  readonly insert: string;
  /** null: nothing is attached. */
  readonly token: string | null;
  /** A command of this editor that needs no words: it is done when it is chosen. */
  readonly runs: boolean;
}

export interface Append {
  readonly id: string;
  readonly text: string;
  readonly open: boolean;
}

export type ToView =
  /** All anew. `first`: items before that index are not sent until asked for; `more`: there are such. */
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
  /** A session is being made: what is typed into an empty prompt from now on is meant for it. */
  | { readonly type: "making" }
  /** Opens the list of models, as `/model` asks. */
  | { readonly type: "pickModel" }
  | { readonly type: "offers"; readonly request: number; readonly offers: readonly Offer[] }
  /** null: the server does not tell. */
  | { readonly type: "models"; readonly models: ModelsResult | null }
  /** The message did not arrive: it goes back into the prompt. */
  | { readonly type: "unsent"; readonly text: string; readonly attachments: readonly Attachment[] };

export type HostCommand = "newSession" | "sessions" | "demo" | "configure" | "nextHunk" | "keepAll" | "undoAll" | "compact" | "takeOver";

/** As it is sent. `of`: the session that the page shows, "" when there is none, or it is meant for one that is being made. */
export type Posted = FromView & { readonly of: string };

export type FromView =
  | { readonly type: "ready" }
  /** The last reset or update is on the screen: the next one may come. */
  | { readonly type: "drawn" }
  /** Whether the page has the keyboard. */
  | { readonly type: "keyboard"; readonly isHere: boolean }
  | { readonly type: "submit"; readonly text: string; readonly attachments: readonly Attachment[]; readonly how: "send" | "queue" | "stopFirst" }
  /** `attachments`: null when they are as they were told last. `isLast`: the page goes away, keep it now. */
  | { readonly type: "draft"; readonly text: string; readonly attachments: readonly Attachment[] | null; readonly isLast: boolean }
  | { readonly type: "offer"; readonly request: number; readonly trigger: "@" | "/"; readonly query: string }
  | { readonly type: "choose"; readonly token: string }
  | { readonly type: "stop" }
  | { readonly type: "unsteer"; readonly steerId: string }
  | { readonly type: "editQueued"; readonly queuedId: string; readonly text: string }
  | { readonly type: "moveQueued"; readonly queuedId: string; readonly before: string | null }
  | { readonly type: "removeQueued"; readonly queuedId: string }
  | { readonly type: "startQueued"; readonly queuedId: string }
  /** `command`: what the user made of the command that was asked about. */
  | { readonly type: "allow"; readonly requestId: string; readonly ruleId: string | null; readonly command?: string }
  | { readonly type: "deny"; readonly requestId: string; readonly reason: string }
  | { readonly type: "answer"; readonly questionId: string; readonly answers: readonly string[]; readonly declined: boolean }
  /** To before the input of a turn; of a roll back: takes it back. */
  | { readonly type: "rollBack"; readonly turnId: string }
  | { readonly type: "review"; readonly hunkIds: readonly string[]; readonly verdict: Verdict }
  | { readonly type: "openFile"; readonly target: string }
  | { readonly type: "openLink"; readonly url: string }
  | { readonly type: "terminal"; readonly callId: string }
  | { readonly type: "kill"; readonly terminalId: string }
  /** The page before or after the items that the page holds, and all anew from the end. */
  | { readonly type: "earlier"; readonly before: number }
  | { readonly type: "later"; readonly after: number }
  | { readonly type: "end" }
  /** `look`: servers of the user's own are looked for as well. */
  | { readonly type: "models"; readonly look: boolean }
  | { readonly type: "configure"; readonly configuration: Configuration }
  | { readonly type: "command"; readonly command: HostCommand };
