// A comment on a hunk: a thread of the editor in the file, and what becomes of the change that it is about.
import * as vscode from "vscode";
import type { Hunk } from "../items";
import type { Verdict } from "../protocol";
import type { Sessions } from "../session";
import type { ReviewActions } from "./actions";
import type { ReviewStore } from "./store";
import { nature, verdictWords } from "./words";

const DRAWN_MS = 200; // until the editor has drawn a new thread; nothing tells of it
const CONTROLLER = "agentLs.comments";

interface Asked {
  readonly thread: vscode.CommentThread;
  readonly hunkId: string;
}

export class HunkComments implements vscode.Disposable {
  private readonly controller = vscode.comments.createCommentController(CONTROLLER, "agent-ls");
  private readonly subscription: vscode.Disposable;
  private asked: Asked[] = [];

  constructor(
    private readonly store: ReviewStore,
    private readonly sessions: Sessions,
    private readonly actions: ReviewActions,
  ) {
    this.controller.options = { prompt: "Tell the agent…", placeHolder: "What should be different? The agent reads it." };
    this.subscription = store.onDidChange(() => { this.drop(); });
  }

  /** Opens a thread at a hunk, for the user to write in. The cursor must be there. */
  open(hunk: Hunk): void {
    const known = this.asked.find(({ hunkId }) => hunkId === hunk.id);
    const thread = known?.thread ?? this.make(hunk);
    thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
    if (!known) this.asked.push({ thread, hunkId: hunk.id });
    setTimeout(() => void vscode.commands.executeCommand("workbench.action.focusCommentOnCurrentLine"), DRAWN_MS);
  }

  /** Keeps or undoes the hunk, and tells the model why with its next call. */
  async judge(verdict: Verdict, { thread, text }: vscode.CommentReply): Promise<void> {
    const found = this.of(thread);
    if (!found || text.trim() === "") return;
    if (await this.actions.judge([found.hunkId], verdict, text.trim())) this.close(thread);
  }

  /** Leaves the hunk as it is and asks for another version of it. */
  async ask({ thread, text }: vscode.CommentReply): Promise<void> {
    const found = this.of(thread);
    const [hunk] = found ? this.store.byIds([found.hunkId]) : [];
    if (!hunk || text.trim() === "") return;
    const { uri, first, last } = hunk;
    const selection = { type: "selection", uri, startLine: first, endLine: last, text: hunk.newLines.map((line) => `${line}\n`).join("") } as const;
    if (await this.sessions.submit([selection, { type: "text", text: text.trim() }])) this.close(thread);
  }

  cancel(argument: unknown): void {
    const thread = (argument as Partial<vscode.CommentReply> | undefined)?.thread ?? (argument as vscode.CommentThread | undefined);
    if (thread) this.close(thread);
  }

  dispose(): void {
    this.subscription.dispose();
    this.controller.dispose();
  }

  private make(hunk: Hunk): vscode.CommentThread {
    const line = Math.max(hunk.last - 1, hunk.first);
    const thread = this.controller.createCommentThread(vscode.Uri.parse(hunk.uri), new vscode.Range(hunk.first, 0, line, 0), []);
    thread.label = `The agent's change · ${nature(hunk)}`;
    // The menus of the thread depend on it: the words for a proposal are others.
    thread.contextValue = verdictWords(hunk).keep.toLowerCase();
    return thread;
  }

  private of(thread: vscode.CommentThread): Asked | undefined {
    return this.asked.find((each) => each.thread === thread);
  }

  private close(thread: vscode.CommentThread): void {
    this.asked = this.asked.filter((each) => each.thread !== thread);
    thread.dispose();
  }

  /** Threads of hunks that are judged by now. A half-written comment on one is told to nobody, so it goes with it. */
  private drop(): void {
    for (const { thread, hunkId } of this.asked) if (this.store.byIds([hunkId]).length === 0) this.close(thread);
  }
}
