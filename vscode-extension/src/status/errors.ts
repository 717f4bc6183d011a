// Error messages outside the chat. VS Code keeps an error with buttons until the user closes it, so an error that no
// longer applies has to be hidden.
import * as vscode from "vscode";
import type { Snapshot } from "../snapshot/items";
import { countPending } from "./attention";

/** The errors that are displayed now. */
const shown = new Set<symbol>();

/** Shows an error and returns the title of the chosen button; undefined if it was closed or hidden. */
export async function showError(text: string, ...buttons: string[]): Promise<string | undefined> {
  const error = Symbol(text);
  shown.add(error);
  try {
    return await vscode.window.showErrorMessage(text, ...buttons);
  } finally {
    shown.delete(error);
  }
}

/**
 * Hides the displayed errors, because the agent works again. VS Code can only hide all messages together; they stay in
 * the notification centre. Hides nothing while the agent waits for the user, because one of the messages may be its
 * question.
 */
export function hideErrors(snapshot: Snapshot): void {
  if (shown.size === 0 || countPending(snapshot, 0) > 0) return;
  shown.clear();
  void vscode.commands.executeCommand("notifications.hideToasts");
}
