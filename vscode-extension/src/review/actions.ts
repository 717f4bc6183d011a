// What the user does with hunks: verdicts are sent by id, nothing is changed here.
import * as vscode from "vscode";
import type { Hunk } from "../items";
import { ownerWords } from "../owners";
import type { Verdict } from "../protocol";
import type { ReviewSelector } from "../requests";
import type { Sessions } from "../session";
import { all, at, next, ofFile, selected } from "./model";
import type { ReviewStore } from "./store";
import { fileOfSide, inProposed } from "./texts";
import { type Node, hunksOf } from "./tree_model";

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

function tell(words: string): void {
  void vscode.window.setStatusBarMessage(`agent-ls: ${words}`, 4000);
}

function isNode(argument: unknown): argument is Node {
  return typeof argument === "object" && argument !== null && "kind" in argument;
}

export class ReviewActions {
  constructor(
    private readonly store: ReviewStore,
    private readonly sessions: Sessions,
  ) {}

  /** The hunk that a command is about: named by id or by its line in the tree, else the one at the cursor. */
  hunk(argument?: unknown): Hunk | undefined {
    const id = isNode(argument) ? hunksOf(argument)[0]?.id : argument;
    if (typeof id === "string") {
      const [named] = this.store.byIds([id]);
      if (!named) tell("this change was decided already"); // what is drawn above it follows a moment later
      return named;
    }
    const found = this.atCursor();
    if (!found) tell("the cursor is on no change of the agent");
    return found;
  }

  async judgeHunk(verdict: Verdict, argument?: unknown): Promise<void> {
    // What a node showed is judged, not what has come since.
    if (isNode(argument)) await this.judge(hunksOf(argument).map(({ id }) => id), verdict);
    else {
      const hunk = this.hunk(argument);
      if (hunk) await this.judge([hunk.id], verdict);
    }
  }

  /** The selected lines alone: of each change those that are among them. */
  async judgeSelection(verdict: Verdict): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor) return;
    const { start, end } = editor.selection;
    const last = end.character === 0 && end.line > start.line ? end.line : end.line + 1;
    const side = fileOfSide(editor.document.uri);
    const placed = side === undefined ? this.store.of(editor.document).map((hunk) => ({ hunk, first: hunk.first, last: hunk.last })) : inProposed(ofFile(this.store.hunks, side));
    const { whole, parts } = selected(placed, start.line, last);
    if (whole.length + parts.length === 0) tell("no change of the agent is among these lines");
    if (whole.length > 0) await this.judge(whole.map(({ id }) => id), verdict);
    for (const { hunk, lines } of parts) {
      // In the file stand the lines that a proposal would replace, not its own.
      if (hunk.state === "proposed" && side === undefined) tell("compare it to choose lines of what is proposed");
      else await this.judge([hunk.id], verdict, { lines });
    }
  }

  async judgeFile(verdict: Verdict): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const uri = editor && this.store.fileOf(editor.document);
    await this.judge((uri === undefined ? [] : ofFile(this.store.hunks, uri)).map(({ id }) => id), verdict);
  }

  async judgeAll(verdict: Verdict): Promise<void> {
    await this.judge(all(this.store.hunks).map(({ id }) => id), verdict);
  }

  /** True when it was sent; what changed comes as events. */
  async judge(hunkIds: readonly string[], verdict: Verdict, more: { readonly comment?: string; readonly lines?: readonly [number, number] } = {}): Promise<boolean> {
    const asked = this.store.byIds(hunkIds);
    if (this.store.areOthers(asked)) {
      this.tellOwner();
      return false;
    }
    const edited = verdict === "undo" ? asked.filter((hunk) => hunk.state === "edited") : [];
    if (hunkIds.length === 0 || !(await mayUndo(edited))) return false;
    const which: ReviewSelector = { hunkIds };
    return (await this.sessions.review({ ...which, verdict, ...more, ...(edited.length > 0 && { confirm: true }) })) !== undefined;
  }

  /** To the next change, through this file and on to the others. */
  async go(by: 1 | -1): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const uri = editor && (this.store.uriOf(editor.document) ?? editor.document.uri.toString());
    const here = editor && uri !== undefined ? { uri, line: editor.selection.active.line } : undefined;
    const place = next(this.store.hunks, here, by);
    if (place) await this.show(place.hunk);
    else tell("no change of the agent waits");
  }

  /** Puts the cursor on a hunk; asked for in the file itself, it also shows what stood there before. */
  async showHunk(argument: unknown): Promise<void> {
    const hunk = this.hunk(argument);
    if (!hunk) return;
    await this.show(hunk);
    if (!isNode(argument)) await vscode.commands.executeCommand("editor.action.showHover");
  }

  async show(hunk: Hunk): Promise<void> {
    const uri = vscode.Uri.parse(hunk.uri);
    const position = new vscode.Position(hunk.first, 0);
    try {
      await vscode.window.showTextDocument(uri, { selection: new vscode.Range(position, position), preview: true });
    } catch {
      // The agent deleted it, or has not made it yet: the comparison shows the text that there is.
      await vscode.commands.executeCommand("agentLs.compareHunk", hunk.id);
    }
  }

  /** No button is drawn for these, but keys and commands come here all the same. */
  private tellOwner(): void {
    const takeOver = "Take Over";
    const words = `Nothing is decided here: this session is owned by ${ownerWords(this.sessions.snapshot.session.owner)}.`;
    void vscode.window.showWarningMessage(words, takeOver).then((chosen) => {
      if (chosen === takeOver) void vscode.commands.executeCommand("agentLs.takeOver");
    });
  }

  private atCursor(): Hunk | undefined {
    const editor = vscode.window.activeTextEditor;
    if (!editor) return undefined;
    const { line } = editor.selection.active;
    const file = fileOfSide(editor.document.uri);
    if (file === undefined) return at(this.store.of(editor.document), line);
    return inProposed(ofFile(this.store.hunks, file)).find(({ first, last }) => line >= first && line < Math.max(last, first + 1))?.hunk;
  }
}
