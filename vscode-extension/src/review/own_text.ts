// Accepts a proposal with the user's own text. The proposed text opens as a small document; saving it accepts it.
import { basename } from "node:path";
import * as vscode from "vscode";
import type { Hunk } from "../snapshot/items";
import type { Sessions } from "../sessions/session";

const SCHEME = "agent-ls-edit";

interface Draft {
  readonly hunkId: string;
  text: Uint8Array;
  mtime: number;
}

function refuse(uri: vscode.Uri): never {
  throw vscode.FileSystemError.NoPermissions(uri);
}

export class OwnText implements vscode.FileSystemProvider, vscode.CodeLensProvider, vscode.Disposable {
  private readonly drafts = new Map<string, Draft>();
  private readonly changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  private readonly subscriptions: vscode.Disposable[];
  readonly onDidChangeFile = this.changed.event;

  constructor(private readonly sessions: Sessions) {
    this.subscriptions = [
      vscode.workspace.registerFileSystemProvider(SCHEME, this, { isCaseSensitive: true }),
      vscode.languages.registerCodeLensProvider({ scheme: SCHEME }, this),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => { if (uri.scheme === SCHEME) this.drafts.delete(uri.path); }),
    ];
  }

  async open(hunk: Hunk): Promise<void> {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${hunk.id}/${basename(vscode.Uri.parse(hunk.uri).path)}` });
    const text = new TextEncoder().encode(hunk.newLines.map((line) => `${line}\n`).join(""));
    if (!this.drafts.has(uri.path)) this.drafts.set(uri.path, { hunkId: hunk.id, text, mtime: Date.now() });
    await vscode.window.showTextDocument(uri, { preview: false });
  }

  /** Accepts the proposal with the text of the active editor, like saving it. Also works if the text is unchanged. */
  async accept(): Promise<void> {
    const document = vscode.window.activeTextEditor?.document;
    if (document?.uri.scheme !== SCHEME) return;
    if (document.isDirty) await document.save();
    else await this.send(document.uri, document.getText());
  }

  provideCodeLenses(): vscode.CodeLens[] {
    const range = new vscode.Range(0, 0, 0, 0);
    return [new vscode.CodeLens(range, { title: "$(check) Accept with This Text (or save it; close it to leave the proposal as it is)", command: "agentLs.acceptOwnText" })];
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined); // no changes to watch: only this provider changes the files
  }

  stat(uri: vscode.Uri): vscode.FileStat {
    const { text, mtime } = this.draftOf(uri);
    return { type: vscode.FileType.File, ctime: mtime, mtime, size: text.byteLength };
  }

  readFile(uri: vscode.Uri): Uint8Array {
    return this.draftOf(uri).text;
  }

  async writeFile(uri: vscode.Uri, content: Uint8Array): Promise<void> {
    const draft = this.draftOf(uri);
    if (!(await this.send(uri, new TextDecoder().decode(content)))) {
      throw vscode.FileSystemError.Unavailable("The proposal was not accepted. The chat has the reason.");
    }
    Object.assign(draft, { text: content, mtime: Date.now() });
  }

  readDirectory(uri: vscode.Uri): [string, vscode.FileType][] {
    return refuse(uri);
  }

  createDirectory(uri: vscode.Uri): void {
    refuse(uri);
  }

  delete(uri: vscode.Uri): void {
    refuse(uri);
  }

  rename(uri: vscode.Uri): void {
    refuse(uri);
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    this.changed.dispose();
  }

  private draftOf(uri: vscode.Uri): Draft {
    const draft = this.drafts.get(uri.path);
    if (!draft) throw vscode.FileSystemError.FileNotFound(uri);
    return draft;
  }

  private async send(uri: vscode.Uri, replacement: string): Promise<boolean> {
    const { hunkId } = this.draftOf(uri);
    const answer = await this.sessions.review({ hunkIds: [hunkId], verdict: "keep", replacement });
    if (!answer || answer.refused.length > 0) return false;
    const tabs = vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs);
    const own = tabs.filter(({ input }) => input instanceof vscode.TabInputText && input.uri.toString() === uri.toString());
    // Close the tab after the save has ended: before that VS Code counts the document as unsaved and would ask the user.
    setTimeout(() => void vscode.window.tabGroups.close(own, true), 0);
    return true;
  }
}
