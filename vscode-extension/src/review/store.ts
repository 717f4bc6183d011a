// The open hunks of this window, updated by session events. Views listen for changed files.
import * as vscode from "vscode";
import type { Hunk } from "../snapshot/items";
import { isReadOnly } from "../sessions/owners";
import type { FileHunks } from "../connection/protocol";
import type { Change } from "../sessions/interfaces";
import type { Sessions } from "../sessions/session";
import { CELL_SCHEME, areCurrent, hunksInCell } from "./cells";
import { type Hunks, listHunks, applyHunkEvent, listFiles, listHunksOfFile, replaceSession } from "./model";
import { moveHunks, moveInCell, placeHunks } from "./moving";
import { fileOfSide } from "./texts";

function isIn({ first, last, newLines }: Hunk, document: vscode.TextDocument): boolean {
  return last <= document.lineCount && newLines.every((text, i) => document.lineAt(first + i).text === text);
}

/** Finds the open notebook that contains the document of a cell. */
export function notebookOf(document: vscode.TextDocument): vscode.NotebookDocument | undefined {
  if (document.uri.scheme !== CELL_SCHEME) return undefined;
  return vscode.workspace.notebookDocuments.find((notebook) => notebook.getCells().some((cell) => cell.document === document));
}

export class ReviewStore implements vscode.Disposable {
  private current: Hunks = new Map();
  private readonly changed = new vscode.EventEmitter<readonly string[]>();
  private readonly subscriptions: readonly { dispose(): void }[];
  readonly onDidChange = this.changed.event;

  constructor(private readonly sessions: Sessions) {
    this.subscriptions = [
      sessions.listen((change) => { this.take(change); }),
      vscode.workspace.onDidChangeTextDocument((change) => { this.onTyped(change); }),
    ];
  }

  get hunks(): Hunks {
    return this.current;
  }

  /**
   * Returns the URI of this document in the server's encoding, because the same URI can be encoded in different ways.
   * For a cell, returns the URI of its notebook.
   */
  uriOf(document: vscode.TextDocument): string | undefined {
    const own = (notebookOf(document) ?? document).uri.toString();
    return listFiles(this.current).find((uri) => uri === own || vscode.Uri.parse(uri).toString() === own);
  }

  /** Returns the URI of a document's file. For a document of a comparison, returns the URI of the compared file. */
  fileOf(document: vscode.TextDocument): string | undefined {
    const side = fileOfSide(document.uri);
    return side === undefined ? this.uriOf(document) : listFiles(this.current).find((uri) => uri === side);
  }

  /** Returns the open hunks in a document. For a notebook cell, returns the parts of hunks in it, with its lines. */
  hunksIn(document: vscode.TextDocument): Hunk[] {
    const uri = this.uriOf(document);
    const hunks = uri === undefined ? [] : listHunksOfFile(this.current, uri);
    if (document.uri.scheme === CELL_SCHEME) return hunksInCell(hunks, document.uri.toString());
    // The session's owner may have unsaved changes, so omit hunks whose lines are not in this text.
    return this.areReadOnly(hunks) ? hunks.filter((hunk) => isIn(hunk, document)) : hunks;
  }

  byIds(ids: readonly string[]): Hunk[] {
    return listHunks(this.current).filter((hunk) => ids.includes(hunk.id));
  }

  /**
   * Whether the hunks cannot be decided here: they belong to the displayed session, and another editor owns it.
   */
  areReadOnly(hunks: readonly Hunk[]): boolean {
    const { snapshot, currentId } = this.sessions;
    return hunks.length > 0 && isReadOnly(snapshot) && hunks.every(({ sessionId }) => sessionId === currentId);
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    this.changed.dispose();
  }

  /** Applies new positions of a file's hunks that the server has sent. */
  applyPositions(file: FileHunks): void {
    const uri = vscode.Uri.parse(file.uri).toString();
    const open = vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri);
    // Ignore positions for another version of the text, because the server sends new ones after each change.
    if (open && file.version !== undefined && open.version !== file.version) return;
    const notebook = vscode.workspace.notebookDocuments.find((each) => each.uri.toString() === uri);
    if (notebook && !areCurrent(file, new Map(notebook.getCells().map(({ document }) => [document.uri.toString(), document.version])))) return;
    if (placeHunks(this.current, file)) this.changed.fire([file.uri]);
  }

  private onTyped({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    const uri = this.uriOf(document);
    if (uri === undefined || contentChanges.length === 0) return;
    const lengthOf = (line: number) => (line < document.lineCount ? document.lineAt(line).text.length : 0);
    const hasMoved = document.uri.scheme === CELL_SCHEME
      ? moveInCell(this.current, uri, document.uri.toString(), contentChanges, lengthOf)
      : moveHunks(this.current, uri, contentChanges, lengthOf);
    if (hasMoved) this.changed.fire([uri]);
  }

  private take(change: Change): void {
    const uris = this.apply(change);
    if (uris.length > 0) this.changed.fire(uris);
  }

  private apply(change: Change): string[] {
    if (change.forgotten === true) {
      const before = listFiles(this.current);
      this.current = new Map();
      return before;
    }
    if (change.files && change.sessionId !== undefined) return replaceSession(this.current, change.sessionId, change.files);
    // Redraw all files, because the user may decide about other hunks after a change of the owner or the session.
    if (change.event?.kind === "access" || change.switched === true) return listFiles(this.current);
    return change.event ? applyHunkEvent(this.current, change.event) : [];
  }
}
