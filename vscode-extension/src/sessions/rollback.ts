// Dialogs for the current session: roll back to the state before a message, with a preview; compact; list and
// delete rules.
import * as vscode from "vscode";
import type { RuleInfo } from "../connection/protocol";
import type { Sessions } from "./session";
import { ANSWERS, TYPED, questionOf, revertOf } from "./rollback_plan";

/**
 * Shows a preview and asks what to roll back. Returns the text of the user message if the roll back removes that
 * message.
 */
export async function rollBack(sessions: Sessions, atTurnId: string): Promise<string | undefined> {
  const plan = await sessions.requestForCurrent("agent/revert", (change) => ({ ...change, atTurnId, files: "preview" }));
  if (!plan) return undefined;
  const { title, conversation, files, answers } = questionOf(plan, (path) => vscode.workspace.asRelativePath(path));
  const changed = files.length === 0 ? "No file will be changed." : `Files:\n${files.map((line) => `• ${line}`).join("\n")}\n\n${TYPED}`;
  const chosen = await vscode.window.showWarningMessage(title, { modal: true, detail: `${conversation}\n\n${changed}` }, ...answers.map((each) => ANSWERS[each]));
  const answer = answers.find((each) => ANSWERS[each] === chosen);
  if (answer === undefined) return undefined;
  const done = await sessions.requestForCurrent("agent/revert", (change) => ({ ...change, atTurnId, ...revertOf(answer) }));
  return answer === "files" ? undefined : done?.inputText;
}

/** Lets the user choose the message to roll back to. */
export async function chooseRollBack(sessions: Sessions): Promise<string | undefined> {
  const said = sessions.snapshot.items.flatMap((item) => (item.kind === "user" && item.turnId !== undefined && item.isOut !== true ? [{ label: item.text.split("\n")[0] ?? "", turnId: item.turnId }] : []));
  const chosen = await vscode.window.showQuickPick(said.reverse(), { placeHolder: said.length > 0 ? "Choose a message: the session goes back to the state before it" : "There is nothing to roll back yet" });
  return chosen && rollBack(sessions, chosen.turnId);
}

export async function compact(sessions: Sessions, instructions = ""): Promise<void> {
  await sessions.requestForCurrent("agent/compact", (change) => ({ ...change, ...(instructions !== "" && { instructions }) }));
}

function uses({ scope, hits }: RuleInfo): string {
  return `this ${scope} · ${hits === 1 ? "used once" : `used ${hits} times`}`;
}

/** Lists the user's rules, which allow calls without asking; each can be deleted. */
export async function showRules(sessions: Sessions): Promise<void> {
  const answer = await sessions.requestForCurrent("agent/rules", ({ sessionId }) => ({ sessionId }));
  if (!answer) return;
  const remove: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon("trash"), tooltip: "Remove the rule: ask about such actions again" };
  const pick = vscode.window.createQuickPick<vscode.QuickPickItem & { readonly rule: RuleInfo }>();
  pick.placeholder = answer.rules.length > 0 ? "Allowed without approval; the trash icon removes a rule" : "You have not stored any rules; approval requests offer rules";
  pick.items = answer.rules.map((rule) => ({ label: rule.label, description: uses(rule), rule, buttons: [remove] }));
  pick.onDidTriggerItemButton(async ({ item }) => {
    const done = await sessions.requestForCurrent("agent/removeRule", (change) => ({ ...change, ruleId: item.rule.id }));
    if (done) pick.items = pick.items.filter(({ rule }) => rule !== item.rule);
  });
  pick.onDidAccept(() => { pick.hide(); });
  pick.onDidHide(() => { pick.dispose(); });
  pick.show();
}
