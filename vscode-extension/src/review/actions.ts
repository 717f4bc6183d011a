// What the user does with hunks: verdicts are sent by id, nothing is changed here.
import * as vscode from "vscode";
import type { Hunk } from "../items";
import type { Verdict } from "../protocol";
import type { ReviewSelector } from "../requests";
import type { Sessions } from "../session";
import { all, at, next } from "./model";
import type { ReviewStore } from "./store";

const SHOWN_LINES = 12; // of each text: enough to see which is which

function excerpt(lines: readonly string[]): string {
  const shown = lines.slice(0, SHOWN_LINES).map((line) => `    ${line}`);
  if (lines.length > SHOWN_LINES) shown.push(`    … ${lines.length - SHOWN_LINES} more`);
  return shown.length > 0 ? shown.join("\n") : "    (nothing)";
}

/** Undoing what the user has typed in is asked about, with both texts. */
async function mayUndo(edited: readonly Hunk[]): Promise<boolean> {
  if (edited.length === 0) return true;
  const detail = edited
    .map((hunk) => `${vscode.workspace.asRelativePath(vscode.Uri.parse(hunk.uri))}\nNow:\n${excerpt(hunk.newLines)}\nAfter undoing:\n${excerpt(hunk.oldLines)}`)
    .join("\n\n");
  const undo = "Undo and Lose My Typing";
  return (await vscode.window.showWarningMessage("You have typed in this change of the agent.", { modal: true, detail }, undo)) === undo;
}

export class ReviewActions {
  constructor(
    private readonly store: ReviewStore,
    private readonly sessions: Sessions,
  ) {}

  /** The hunk named, else the one at the cursor. */
  async judgeHunk(verdict: Verdict, hunkId?: unknown): Promise<void> {
    const id = typeof hunkId === "string" ? hunkId : this.atCursor()?.id;
    if (id === undefined) void vscode.window.setStatusBarMessage("agent-ls: the cursor is on no change of the agent", 4000);
    else await this.judge([id], verdict);
  }

  async judgeFile(verdict: Verdict): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    await this.judge((editor ? this.store.of(editor.document) : []).map((hunk) => hunk.id), verdict);
  }

  async judgeAll(verdict: Verdict): Promise<void> {
    await this.judge(all(this.store.hunks).map((hunk) => hunk.id), verdict);
  }

  async judge(hunkIds: readonly string[], verdict: Verdict): Promise<void> {
    const edited = verdict === "undo" ? this.store.byIds(hunkIds).filter((hunk) => hunk.state === "edited") : [];
    if (hunkIds.length === 0 || !(await mayUndo(edited))) return;
    const which: ReviewSelector = { hunkIds };
    await this.sessions.review({ ...which, verdict, ...(edited.length > 0 && { confirm: true }) });
  }

  /** To the next change, through this file and on to the others. */
  async go(by: 1 | -1): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const uri = editor && (this.store.uriOf(editor.document) ?? editor.document.uri.toString());
    const here = editor && uri !== undefined ? { uri, line: editor.selection.active.line } : undefined;
    const place = next(this.store.hunks, here, by);
    if (place) await this.show(place.hunk);
    else void vscode.window.setStatusBarMessage("agent-ls: no change of the agent waits", 4000);
  }

  /** Puts the cursor on a hunk and shows what stood there before. */
  async showHunk(hunkId: unknown): Promise<void> {
    const hunk = typeof hunkId === "string" ? this.store.byIds([hunkId])[0] : this.atCursor();
    if (!hunk) return;
    await this.show(hunk);
    await vscode.commands.executeCommand("editor.action.showHover");
  }

  private atCursor(): Hunk | undefined {
    const editor = vscode.window.activeTextEditor;
    return editor && at(this.store.of(editor.document), editor.selection.active.line);
  }

  private async show(hunk: Hunk): Promise<void> {
    const uri = vscode.Uri.parse(hunk.uri);
    const position = new vscode.Position(hunk.first, 0);
    await vscode.window.showTextDocument(uri, { selection: new vscode.Range(position, position), preview: true });
  }
}
