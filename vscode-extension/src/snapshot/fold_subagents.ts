// Applies events of subagents to a snapshot. Pure.
import type { EventData } from "../connection/protocol";
import type { Snapshot } from "./items";
import { addItem, markChanged } from "./parts";

function fields({ status, task, reason, output, turnsUsed: turns }: EventData["subagent"]) {
  return { status, task, reason, output, turns };
}

export const subagentFolds = {
  subagent(s: Snapshot, data: EventData["subagent"]) {
    const known = s.agents.get(data.agentId);
    if (known) markChanged(s, Object.assign(known, fields(data)));
    else s.agents.set(data.agentId, addItem(s, (index) => ({ kind: "subagent" as const, id: data.agentId, index, ...fields(data) })));
  },
};
