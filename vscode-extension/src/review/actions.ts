// Commands that send the user's decisions about hunks by hunk id, and that move the cursor to hunks. The server
// changes the files.
import * as vscode from "vscode";
import type { Hunk } from "../snapshot/items";
import { describeOwner } from "../sessions/owners";
import type { ReviewSelector, Verdict } from "../connection/protocol";
import type { Sessions } from "../sessions/session";
import type { ReviewGuide } from "./guide";
import { CELL_SCHEME, toFileLine } from "./cells";
import { listHunks, findHunkAt, findNextHunk, isOpen, listHunksOfFile, splitSelection } from "./model";
import { showInCell } from "./show_in_cell";
import { type ReviewStore, notebookOf } from "./store";
import { fileOfSide, locateProposals } from "./texts";
import { type Node, hunksOf } from "./tree_model";

const SHOWN_LINES = 12; // for each of the two texts

function excerpt(lines: readonly string[]): string {
  const shown = lines.slice(0, SHOWN_LINES).map((line) => `    ${line}`);
  if (lines.length > SHOWN_LINES) shown.push(`    … ${lines.length - SHOWN_LINES} more`);
  return shown.length > 0 ? shown.join("\n") : "    (nothing)";
}

/** Asks the user before undoing hunks in which they have typed, and shows both texts. */
async function mayUndo(edited: readonly Hunk[]): Promise<boolean> {
  if (edited.length === 0) return true;
  const detail = edited
    .map((hunk) => `${vscode.workspace.asRelativePath(vscode.Uri.parse(hunk.uri))}\nNow:\n${excerpt(hunk.newLines)}\nAfter undoing:\n${excerpt(hunk.oldLines)}`)
    .join("\n\n");
  const undo = "Undo and Lose My Typing";
  return (await vscode.window.showWarningMessage("You have typed inside this change, which the agent made.", { modal: true, detail }, undo)) === undo;
}

function showStatus(words: string): void {
  void vscode.window.setStatusBarMessage(`agent-ls: ${words}`, 4000);
}

function isNode(argument: unknown): argument is Node {
  return typeof argument === "object" && argument !== null && "kind" in argument;
}

export class ReviewActions {
  constructor(
    private readonly store: ReviewStore,
    private readonly sessions: Sessions,
    private readonly guide: ReviewGuide,
  ) {}

  /** Finds the hunk that a command refers to by its id or tree node. Without an argument: the hunk at the cursor. */
  findHunk(argument?: unknown): Hunk | undefined {
    const id = isNode(argument) ? hunksOf(argument)[0]?.id : argument;
    if (typeof id === "string") {
      const [named] = this.store.byIds([id]);
      if (!named) showStatus("this change no longer waits for a decision"); // its code lens was not updated yet
      return named;
    }
    const found = this.findHunkAtCursor();
    if (!found) showStatus("there is no change made by the agent at the cursor");
    return found;
  }

  async judgeHunk(verdict: Verdict, argument?: unknown): Promise<void> {
    // Decide only about the hunks that the node contained when it was displayed.
    if (isNode(argument)) await this.judge(hunksOf(argument).map(({ id }) => id), verdict);
    else {
      const hunk = this.findHunk(argument);
      if (hunk) await this.judge([hunk.id], verdict);
    }
  }

  /** Decides about the selected lines only. */
  async judgeSelection(verdict: Verdict): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor) return;
    const { start, end } = editor.selection;
    const last = end.character === 0 && end.line > start.line ? end.line : end.line + 1;
    const side = fileOfSide(editor.document.uri);
    const placed = side === undefined ? this.store.hunksIn(editor.document).map((hunk) => ({ hunk, first: hunk.first, last: hunk.last })) : locateProposals(listHunksOfFile(this.store.hunks, side));
    const { whole, parts } = splitSelection(placed, start.line, last);
    if (whole.length + parts.length === 0) showStatus("these lines contain no change made by the agent");
    if (whole.length > 0) await this.judge(whole.map(({ id }) => id), verdict);
    const isCell = editor.document.uri.scheme === CELL_SCHEME;
    for (const { hunk, lines } of parts) {
      // The server expects line numbers of the file, but these are lines of a cell.
      if (isCell) {
        showStatus("a change in a notebook cell can only be kept or undone as a whole: select all of its lines");
        continue;
      }
      // The file does not contain the proposed lines, so they can only be selected in a comparison.
      if (hunk.state === "proposed" && side === undefined) showStatus("to decide about single lines of a proposed change, open its comparison");
      else await this.judge([hunk.id], verdict, { lines });
    }
  }

  async judgeFile(verdict: Verdict): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const uri = editor && this.store.fileOf(editor.document);
    await this.judge((uri === undefined ? [] : listHunksOfFile(this.store.hunks, uri)).map(({ id }) => id), verdict);
  }

  async judgeAll(verdict: Verdict): Promise<void> {
    await this.judge(listHunks(this.store.hunks).map(({ id }) => id), verdict);
  }

  /** Sends a decision. Returns whether it was sent; the changed hunks arrive as events. */
  async judge(hunkIds: readonly string[], verdict: Verdict, more: { readonly comment?: string; readonly lines?: readonly [number, number] } = {}): Promise<boolean> {
    const asked = this.store.byIds(hunkIds);
    if (this.store.areReadOnly(asked)) {
      this.warnReadOnly();
      return false;
    }
    const edited = verdict === "undo" ? asked.filter((hunk) => hunk.state === "edited") : [];
    if (hunkIds.length === 0 || !(await mayUndo(edited))) return false;
    const which: ReviewSelector = { hunkIds };
    return (await this.sessions.review({ ...which, verdict, ...more, ...(edited.length > 0 && { confirm: true }) })) !== undefined;
  }

  /** Goes to the next (1) or previous (-1) change in all files, starting from the given hunk or the cursor. */
  async goToChange(by: 1 | -1, argument?: unknown): Promise<void> {
    const from = typeof argument === "string" ? this.store.byIds([argument])[0] : undefined;
    const place = findNextHunk(this.store.hunks, from ? { uri: from.uri, line: from.first } : this.cursorPosition(by), by);
    if (place) await this.show(place.hunk);
    else showStatus("there are no changes to review");
  }

  /** Returns the position of the cursor, from which to search for the next (1) or previous (-1) change. */
  private cursorPosition(by: 1 | -1): { readonly uri: string; readonly line: number } | undefined {
    const editor = vscode.window.activeTextEditor;
    const inNotebook = vscode.window.activeNotebookEditor;
    const cell = editor ? notebookOf(editor.document)?.getCells().find(({ document }) => document === editor.document) : inNotebook?.notebook.cellAt(inNotebook.selection.start);
    const document = editor?.document ?? cell?.document;
    if (!document) return undefined;
    const uri = this.store.uriOf(document) ?? document.uri.toString();
    const line = editor?.selection.active.line ?? 0;
    return { uri, line: cell ? toFileLine(listHunksOfFile(this.store.hunks, uri), { cell: cell.index, line }, by) : line };
  }

  /** Puts the cursor on a hunk. Unless called from the tree, also opens the hover with the other text. */
  async showHunk(argument: unknown): Promise<void> {
    const decided = isNode(argument) && argument.kind === "row" && argument.hunks.length === 0 ? argument.guided.hunks[0] : undefined;
    const hunk = decided ?? this.findHunk(argument);
    if (!hunk) return;
    await this.show(hunk);
    if (!isNode(argument)) await vscode.commands.executeCommand("editor.action.showHover");
  }

  /** Puts the cursor on a hunk. In a notebook, puts it into the hunk's cell. */
  async show(hunk: Hunk): Promise<void> {
    if (isOpen(hunk.state)) this.guide.noteLooked([hunk]);
    if (await showInCell(hunk)) return;
    const uri = vscode.Uri.parse(hunk.uri);
    const position = new vscode.Position(hunk.first, 0);
    try {
      await vscode.window.showTextDocument(uri, { selection: new vscode.Range(position, position), preview: true });
    } catch {
      // The file does not exist: it was deleted, or its creation is only proposed. The comparison shows the text
      // that exists.
      await vscode.commands.executeCommand("agentLs.compareHunk", hunk.id);
    }
  }

  /** Warns that another editor owns the session. Its hunks have no buttons, but keybindings and commands exist. */
  private warnReadOnly(): void {
    const takeOver = "Take Over";
    const words = `You cannot keep or undo changes in this window, because this session is owned by ${describeOwner(this.sessions.snapshot.session.owner)}.`;
    void vscode.window.showWarningMessage(words, takeOver).then((chosen) => {
      if (chosen === takeOver) void vscode.commands.executeCommand("agentLs.takeOver");
    });
  }

  private findHunkAtCursor(): Hunk | undefined {
    const editor = vscode.window.activeTextEditor;
    if (!editor) return undefined;
    const { line } = editor.selection.active;
    const file = fileOfSide(editor.document.uri);
    if (file === undefined) {
      const found = findHunkAt(this.store.hunksIn(editor.document), line);
      return found && this.store.byIds([found.id])[0]; // `found` may have lines of a cell instead of lines of the file
    }
    return locateProposals(listHunksOfFile(this.store.hunks, file)).find(({ first, last }) => line >= first && line < Math.max(last, first + 1))?.hunk;
  }
}
