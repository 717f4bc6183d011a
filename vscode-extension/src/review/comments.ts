// Comment threads on hunks. Submitting a comment also decides about the hunk, or asks for another version. Only lines of
// hunks can be commented on; the chat is for other lines.
import * as vscode from "vscode";
import type { Hunk } from "../snapshot/items";
import type { Verdict } from "../connection/protocol";
import type { Sessions } from "../sessions/session";
import type { ReviewActions } from "./actions";
import { findHunkAt } from "./model";
import type { ReviewStore } from "./store";

const CONTROLLER = "agentLs.comments";

function rangeOf(hunk: Hunk, lineCount: number): vscode.Range {
  const last = Math.min(Math.max(hunk.last - 1, hunk.first), lineCount - 1);
  return new vscode.Range(Math.min(hunk.first, last), 0, last, 0);
}

export class HunkComments implements vscode.CommentingRangeProvider, vscode.Disposable {
  private readonly controller = vscode.comments.createCommentController(CONTROLLER, "agent-ls");
  private readonly subscription: vscode.Disposable;

  constructor(
    private readonly store: ReviewStore,
    private readonly sessions: Sessions,
    private readonly actions: ReviewActions,
  ) {
    this.controller.options = { prompt: "Write a comment on this change for the agent", placeHolder: "What should be different?" };
    // Assigning the provider again makes VS Code request the commentable lines again.
    const offer = () => { this.controller.commentingRangeProvider = this; };
    this.subscription = store.onDidChange(offer);
    offer();
  }

  provideCommentingRanges(document: vscode.TextDocument): vscode.Range[] {
    return this.store.hunksIn(document).map((hunk) => rangeOf(hunk, document.lineCount));
  }

  /**
   * Opens a thread at a hunk of the active editor, with the cursor in it. In a notebook editor opens an input box
   * instead, because cells have no threads.
   */
  async open(hunk: Hunk): Promise<void> {
    if (hunk.cells && vscode.window.activeNotebookEditor) {
      const { prompt, placeHolder } = this.controller.options ?? {};
      const text = await vscode.window.showInputBox({ ...(prompt !== undefined && { prompt }), ...(placeHolder !== undefined && { placeHolder }) });
      if (text !== undefined && text.trim() !== "") await this.send(hunk, text);
      return;
    }
    const lineCount = vscode.window.activeTextEditor?.document.lineCount ?? 1;
    const { start, end } = rangeOf(hunk, lineCount);
    // This command of VS Code counts lines and columns from 1.
    const range = { startLineNumber: start.line + 1, startColumn: 1, endLineNumber: end.line + 1, endColumn: 1 };
    await vscode.commands.executeCommand("workbench.action.addComment", { range, fileComment: false });
  }

  /** Keeps or undoes the hunk, and sends the comment to the model with its next call. */
  async judge(verdict: Verdict, { thread, text }: vscode.CommentReply): Promise<void> {
    const hunk = this.findHunk(thread);
    if (hunk && (await this.actions.judge([hunk.id], verdict, { comment: text.trim() }))) thread.dispose();
  }

  /** Leaves the hunk as it is, and asks the model for another version. */
  async ask({ thread, text }: vscode.CommentReply): Promise<void> {
    const hunk = this.findHunk(thread);
    if (hunk && (await this.send(hunk, text))) thread.dispose();
  }

  dispose(): void {
    this.subscription.dispose();
    this.controller.dispose();
  }

  /** Sends a comment as a message of its own, with the lines of the hunk. Returns whether it was sent. */
  private send({ uri, first, last, newLines }: Hunk, text: string): Promise<boolean> {
    const selection = { type: "selection", uri, startLine: first, endLine: last, text: newLines.map((line) => `${line}\n`).join("") } as const;
    return this.sessions.submit([selection, { type: "text", text: text.trim() }]);
  }

  private findHunk({ uri, range }: vscode.CommentThread): Hunk | undefined {
    const document = vscode.workspace.textDocuments.find((each) => each.uri.toString() === uri.toString());
    const hunks = document && range ? this.store.hunksIn(document) : [];
    const found = range && findHunkAt(hunks, range.end.line);
    if (!found) void vscode.window.setStatusBarMessage("agent-ls: this change no longer waits for a decision", 4000);
    return found;
  }
}
