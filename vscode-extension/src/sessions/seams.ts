// Interfaces that sessions need, and the changes that they report.
import type { AgentEvent, Configuration, FileHunks, Method, Notifications, Requests } from "../connection/protocol";

/** The connection. `request` starts the server if necessary, and rejects with an error for problemOf. */
export interface Connection {
  readonly isRunning: boolean;
  request<M extends Method>(method: M, params: Requests[M]["params"]): Promise<Requests[M]["result"]>;
  /** Sends a notification if the server is running; does not start it. */
  notify<N extends keyof Notifications>(method: N, params: Notifications[N]): void;
}

/** Information of the editor that sessions need. */
export interface EditorContext {
  newKey(): string;
  /** The URI of the folder for a new session. */
  folder(): string | undefined;
  configuration(): Configuration;
  /** Writes to the log only. */
  log(text: string): void;
}

export interface Change {
  readonly sessionId?: string;
  /** The applied event; absent after a subscription or a notice. */
  readonly event?: AgentEvent;
  /** The open hunks that a subscription listed. */
  readonly files?: readonly FileHunks[];
  /** The displayed snapshot is another one. */
  readonly switched?: boolean;
  /** The server has ended, and its state is gone. */
  readonly forgotten?: boolean;
}

/** Whether the change is only a delta of a text, which most views can ignore. */
export function isDelta({ event }: Change): boolean {
  return event !== undefined && event.seq === undefined;
}

/** When a message sent during a turn takes effect: at the next step, after the turn, or instead of it. */
export type Ask = "send" | "queue" | "stopFirst";
