// The open hunks of this window, kept from what the sessions tell; views of them listen for the files that changed.
import * as vscode from "vscode";
import type { Hunk } from "../items";
import { isReadOnly } from "../owners";
import type { Change } from "../seams";
import type { Sessions } from "../session";
import { type Hunks, all, applyEvent, files, ofFile, replaceSession } from "./model";
import { fileOfSide } from "./texts";

function isIn({ first, last, newLines }: Hunk, document: vscode.TextDocument): boolean {
  return last <= document.lineCount && newLines.every((text, i) => document.lineAt(first + i).text === text);
}

export class ReviewStore implements vscode.Disposable {
  private current: Hunks = new Map();
  private readonly changed = new vscode.EventEmitter<readonly string[]>();
  private readonly subscription: { dispose(): void };
  readonly onDidChange = this.changed.event;

  constructor(private readonly sessions: Sessions) {
    this.subscription = sessions.listen((change) => { this.take(change); });
  }

  get hunks(): Hunks {
    return this.current;
  }

  /** The uri under which the server knows this document; encodings of the same uri differ. */
  uriOf(document: vscode.TextDocument): string | undefined {
    const own = document.uri.toString();
    return files(this.current).find((uri) => uri === own || vscode.Uri.parse(uri).toString() === own);
  }

  /** The same for a document of a comparison: the file that it stands for. */
  fileOf(document: vscode.TextDocument): string | undefined {
    const side = fileOfSide(document.uri);
    return side === undefined ? this.uriOf(document) : files(this.current).find((uri) => uri === side);
  }

  of(document: vscode.TextDocument): Hunk[] {
    const uri = this.uriOf(document);
    const hunks = uri === undefined ? [] : ofFile(this.current, uri);
    // What another editor has not saved yet is not in this text, and lines of it would be shown for what they are not.
    return this.areOthers(hunks) ? hunks.filter((hunk) => isIn(hunk, document)) : hunks;
  }

  byIds(ids: readonly string[]): Hunk[] {
    return all(this.current).filter((hunk) => ids.includes(hunk.id));
  }

  /** Nothing of it is decided here: it is of the session that is shown, and another editor has that. */
  areOthers(hunks: readonly Hunk[]): boolean {
    const { snapshot, currentId } = this.sessions;
    return hunks.length > 0 && isReadOnly(snapshot) && hunks.every(({ sessionId }) => sessionId === currentId);
  }

  dispose(): void {
    this.subscription.dispose();
    this.changed.dispose();
  }

  private take(change: Change): void {
    const uris = this.apply(change);
    if (uris.length > 0) this.changed.fire(uris);
  }

  private apply(change: Change): string[] {
    if (change.forgotten === true) {
      const before = files(this.current);
      this.current = new Map();
      return before;
    }
    if (change.files && change.sessionId !== undefined) return replaceSession(this.current, change.sessionId, change.files);
    // Others may be decided here now, though none has changed.
    if (change.event?.kind === "access" || change.switched === true) return files(this.current);
    return change.event ? applyEvent(this.current, change.event) : [];
  }
}
