// Detects messages that the chat page sent while it still displayed the previous session. Pure.
import type { FromView, Posted } from "../webview/messages";

/** Messages that act on the displayed session. Other messages contain the id of their object, or need no session. */
const OF_SESSION: ReadonlySet<FromView["type"]> = new Set<FromView["type"]>([
  "submit", "stop", "configure", "allow", "deny", "answer", "rollBack", "kill", "terminal", "earlier", "later",
  "unsteer", "editQueued", "moveQueued", "removeQueued", "startQueued",
]);

/** Whether the message is for another session than the current one. */
export function isLate({ type, of }: Posted, current: string | undefined): boolean {
  return OF_SESSION.has(type) && of !== "" && of !== current;
}
