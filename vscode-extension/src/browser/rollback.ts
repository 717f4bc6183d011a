// Shows a preview of rolling back to the state before a message, and rolls back if the user confirms.
import type { Sessions } from "../sessions/session";
import { ANSWERS, TYPED, questionOf, revertOf } from "../sessions/rollback_plan";
import { h } from "../webview/dom";
import { askUser } from "./dialogs";

/** Returns the text of the user message if the roll back removed that message. */
export async function rollBack(sessions: Sessions, atTurnId: string, name: (path: string) => string): Promise<string | undefined> {
  const plan = await sessions.requestForCurrent("agent/revert", (change) => ({ ...change, atTurnId, files: "preview" }));
  if (!plan) return undefined;
  const { title, conversation, files, answers } = questionOf(plan, name);
  const changed = files.length === 0
    ? [h("p", {}, "No file will be changed.")]
    : [h("ul", {}, ...files.map((line) => h("li", {}, line))), h("p", {}, TYPED)];
  const chosen = await askUser(title, [conversation, ...changed], answers.map((each, i) => ({ label: ANSWERS[each], isPrimary: i === 0 })));
  const answer = chosen === undefined ? undefined : answers[chosen];
  if (answer === undefined) return undefined;
  const done = await sessions.requestForCurrent("agent/revert", (change) => ({ ...change, atTurnId, ...revertOf(answer) }));
  return answer === "files" ? undefined : done?.inputText;
}
