// Shows the failure of a command outside the chat, with buttons for possible next steps.
import * as vscode from "vscode";
import { problemOf } from "../connection/protocol";
import { showError } from "../status/errors";
import { actionsOf, hintForPeople } from "./failure_actions";

const BUTTONS = {
  setKey: ["Set API Key…", "agentLs.setApiKey"],
  chooseModel: ["Choose Model…", "agentLs.configure"],
  manageTrust: ["Manage Trust…", "workbench.trust.manage"],
  showLog: ["Show Log", "agentLs.showLog"],
} as const;

function hasButton(action: string): action is keyof typeof BUTTONS {
  return Object.hasOwn(BUTTONS, action);
}

export async function showFailure(error: unknown): Promise<void> {
  const { message, hint, kind = "" } = problemOf(error);
  const words = [message, hintForPeople(hint)].map((each) => each.trim().replace(/\.$/, "")).filter((each) => each !== "").map(sentence);
  const buttons = actionsOf(kind, false).filter(hasButton).map((action) => BUTTONS[action]);
  const chosen = await showError(`agent-ls: ${words.join(". ")}.`, ...buttons.map(([title]) => title));
  const command = buttons.find(([title]) => title === chosen)?.[1];
  if (command !== undefined) await vscode.commands.executeCommand(command);
}

function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}
