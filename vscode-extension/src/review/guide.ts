// The guided review of the displayed session: rows in reading order with states and marks. The server decides about
// all of them; this fetches them again shortly after a change of the hunks, while the view shows them.
import * as vscode from "vscode";
import { type GuideRow, isMethodNotFound } from "../connection/protocol";
import type { Connection } from "../sessions/interfaces";
import type { Sessions } from "../sessions/session";
import type { Hunk } from "../snapshot/items";
import { hunkOfInfo } from "./model";
import type { ReviewStore } from "./store";

const SETTLE_MS = 300;

export interface GuidedRow {
  readonly row: GuideRow;
  /** All hunks of the row as the guide lists them, also decided ones. */
  readonly hunks: readonly Hunk[];
}

export class ReviewGuide implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly subscription: vscode.Disposable;
  private isShown = false;
  private turnOf: { readonly sessionId: string | undefined; readonly turnId: string } | undefined;
  private timer: NodeJS.Timeout | undefined;
  private fetched: readonly GuidedRow[] = [];
  private fetchedFor: string | undefined;
  readonly onDidChange = this.changed.event;

  constructor(
    private readonly client: Connection,
    private readonly sessions: Sessions,
    private readonly store: ReviewStore,
  ) {
    this.subscription = store.onDidChange(() => { this.refresh(); });
  }

  /** The rows of the displayed session, as last fetched. */
  get rows(): readonly GuidedRow[] {
    return this.fetchedFor === this.sessions.currentId ? this.fetched : [];
  }

  /** The turn whose changes alone are listed; undefined: all turns, also after another session is displayed. */
  get turnId(): string | undefined {
    return this.isShown && this.turnOf?.sessionId === this.sessions.currentId ? this.turnOf?.turnId : undefined;
  }

  show(isShown: boolean, turnId?: string): void {
    this.isShown = isShown;
    this.turnOf = turnId === undefined ? undefined : { sessionId: this.sessions.currentId, turnId };
    if (isShown) void this.fetch();
  }

  /** Notes that the user has looked at hunks. The server reports it back as an event. */
  noteLooked(hunks: readonly Hunk[]): void {
    const seen = hunks.filter((hunk) => hunk.looked !== true && !this.store.areReadOnly([hunk]));
    if (seen.length > 0) this.client.notify("agent/looked", { hunkIds: seen.map(({ id }) => id) });
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.subscription.dispose();
    this.changed.dispose();
  }

  private refresh(): void {
    if (!this.isShown || this.timer) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      void this.fetch();
    }, SETTLE_MS);
  }

  private async fetch(): Promise<void> {
    const sessionId = this.sessions.currentId;
    if (sessionId === undefined) return;
    try {
      const { files, guide } = await this.client.request("agent/hunks", { sessionId, guide: true, ...(this.turnId !== undefined && { turnId: this.turnId }) });
      const hunks = new Map(files.flatMap((file) => file.hunks.map((raw) => [raw.id, hunkOfInfo(raw, file.uri)] as const)));
      this.fetched = (guide ?? []).map((row) => ({ row, hunks: row.hunkIds.flatMap((id) => hunks.get(id) ?? []) }));
      this.fetchedFor = sessionId;
      this.changed.fire();
    } catch (error) {
      // The session is not open yet, or the server has ended: the next change of the hunks asks again.
      if (!isMethodNotFound(error)) this.fetchedFor = undefined;
    }
  }
}
