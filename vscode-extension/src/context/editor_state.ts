// Tells the server what the user looks at, and which changed files it cannot see (agent/editorState).
import * as vscode from "vscode";
import type { Client } from "../client";
import type { EditorState, TextRange } from "../protocol";

const QUIET_MS = 150; // moving through files should not send one message per file

function uriOf(input: unknown): vscode.Uri | undefined {
  if (input instanceof vscode.TabInputText || input instanceof vscode.TabInputCustom || input instanceof vscode.TabInputNotebook) {
    return input.uri;
  }
  return undefined;
}

/** Dirty tabs of files whose text is not synced: notebooks, custom editors, files too large for extensions. */
function unsynced(): string[] {
  const synced = new Set(vscode.workspace.textDocuments.map((document) => document.uri.toString()));
  const dirty = vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter((tab) => tab.isDirty);
  const uris = dirty.flatMap((tab) => uriOf(tab.input) ?? []).filter((uri) => uri.scheme === "file");
  return [...new Set(uris.map((uri) => uri.toString()))].filter((uri) => !synced.has(uri)).sort();
}

function rangeOf({ start, end }: vscode.Range): TextRange {
  return { startLine: start.line, startCharacter: start.character, endLine: end.line, endCharacter: end.character };
}

function visible(): string[] {
  const uris = vscode.window.visibleTextEditors.map(({ document }) => document.uri).filter(({ scheme }) => scheme === "file");
  return [...new Set(uris.map((uri) => uri.toString()))].sort();
}

export class EditorStateReporter implements vscode.Disposable {
  private timer: NodeJS.Timeout | undefined;
  private lastSent = "";
  private active: Pick<EditorState, "activeUri" | "selection"> = {};
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly client: Client) {
    const later = () => { this.later(); };
    this.subscriptions = [
      vscode.window.onDidChangeActiveTextEditor(later),
      vscode.window.onDidChangeTextEditorSelection(later),
      vscode.window.onDidChangeVisibleTextEditors(later),
      vscode.window.tabGroups.onDidChangeTabs(later),
    ];
  }

  /** The server is new: what was told before is forgotten. */
  restart(): void {
    this.lastSent = "";
    this.later();
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private later(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { this.send(); }, QUIET_MS);
  }

  private send(): void {
    const editor = vscode.window.activeTextEditor;
    // A panel or a terminal in front: the last file is still what the user means.
    if (editor?.document.uri.scheme === "file") this.active = { activeUri: editor.document.uri.toString(), selection: rangeOf(editor.selection) };
    const state: EditorState = { ...this.active, visibleUris: visible(), unsynced: unsynced() };
    const told = JSON.stringify(state);
    if (told === this.lastSent) return;
    this.lastSent = told;
    this.client.notify("agent/editorState", state);
  }
}
