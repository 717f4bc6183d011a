// Context keys that enable commands and keybindings when they apply.
import * as vscode from "vscode";
import { listHunks, listHunksOfFile } from "../review/model";
import type { ReviewStore } from "../review/store";
import { isDelta } from "../sessions/interfaces";
import type { Sessions } from "../sessions/session";
import { findActivity } from "../snapshot/snapshot";

export class Contexts implements vscode.Disposable {
  private readonly values = new Map<string, boolean>();
  private readonly subscriptions: { dispose(): void }[];

  constructor(
    private readonly sessions: Sessions,
    private readonly store: ReviewStore,
  ) {
    const update = () => { this.update(); };
    this.subscriptions = [sessions.listen((change) => { if (!isDelta(change)) update(); }), store.onDidChange(update), vscode.window.onDidChangeActiveTextEditor(update)];
    this.update();
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private update(): void {
    const doing = findActivity(this.sessions.snapshot);
    const editor = vscode.window.activeTextEditor;
    this.set("agentLs.working", doing === "working" || doing === "waiting");
    this.set("agentLs.waiting", doing === "waiting");
    this.set("agentLs.hasHunks", this.store.hunks.size > 0);
    this.set("agentLs.hasOnlyOthersHunks", this.store.areReadOnly(listHunks(this.store.hunks)));
    // If the focus is in the input of a comment, keep the context keys of the commented file.
    if (editor?.document.uri.scheme === "comment") return;
    const file = editor && this.store.fileOf(editor.document);
    const hunks = file === undefined ? [] : listHunksOfFile(this.store.hunks, file);
    const proposals = hunks.filter(({ state }) => state === "proposed");
    // A file with both proposals and applied changes gets the buttons for applied changes.
    this.set("agentLs.fileHasHunks", hunks.length > 0);
    this.set("agentLs.fileHasProposals", proposals.length > 0 && proposals.length === hunks.length);
    this.set("agentLs.fileHasOnlyOthersHunks", this.store.areReadOnly(hunks));
    this.set("agentLs.readOnly", this.sessions.snapshot.session.access === "readOnly");
    this.set("agentLs.hasSession", this.sessions.currentId !== undefined);
  }

  private set(key: string, value: boolean): void {
    if (this.values.get(key) === value) return;
    this.values.set(key, value);
    void vscode.commands.executeCommand("setContext", key, value);
  }
}
