// The badge of the agent's icon: the number of pending requests, or a mark that a turn has ended unseen.
import * as vscode from "vscode";
import { Attention, type Sight, countPending } from "./attention";
import type { ChatPanel } from "../chat/panel";
import { listHunks } from "../review/model";
import type { ReviewStore } from "../review/store";
import { isDelta } from "../sessions/interfaces";
import type { Sessions } from "../sessions/session";

export class ChatBadge implements vscode.Disposable {
  private readonly attention = new Attention();
  private readonly subscriptions: { dispose(): void }[];

  constructor(
    private readonly sessions: Sessions,
    private readonly store: ReviewStore,
    private readonly panel: ChatPanel,
  ) {
    const look = () => {
      this.attention.updateSight(this.sight());
      this.draw();
    };
    panel.onVisibility = look;
    this.subscriptions = [
      sessions.listen((change) => {
        if (isDelta(change)) return;
        this.attention.applyEvent(change.event, this.sight());
        this.draw();
      }),
      store.onDidChange(() => { this.draw(); }),
      vscode.window.onDidChangeWindowState(look),
    ];
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private sight(): Sight {
    return { hasFocus: vscode.window.state.focused, isChatVisible: this.panel.isVisible };
  }

  private draw(): void {
    const proposals = listHunks(this.store.hunks).filter(({ state }) => state === "proposed").length;
    this.panel.badge = this.attention.badge(countPending(this.sessions.snapshot, proposals));
  }
}
