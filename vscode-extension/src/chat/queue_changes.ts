// What the user does with messages that wait, as the request says it. Pure.
import type { QueueChange } from "../protocol_chat";

/** Other words for one of them. The pictures that go with it are in no event, and stay. */
export function otherWords(queuedId: string, text: string): QueueChange {
  return { edit: { queuedId, input: [{ type: "text", text }], keepImages: true } };
}
