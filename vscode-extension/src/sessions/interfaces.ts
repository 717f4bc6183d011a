// The interfaces that Sessions needs (connection, editor), and the changes that it reports to its listeners.
import type { AgentEvent, Configuration, FileHunks, Method, Notifications, Requests } from "../connection/protocol";

/** The connection to the server. `request` starts the server if necessary. Its errors can be read by problemOf. */
export interface Connection {
  readonly isRunning: boolean;
  request<M extends Method>(method: M, params: Requests[M]["params"]): Promise<Requests[M]["result"]>;
  /** Sends a notification if the server is running; does not start it. */
  notify<N extends keyof Notifications>(method: N, params: Notifications[N]): void;
}

/** Information that sessions need from the editor or the browser. */
export interface EditorContext {
  newKey(): string;
  /** The URI of the folder for a new session. */
  folder(): string | undefined;
  configuration(): Configuration;
  /** What the server chooses where the user has chosen nothing, as far as it is known. */
  defaults?(): Configuration;
  /** Writes to the log only. */
  log(text: string): void;
}

export interface Change {
  readonly sessionId?: string;
  /** The applied event; absent after a subscription or a notice. */
  readonly event?: AgentEvent;
  /** The session's open hunks, present after a subscription. */
  readonly files?: readonly FileHunks[];
  /** Another snapshot is displayed now. */
  readonly switched?: boolean;
  /** The server has ended, so its sessions and hunks are no longer known. */
  readonly forgotten?: boolean;
}

/** Whether the change is only a delta of a text, which most views can ignore. */
export function isDelta({ event }: Change): boolean {
  return event !== undefined && event.seq === undefined;
}

/** What a message does during a turn: steer it at its next step, wait for its end, or stop it and start a new turn. */
export type SubmitMode = "send" | "queue" | "stopFirst";
