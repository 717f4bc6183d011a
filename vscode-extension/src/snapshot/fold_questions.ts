// Applies events of the model's questions to a snapshot. Pure.
import type { EventData, QuestionAsked } from "../connection/protocol";
import type { Snapshot } from "./items";
import { addItem, markChanged } from "./parts";

export function askQuestion(s: Snapshot, data: QuestionAsked): void {
  if (s.questions.has(data.questionId)) return;
  const { questionId: id, question: text, choices, multiple } = data;
  const item = addItem(s, (index) => ({
    kind: "question" as const, id, index, text, choices, multiple, isLimit: data.purpose === "limit", status: "pending" as const, answers: [],
  }));
  s.questions.set(id, item);
}

export const questionFolds = {
  question_asked: (s: Snapshot, data: EventData["question_asked"]) => { askQuestion(s, data); },
  question_answered(s: Snapshot, data: EventData["question_answered"]) {
    const item = s.questions.get(data.questionId);
    if (item) Object.assign(item, { status: data.declined ? "declined" : "answered", answers: data.answers });
    markChanged(s, item);
  },
};
