// Builds the requests that change queued messages. Pure.
import type { QueueChange } from "../connection/protocol";

/** Changes the text of a queued message. Its images stay, because no event has them. */
export function makeTextChange(queuedId: string, text: string): QueueChange {
  return { edit: { queuedId, input: [{ type: "text", text }], keepImages: true } };
}
