// Reports the active file, the selection, the visible files, and unsaved files that are not synced (agent/editorState).
import * as vscode from "vscode";
import type { Client } from "../connection/client";
import type { EditorSelection, EditorState } from "../connection/protocol";
import type { Along } from "../webview/messages";

const QUIET_MS = 150; // pause before sending, so that moving quickly through files sends one message

function uriOf(input: unknown): vscode.Uri | undefined {
  if (input instanceof vscode.TabInputText || input instanceof vscode.TabInputCustom || input instanceof vscode.TabInputNotebook) {
    return input.uri;
  }
  return undefined;
}

/** Dirty tabs of files whose text is not synced: notebooks, custom editors, files too large for extensions. */
function unsyncedUris(): string[] {
  const synced = new Set(vscode.workspace.textDocuments.map((document) => document.uri.toString()));
  const dirty = vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter((tab) => tab.isDirty);
  const uris = dirty.flatMap((tab) => uriOf(tab.input) ?? []).filter((uri) => uri.scheme === "file");
  return [...new Set(uris.map((uri) => uri.toString()))].filter((uri) => !synced.has(uri)).sort();
}

function rangeOf({ start, end }: vscode.Range): EditorSelection {
  return { startLine: start.line, startCharacter: start.character, endLine: end.line, endCharacter: end.character };
}

function visibleUris(): string[] {
  const uris = vscode.window.visibleTextEditors.map(({ document }) => document.uri).filter(({ scheme }) => scheme === "file");
  return [...new Set(uris.map((uri) => uri.toString()))].sort();
}

export class EditorStateReporter implements vscode.Disposable {
  private timer: NodeJS.Timeout | undefined;
  private lastSent = "";
  private active: Pick<EditorState, "activeUri" | "selection"> = {};
  private isShared = true;
  /** Called when the automatic attachment has changed. */
  onChange: () => void = () => undefined;
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly client: Client) {
    const later = () => { this.scheduleSend(); };
    this.subscriptions = [
      vscode.window.onDidChangeActiveTextEditor(later),
      vscode.window.onDidChangeTextEditorSelection(later),
      vscode.window.onDidChangeVisibleTextEditors(later),
      vscode.window.tabGroups.onDidChangeTabs(later),
    ];
  }

  /** The automatic attachment of messages: the active file with its selected lines. */
  get activeAttachment(): Along | null {
    const { activeUri, selection } = this.active;
    if (activeUri === undefined) return null;
    const isSelected = selection !== undefined && JSON.stringify([selection.startLine, selection.startCharacter]) !== JSON.stringify([selection.endLine, selection.endCharacter]);
    const lines = isSelected ? `:${selection.startLine + 1}-${selection.endLine + 1}` : "";
    return { label: `${vscode.workspace.asRelativePath(vscode.Uri.parse(activeUri))}${lines}`, isShared: this.isShared };
  }

  /** Turns the automatic attachment on or off. */
  setSharing(isShared: boolean): void {
    this.isShared = isShared;
    this.send();
  }

  /** Sends the state to a server that has just started. */
  restart(): void {
    this.lastSent = "";
    this.scheduleSend();
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private scheduleSend(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { this.send(); }, QUIET_MS);
  }

  private send(): void {
    const editor = vscode.window.activeTextEditor;
    // While a panel or a terminal has the focus, the last active file still counts as active.
    if (editor?.document.uri.scheme === "file") this.active = { activeUri: editor.document.uri.toString(), selection: rangeOf(editor.selection) };
    this.onChange();
    const state: EditorState = { ...(this.isShared && { ...this.active, visibleUris: visibleUris() }), unsynced: unsyncedUris() };
    const encoded = JSON.stringify(state);
    if (encoded === this.lastSent) return;
    this.lastSent = encoded;
    this.client.notify("agent/editorState", state);
  }
}
