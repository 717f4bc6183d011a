// Applies events of questions, subagents, compactions and roll backs to a snapshot. Pure.
import type { EventData, QuestionAsked } from "./protocol";
import type { Item, Snapshot } from "./items";
import { add, touch } from "./parts";

export function askQuestion(s: Snapshot, data: QuestionAsked): void {
  if (s.questions.has(data.questionId)) return;
  const { questionId: id, question: text, choices, multiple } = data;
  const item = add(s, (index) => ({
    kind: "question" as const, id, index, text, choices, multiple, status: "pending" as const, answers: [],
  }));
  s.questions.set(id, item);
}

function fields({ status, task, reason, output, turnsUsed: turns }: EventData["subagent"]) {
  return { status, task, reason, output, turns };
}

/** Marks rolled back items: they stay readable, but the model no longer has them. */
export function rollBack(s: Snapshot, items: readonly Item[], { conversation, turns, restoredTurns }: EventData["reverted"]): void {
  if (!conversation) return;
  for (const item of items) {
    const isOut = item.turnId !== undefined && (turns.includes(item.turnId) || (restoredTurns.includes(item.turnId) ? false : item.isOut === true));
    if (isOut === (item.isOut === true)) continue;
    item.isOut = isOut;
    touch(s, item);
  }
}

export const moreFolds = {
  missing: () => undefined,
  question_asked: (s: Snapshot, data: EventData["question_asked"]) => { askQuestion(s, data); },
  question_answered(s: Snapshot, data: EventData["question_answered"]) {
    const item = s.questions.get(data.questionId);
    if (item) Object.assign(item, { status: data.declined ? "declined" : "answered", answers: data.answers });
    touch(s, item);
  },
  subagent(s: Snapshot, data: EventData["subagent"]) {
    const known = s.agents.get(data.agentId);
    if (known) touch(s, Object.assign(known, fields(data)));
    else s.agents.set(data.agentId, add(s, (index) => ({ kind: "subagent" as const, id: data.agentId, index, ...fields(data) })));
  },
  compaction(s: Snapshot, { compactionId, status, message: text, summary }: EventData["compaction"]) {
    const known = s.compactions.get(compactionId);
    if (known) touch(s, Object.assign(known, { status, text, summary }));
    else s.compactions.set(compactionId, add(s, (index) => ({ kind: "compaction" as const, id: `compaction:${compactionId}`, index, status, text, summary })));
  },
  reverted(s: Snapshot, data: EventData["reverted"], seq: number) {
    rollBack(s, s.items, data);
    add(s, (index) => ({ kind: "reverted" as const, id: `i${seq}`, index, data, turnId: data.revertId }));
  },
  rule_removed: () => undefined,
  cache_lost: () => undefined,
  /** Ignored: the diagnostics are in the output of the call. */
  diagnostics: () => undefined,
  save_requested: () => undefined, // the editors show whether they are saved
};
