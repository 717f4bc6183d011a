// Applies roll backs to a snapshot. Pure.
import type { EventData } from "../connection/protocol";
import type { Item, Snapshot } from "./items";
import { addItem, markChanged } from "./parts";

/** Marks rolled-back items, which remain readable but are no longer sent to the model. */
export function rollBack(s: Snapshot, items: readonly Item[], { conversation, turns, restoredTurns }: EventData["reverted"]): void {
  if (!conversation) return;
  for (const item of items) {
    const isOut = item.turnId !== undefined && (turns.includes(item.turnId) || (restoredTurns.includes(item.turnId) ? false : item.isOut === true));
    if (isOut === (item.isOut === true)) continue;
    item.isOut = isOut;
    markChanged(s, item);
  }
}

export const rollBackFolds = {
  reverted(s: Snapshot, data: EventData["reverted"], seq: number) {
    rollBack(s, s.items, data);
    addItem(s, (index) => ({ kind: "reverted" as const, id: `i${seq}`, index, data, turnId: data.revertId }));
  },
};
