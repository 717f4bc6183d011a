// The open hunks of this window, kept from what the sessions tell; views of them listen for the files that changed.
import * as vscode from "vscode";
import type { Hunk } from "../items";
import type { Change } from "../seams";
import type { Sessions } from "../session";
import { type Hunks, all, applyEvent, files, ofFile, replaceSession } from "./model";
import { fileOfSide } from "./texts";

export class ReviewStore implements vscode.Disposable {
  private current: Hunks = new Map();
  private readonly changed = new vscode.EventEmitter<readonly string[]>();
  private readonly subscription: { dispose(): void };
  readonly onDidChange = this.changed.event;

  constructor(sessions: Sessions) {
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
    return uri === undefined ? [] : ofFile(this.current, uri);
  }

  byIds(ids: readonly string[]): Hunk[] {
    return all(this.current).filter((hunk) => ids.includes(hunk.id));
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
    return change.event ? applyEvent(this.current, change.event) : [];
  }
}
