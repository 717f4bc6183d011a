// Applies events of compactions to a snapshot. Pure.
import type { EventData } from "../connection/protocol";
import type { Snapshot } from "./items";
import { addItem, markChanged } from "./parts";

export const compactionFolds = {
  compaction(s: Snapshot, { compactionId, status, message: text, summary }: EventData["compaction"]) {
    const known = s.compactions.get(compactionId);
    if (known) markChanged(s, Object.assign(known, { status, text, summary }));
    else s.compactions.set(compactionId, addItem(s, (index) => ({ kind: "compaction" as const, id: `compaction:${compactionId}`, index, status, text, summary })));
  },
};
