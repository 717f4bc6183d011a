// Context keys, so that commands and keys are there when they mean something.
import * as vscode from "vscode";
import { all, ofFile } from "./review/model";
import type { ReviewStore } from "./review/store";
import { isDelta } from "./seams";
import type { Sessions } from "./session";
import { activity } from "./snapshot";

export class Contexts implements vscode.Disposable {
  private readonly told = new Map<string, boolean>();
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
    const doing = activity(this.sessions.snapshot);
    const editor = vscode.window.activeTextEditor;
    this.set("agentLs.working", doing === "working" || doing === "waiting");
    this.set("agentLs.waiting", doing === "waiting");
    this.set("agentLs.hasHunks", this.store.hunks.size > 0);
    this.set("agentLs.hasOnlyOthersHunks", this.store.areOthers(all(this.store.hunks)));
    // A comment that is written is a document of its own: the file below it is still in front.
    if (editor?.document.uri.scheme === "comment") return;
    const file = editor && this.store.fileOf(editor.document);
    const hunks = file === undefined ? [] : ofFile(this.store.hunks, file);
    const proposals = hunks.filter(({ state }) => state === "proposed");
    // Buttons of a file speak of what is in it when there are both.
    this.set("agentLs.fileHasHunks", hunks.length > 0);
    this.set("agentLs.fileHasProposals", proposals.length > 0 && proposals.length === hunks.length);
    this.set("agentLs.fileHasOnlyOthersHunks", this.store.areOthers(hunks));
    this.set("agentLs.readOnly", this.sessions.snapshot.session.access === "readOnly");
    this.set("agentLs.hasSession", this.sessions.currentId !== undefined);
  }

  private set(key: string, value: boolean): void {
    if (this.told.get(key) === value) return;
    this.told.set(key, value);
    void vscode.commands.executeCommand("setContext", key, value);
  }
}
