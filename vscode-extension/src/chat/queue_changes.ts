// Builds the requests that change queued messages. Pure.
import type { QueueChange } from "../connection/protocol";

/** Changes the text of a queued message. Keeps its images, because clients do not have them: no event contains them. */
export function makeTextChange(queuedId: string, text: string): QueueChange {
  return { edit: { queuedId, input: [{ type: "text", text }], keepImages: true } };
}
