// A quick pick with all possible answers to an approval request, for use outside the chat.
import * as vscode from "vscode";
import type { ApprovalItem } from "../snapshot/items";
import { type ApproveAnswer, effectOf } from "../connection/protocol";
import type { Sessions } from "../sessions/session";
import { type Choice, formatQuestion, isLong, listChoicesBelowLine } from "./choices";

export class ApprovalPicker {
  constructor(private readonly sessions: Sessions) {}

  /** Allows a request once; shows a long one in the chat instead. */
  async allow(item: ApprovalItem): Promise<void> {
    if (isLong(item.request)) await vscode.commands.executeCommand("agentLs.open");
    else await this.send(item, { decision: "allow" });
  }

  /** Shows the possible answers to a request, and sends the one that the user chooses. */
  async ask(item: ApprovalItem): Promise<void> {
    const { request } = item;
    const picks = listChoicesBelowLine(request).map((choice) => ({ label: choice.label, description: choice.detail, choice }));
    const title = formatQuestion(request).text;
    const chosen = await vscode.window.showQuickPick(picks, { title, placeHolder: effectOf(request).command ?? request.summary, ignoreFocusOut: true });
    if (chosen) await this.choose(item, chosen.choice);
  }

  async send(item: ApprovalItem, answer: ApproveAnswer): Promise<void> {
    const now = this.sessions.snapshot.requests.get(item.id);
    if (now?.status !== "pending") void vscode.window.setStatusBarMessage("agent-ls: this request was answered already", 4000);
    else await this.sessions.approve(now, answer);
  }

  /** Asks the user for a reason, which may stay empty, and denies the request. Cancelling the input sends nothing. */
  async denyWithReason(item: ApprovalItem): Promise<void> {
    const reason = await vscode.window.showInputBox({ prompt: "Reason for denying (sent to the model)", placeHolder: item.summary, ignoreFocusOut: true });
    if (reason !== undefined) await this.send(item, { decision: "deny", ...(reason.trim() !== "" && { reason: reason.trim() }) });
  }

  private async choose(item: ApprovalItem, choice: Choice): Promise<void> {
    switch (choice.kind) {
      case "send":
        return this.send(item, choice.answer);
      case "reason":
        return this.denyWithReason(item);
      case "edit":
        return this.edit(item);
      case "show":
        await vscode.commands.executeCommand("agentLs.open");
    }
  }

  private async edit(item: ApprovalItem): Promise<void> {
    const asked = effectOf(item.request).command ?? "";
    // An input box has only one line, so commands with several lines are edited in the chat.
    if (asked.includes("\n")) {
      await vscode.commands.executeCommand("agentLs.open");
      return;
    }
    const command = await vscode.window.showInputBox({ prompt: "The command to run instead", value: asked, ignoreFocusOut: true });
    if (command === undefined || command.trim() === "") return;
    await this.send(item, command === asked ? { decision: "allow" } : { decision: "allow", replacement: { command } });
  }
}
