// What sessions need from outside, and what they tell. Shapes, and one question about them.
import type { AgentEvent, Configuration, FileHunks, Notifications } from "./protocol";
import type { Method, Requests } from "./requests";

/** The wire, as sessions need it. `request` starts the server when need be, and rejects with what problemOf reads. */
export interface Connection {
  readonly isRunning: boolean;
  request<M extends Method>(method: M, params: Requests[M]["params"]): Promise<Requests[M]["result"]>;
  /** Sent only while the server runs: nothing is started for it. */
  notify<N extends keyof Notifications>(method: N, params: Notifications[N]): void;
}

/** What the editor knows and sessions need. */
export interface Surroundings {
  newKey(): string;
  /** The uri of the folder that a new session works in. */
  folder(): string | undefined;
  configuration(): Configuration;
  /** For the log: the user is not told. */
  log(text: string): void;
}

export interface Change {
  readonly sessionId?: string;
  /** The message that was applied; absent after a subscription or a notice. */
  readonly event?: AgentEvent;
  /** The open hunks that a subscription listed. */
  readonly files?: readonly FileHunks[];
  /** The snapshot that is shown is another one now. */
  readonly switched?: boolean;
  /** The server has gone, and with it what it held. */
  readonly forgotten?: boolean;
}

/** A piece of text: views of anything but the text need not look. */
export function isDelta({ event }: Change): boolean {
  return event !== undefined && event.seq === undefined;
}

/** How a message is sent while the agent works: at its next step, after its turn, or instead of it. */
export type Ask = "send" | "queue" | "stopFirst";
