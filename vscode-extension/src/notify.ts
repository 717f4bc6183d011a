// Tells by a notification what the user would miss while the chat is hidden. It never takes the focus.
import * as vscode from "vscode";
import type { EventData } from "./events";
import type { Change } from "./seams";
import type { Sessions } from "./session";
import { notifies } from "./settings";

const SHOW = "Show";
const ALLOW = "Allow Once";
const DENY = "Deny";

export class Notifier implements vscode.Disposable {
  private readonly subscription: { dispose(): void };

  constructor(
    private readonly sessions: Sessions,
    private readonly isChatVisible: () => boolean,
  ) {
    this.subscription = sessions.listen((change) => { this.take(change); });
  }

  dispose(): void {
    this.subscription.dispose();
  }

  private take({ event }: Change): void {
    if (!event || this.isChatVisible() || !notifies()) return;
    if (event.kind === "approval_requested") void this.ask(event.data as EventData["approval_requested"]);
    else if (event.kind === "processing_end") void this.done(event.data as EventData["processing_end"]);
    else if (event.kind === "error") void this.problem((event.data as EventData["error"]).message);
  }

  private async ask(request: EventData["approval_requested"]): Promise<void> {
    const { effect } = request;
    // Only what a line can show in whole may be answered from a notification.
    const isShort = effect.command !== undefined && effect.command.length <= 120 && !effect.command.includes("\n");
    const what = effect.command !== undefined ? `run: ${request.summary}` : `use ${request.tool}: ${request.summary}`;
    const answers = isShort ? [SHOW, ALLOW, DENY] : [SHOW];
    const answer = await vscode.window.showInformationMessage(`agent-ls asks to ${what}`, ...answers);
    const item = this.sessions.snapshot.requests.get(request.requestId);
    if (answer === SHOW) await vscode.commands.executeCommand("agentLs.open");
    else if (item?.status === "pending" && answer !== undefined) {
      await this.sessions.approve(item, { decision: answer === ALLOW ? "allow" : "deny" });
    }
  }

  private async done({ reason }: EventData["processing_end"]): Promise<void> {
    if (reason !== "completed") return;
    const title = this.sessions.snapshot.session.title ?? "";
    const answer = await vscode.window.showInformationMessage(`agent-ls is done${title === "" ? "" : `: ${title}`}`, SHOW);
    if (answer === SHOW) await vscode.commands.executeCommand("agentLs.open");
  }

  private async problem(message: string): Promise<void> {
    const answer = await vscode.window.showErrorMessage(`agent-ls: ${message}`, SHOW);
    if (answer === SHOW) await vscode.commands.executeCommand("agentLs.open");
  }
}
