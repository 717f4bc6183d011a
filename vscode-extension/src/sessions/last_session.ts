// Stores which session this window displays, to open it again after a reload: when the chat is first shown, or at once
// if the session is unfinished.
import type * as vscode from "vscode";
import type { Ctx } from "../ctx";
import { inBackground } from "../logger";
import type { ReviewStore } from "../review/store";
import { isDelta } from "./interfaces";
import { findActivity } from "../snapshot/snapshot";

const KEY = "agentLs.session";

interface Memory {
  readonly id: string;
  /** Whether the session is working, waits for an answer, or has changes to review. */
  readonly isUnfinished: boolean;
}

export class LastSession implements vscode.Disposable {
  private readonly subscriptions: { dispose(): void }[];
  private wasReopened = false;
  private saved = "";

  constructor(
    private readonly ctx: Ctx,
    private readonly store: ReviewStore,
  ) {
    this.subscriptions = [ctx.sessions.listen((change) => { if (!isDelta(change)) this.remember(); }), store.onDidChange(() => { this.remember(); })];
  }

  get isUnfinished(): boolean {
    return this.memory?.isUnfinished ?? false;
  }

  /** Opens the stored session again. Does so only once per window; afterwards the user decides what to open. */
  reopen(): void {
    const id = this.memory?.id;
    const { sessions, log } = this.ctx;
    if (this.wasReopened || id === undefined || sessions.currentId !== undefined) return;
    this.wasReopened = true;
    inBackground(log, this.open(id));
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private get memory(): Memory | undefined {
    return this.ctx.extension.workspaceState.get<Memory>(KEY);
  }

  private async open(id: string): Promise<void> {
    const { sessions, client, extension } = this.ctx;
    // Forget a session that cannot be opened, for example a deleted one, so that the error is shown only once.
    if (!(await sessions.open(id)) && client.isRunning) await extension.workspaceState.update(KEY, undefined);
  }

  private remember(): void {
    const { sessions, client, extension, log } = this.ctx;
    // When the server has ended, the snapshot is set to idle, although the session may be unfinished.
    if (sessions.currentId === undefined || !client.isRunning) return;
    const doing = findActivity(sessions.snapshot);
    const memory: Memory = { id: sessions.currentId, isUnfinished: doing === "working" || doing === "waiting" || this.store.hunks.size > 0 };
    const encoded = JSON.stringify(memory);
    if (encoded === this.saved) return;
    this.saved = encoded;
    inBackground(log, extension.workspaceState.update(KEY, memory));
  }
}
