// What the chat's two sides tell each other: the extension (chat/panel.ts) and the webview (main.ts). Shapes only.
import type { Activity, ApprovalItem, FileItem, NoticeItem, QueueItem, RetryItem, SteerItem, ToolItem, Usage, UserItem } from "../items";
import type { HunkState, InputPart, Mode, Scope, Verdict } from "../protocol";

/** Whatever the header, the prompt and the bar below it show. */
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
  readonly queue: readonly QueueItem[];
  readonly usage: Usage | null;
  readonly hunks: { readonly files: number; readonly count: number };
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

export interface AskedFile {
  readonly path: string;
  readonly action: string;
  readonly diff: string;
}

export interface ApprovalView extends Pick<ApprovalItem, "kind" | "id" | "index" | "summary" | "status"> {
  readonly tool: string;
  readonly why: string;
  readonly command: string;
  readonly where: string;
  readonly files: readonly AskedFile[];
  readonly paths: readonly string[];
  readonly rules: readonly { readonly id: string; readonly label: string; readonly scope: Scope }[];
  readonly reason: string;
  readonly scope: Scope;
}

export type ItemView = UserItem | SteerItem | RetryItem | NoticeItem | TextView | ToolView | FileView | ApprovalView;

export interface Attachment {
  readonly label: string;
  readonly part: InputPart;
}

export type ToView =
  /** All anew. `first`: items before that index are not sent until asked for. */
  | { readonly type: "reset"; readonly session: SessionView; readonly items: readonly ItemView[]; readonly first: number }
  | {
      readonly type: "update";
      readonly session: SessionView | null;
      readonly items: readonly ItemView[];
      readonly appends: readonly { readonly id: string; readonly text: string; readonly open: boolean }[];
    }
  | { readonly type: "earlier"; readonly items: readonly ItemView[]; readonly first: number }
  | { readonly type: "attach"; readonly attachment: Attachment }
  | { readonly type: "focus" }
  /** The message did not arrive: it goes back into the prompt. */
  | { readonly type: "unsent"; readonly text: string; readonly attachments: readonly Attachment[] };

export type HostCommand = "newSession" | "sessions" | "demo" | "configure" | "nextHunk" | "keepAll" | "undoAll";

export type FromView =
  | { readonly type: "ready" }
  | { readonly type: "submit"; readonly text: string; readonly attachments: readonly Attachment[]; readonly how: "send" | "queue" | "stopFirst" }
  | { readonly type: "stop" }
  | { readonly type: "unsteer"; readonly steerId: string }
  | { readonly type: "allow"; readonly requestId: string; readonly ruleId: string | null }
  | { readonly type: "deny"; readonly requestId: string; readonly reason: string }
  | { readonly type: "review"; readonly hunkIds: readonly string[]; readonly verdict: Verdict }
  | { readonly type: "openFile"; readonly target: string }
  | { readonly type: "terminal"; readonly callId: string }
  | { readonly type: "kill"; readonly terminalId: string }
  | { readonly type: "earlier"; readonly before: number }
  | { readonly type: "mode"; readonly mode: Mode }
  | { readonly type: "command"; readonly command: HostCommand };
