// The documents to compare a file with: its accepted and its proposed text. The server gives them where it can
// (workspace/textDocumentContent, registered by the language client); else they are made here from the open hunks.
import * as vscode from "vscode";
import type { Hunk } from "../items";
import { ofFile } from "./model";
import type { ReviewStore } from "./store";
import { SCHEME, type Side, baseText, fileOfSide, proposedText, sideOf, sideParts } from "./texts";

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
    return ""; // not there: the agent deleted it, or will create it
  }
}

export class SideTexts implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly subscriptions: vscode.Disposable[];
  readonly onDidChange = this.changed.event;

  constructor(private readonly store: ReviewStore) {
    this.subscriptions = [
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      store.onDidChange((uris) => { this.refresh(uris); }),
    ];
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const file = fileOfSide(uri);
    const side = sideOf(uri.path);
    if (file === undefined || side === undefined || side === "empty") return "";
    const make: (current: string, hunks: readonly Hunk[]) => string = side === "base" ? baseText : proposedText;
    const current = await currentText(file);
    return make(current, ofFile(this.store.hunks, file));
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    this.changed.dispose();
  }

  private refresh(uris: readonly string[]): void {
    const open = vscode.workspace.textDocuments.filter(({ uri }) => uris.includes(fileOfSide(uri) ?? ""));
    for (const { uri } of open) this.changed.fire(uri);
  }
}
