// Virtual documents with the accepted and the proposed text of a file. The server provides them if it can
// (workspace/textDocumentContent); else they are computed from the open hunks.
import * as vscode from "vscode";
import type { Hunk } from "../snapshot/items";
import { listHunksOfFile } from "./model";
import type { ReviewStore } from "./store";
import { SCHEMES, type Side, baseText, fileOfSide, proposedText, serverParts, sideOf, sideParts } from "./texts";

const TYPING_MS = 300; // pause in typing after which the virtual document is updated

export function sideUri(side: Side, fileUri: string): vscode.Uri {
  return vscode.Uri.from(sideParts(side, fileUri, vscode.Uri.parse(fileUri).path));
}

async function currentText(fileUri: string): Promise<string> {
  const uri = vscode.Uri.parse(fileUri);
  const open = vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
  if (open) return open.getText();
  try {
    return new TextDecoder().decode(await vscode.workspace.fs.readFile(uri));
  } catch {
    return ""; // the file does not exist: the agent has deleted it, or proposes to create it
  }
}

/** Requests the text of a virtual document's URI; undefined if the server does not provide it. */
export type AskServer = (uri: string) => Promise<string | undefined>;

export class SideTexts implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly subscriptions: vscode.Disposable[];
  private timer: NodeJS.Timeout | undefined;
  readonly onDidChange = this.changed.event;

  constructor(
    private readonly store: ReviewStore,
    private readonly ask: AskServer,
  ) {
    this.subscriptions = [
      ...SCHEMES.map((scheme) => vscode.workspace.registerTextDocumentContentProvider(scheme, this)),
      store.onDidChange((uris) => { this.refresh(uris); }),
      vscode.workspace.onDidChangeTextDocument(({ document }) => { this.onTyped(document); }),
    ];
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const file = fileOfSide(uri);
    const side = sideOf(uri);
    if (file === undefined) return "";
    const given = await this.ask(vscode.Uri.from(serverParts(uri)).toString());
    if (given !== undefined) return given;
    const make: (current: string, hunks: readonly Hunk[]) => string = side === "base" ? baseText : proposedText;
    const current = await currentText(file);
    return make(current, listHunksOfFile(this.store.hunks, file));
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const subscription of this.subscriptions) subscription.dispose();
    this.changed.dispose();
  }

  private onTyped(document: vscode.TextDocument): void {
    const file = this.store.uriOf(document);
    if (file === undefined || this.openFor([file]).length === 0) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { this.refresh([file]); }, TYPING_MS);
  }

  private openFor(files: readonly string[]): vscode.TextDocument[] {
    return vscode.workspace.textDocuments.filter(({ uri }) => files.includes(fileOfSide(uri) ?? ""));
  }

  private refresh(files: readonly string[]): void {
    for (const { uri } of this.openFor(files)) this.changed.fire(uri);
  }
}
