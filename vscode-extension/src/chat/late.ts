// What the user did in the chat while it still showed another session than the window does by now. Pure.
import type { FromView, Posted } from "../webview/messages";

/** All that means the session that is shown. The others name what they are about, or mean none. */
const OF_SESSION: ReadonlySet<FromView["type"]> = new Set<FromView["type"]>([
  "submit", "stop", "configure", "allow", "deny", "answer", "rollBack", "kill", "terminal", "earlier", "later",
  "unsteer", "editQueued", "moveQueued", "removeQueued", "startQueued",
]);

/** It is not meant for the session that is current now. */
export function isLate({ type, of }: Posted, current: string | undefined): boolean {
  return OF_SESSION.has(type) && of !== "" && of !== current;
}
