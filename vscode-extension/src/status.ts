// The status bar item: what the agent does, in one word, and the way to the chat.
import * as vscode from "vscode";
import type { Activity } from "./items";
import type { ReviewStore } from "./review/store";
import { isDelta } from "./seams";
import type { Sessions } from "./session";
import { activity } from "./snapshot";

const SHOWN: Record<Activity, { icon: string; word: string }> = {
  working: { icon: "$(sync~spin)", word: "working" },
  waiting: { icon: "$(bell-dot)", word: "asks you" },
  idle: { icon: "$(comment-discussion)", word: "" },
  closed: { icon: "$(comment-discussion)", word: "" },
};

export class Status implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("agentLs.status", vscode.StatusBarAlignment.Right, 90);
  private readonly subscriptions: { dispose(): void }[];

  constructor(
    private readonly sessions: Sessions,
    private readonly store: ReviewStore,
  ) {
    this.item.name = "agent-ls";
    this.item.command = "agentLs.open";
    this.subscriptions = [sessions.listen((change) => { if (!isDelta(change)) this.draw(); }), store.onDidChange(() => { this.draw(); })];
    this.draw();
    this.item.show();
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    this.item.dispose();
  }

  private draw(): void {
    const { snapshot } = this.sessions;
    const { icon, word } = SHOWN[activity(snapshot)];
    const files = this.store.hunks.size;
    const toReview = files > 0 ? `${files} ${files === 1 ? "file" : "files"} to review` : "";
    const words = [word, toReview].filter((each) => each !== "").join(" · ");
    const text = `${icon} agent-ls${words === "" ? "" : `: ${words}`}`;
    if (this.item.text === text) return;
    this.item.text = text;
    this.item.tooltip = snapshot.session.title ?? "Open the chat";
    this.item.accessibilityInformation = { label: `agent-ls ${words === "" ? "is idle" : words}` };
    this.item.backgroundColor = word === SHOWN.waiting.word ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
  }
}
