// The status bar item: activity, model and cost; a click opens the chat.
import * as vscode from "vscode";
import { listHunks } from "../review/model";
import type { ReviewStore } from "../review/store";
import { isDelta } from "../sessions/interfaces";
import type { Sessions } from "../sessions/session";
import { statusLine } from "./status_words";

const LINKS = [
  ["Chat", "agentLs.open"], ["Changes", "agentLs.changes.focus"], ["Model and Mode", "agentLs.configure"], ["Log", "agentLs.showLog"],
] as const;

export class Status implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("agentLs.status", vscode.StatusBarAlignment.Right, 90);
  private readonly subscriptions: { dispose(): void }[];
  private isServerGone = false;

  constructor(
    private readonly sessions: Sessions,
    private readonly store: ReviewStore,
  ) {
    this.item.name = "agent-ls";
    this.subscriptions = [
      sessions.listen((change) => {
        if (isDelta(change)) return;
        if (change.switched === true || change.event) this.isServerGone = false;
        this.draw();
      }),
      store.onDidChange(() => { this.draw(); }),
    ];
    this.draw();
    this.item.show();
  }

  /** Shows that the server ended unexpectedly and is not restarted automatically. */
  showServerEnd(): void {
    this.isServerGone = true;
    this.draw();
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    this.item.dispose();
  }

  private draw(): void {
    const proposals = listHunks(this.store.hunks).filter(({ state }) => state === "proposed").length;
    const line = statusLine(this.sessions.snapshot, { files: this.store.hunks.size, proposals }, this.isServerGone);
    this.item.text = line.text;
    this.item.tooltip = this.tooltip(line.details);
    this.item.accessibilityInformation = { label: line.label };
    this.item.backgroundColor = line.isUrgent ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    this.item.command = this.isServerGone ? "agentLs.restart" : proposals > 0 ? "agentLs.nextHunk" : "agentLs.open";
  }

  private tooltip(details: readonly string[]): vscode.MarkdownString {
    const text = new vscode.MarkdownString();
    text.isTrusted = { enabledCommands: LINKS.map(([, command]) => command) };
    for (const line of details) text.appendText(`${line}\n\n`);
    return text.appendMarkdown(LINKS.map(([title, command]) => `[${title}](command:${command})`).join(" · "));
  }
}
