// Tells by a notification what the user would miss while he looks elsewhere. It never takes the focus.
import * as vscode from "vscode";
import { question } from "./approvals/choices";
import type { ApprovalPicker } from "./approvals/picker";
import { isTold } from "./attention";
import type { EventData } from "./events";
import { count } from "./review/words";
import type { ReviewStore } from "./review/store";
import { all } from "./review/model";
import type { Change } from "./seams";
import type { Sessions } from "./session";
import { notify } from "./settings";
import type { Terminals } from "./terminals/terminals";

const SHOW = "Show";
const REVIEW = "Review";
const ALLOW = "Allow Once";
const DENY = "Deny";
const MORE = "More…";
const TERMINAL = "Show Terminal";

export class Notifier implements vscode.Disposable {
  private readonly subscription: { dispose(): void };
  /** Requests that were told of. */
  private readonly told = new Set<string>();

  constructor(
    private readonly sessions: Sessions,
    private readonly store: ReviewStore,
    private readonly picker: ApprovalPicker,
    private readonly terminals: Terminals,
    private readonly isChatVisible: () => boolean,
  ) {
    this.subscription = sessions.listen((change) => { this.take(change); });
  }

  dispose(): void {
    this.subscription.dispose();
  }

  private take({ event, switched }: Change): void {
    // Also beside the chat: it is answered in a terminal that may be out of sight.
    if (event?.kind === "terminal_waiting" && this.tells(false)) void this.waits(event.data as EventData["terminal_waiting"]);
    if (!this.tells(this.isChatVisible()) || this.sessions.snapshot.session.access === "readOnly") return;
    // What waited when the window was reloaded is told of as well.
    if (switched === true) for (const item of this.sessions.snapshot.requests.values()) if (item.status === "pending") void this.ask(item.request);
    if (event?.kind === "approval_requested") void this.ask(event.data as EventData["approval_requested"]);
    else if (event?.kind === "question_asked") void this.asksYou(event.data as EventData["question_asked"]);
    else if (event?.kind === "processing_end") void this.done(event.data as EventData["processing_end"]);
    else if (event?.kind === "error") void this.problem(event.data as EventData["error"]);
    else if (event?.kind === "hunk_state") void this.proposed(event.data as EventData["hunk_state"]);
  }

  private tells(isChatVisible: boolean): boolean {
    return isTold(notify(), { hasFocus: vscode.window.state.focused, isChatVisible });
  }

  private async asksYou({ questionId, question: text }: EventData["question_asked"]): Promise<void> {
    if (this.told.has(questionId)) return;
    this.told.add(questionId);
    const answer = await vscode.window.showInformationMessage(`agent-ls asks: ${text.split("\n")[0] ?? ""}`, SHOW);
    if (answer === SHOW) await vscode.commands.executeCommand("agentLs.open");
  }

  private async waits({ callId, terminalId, waiting }: EventData["terminal_waiting"]): Promise<void> {
    if (!waiting || this.told.has(terminalId)) return; // a program that asks often is told of once
    this.told.add(terminalId);
    const title = this.sessions.snapshot.terminals.get(terminalId)?.title.split("\n")[0] ?? "A command";
    const answer = await vscode.window.showInformationMessage(`agent-ls: a command waits for your input: ${title}`, TERMINAL);
    if (answer === TERMINAL) this.terminals.show(callId);
  }

  private async ask(request: EventData["approval_requested"]): Promise<void> {
    if (this.told.has(request.requestId)) return;
    this.told.add(request.requestId);
    const { text, isWhole } = question(request);
    // Only what the line tells in whole may be allowed from it.
    const answers = isWhole ? [ALLOW, MORE, DENY] : [SHOW, MORE, DENY];
    const answer = await vscode.window.showInformationMessage(text, ...answers);
    const item = this.sessions.snapshot.requests.get(request.requestId);
    if (answer === SHOW) await vscode.commands.executeCommand("agentLs.open");
    else if (item && answer === MORE) await this.picker.ask(item);
    else if (item && answer !== undefined) await this.picker.send(item, { decision: answer === ALLOW ? "allow" : "deny" });
  }

  /** A turn that waits for a verdict on what it proposes. */
  private async proposed({ hunks }: EventData["hunk_state"]): Promise<void> {
    const [first] = hunks.filter(({ state }) => state === "proposed");
    if (!first || this.told.has(first.callId)) return;
    this.told.add(first.callId);
    const name = vscode.workspace.asRelativePath(first.path);
    const answer = await vscode.window.showInformationMessage(`agent-ls proposes a change to ${name}`, REVIEW);
    if (answer === REVIEW) await vscode.commands.executeCommand("agentLs.compareHunk", first.id);
  }

  private async done({ reason }: EventData["processing_end"]): Promise<void> {
    if (reason !== "completed") return;
    const title = this.sessions.snapshot.session.title ?? "";
    const waiting = all(this.store.hunks).length;
    const words = [title === "" ? "agent-ls is done" : `agent-ls is done: ${title}`, waiting > 0 ? `${count(waiting, "change")} to review` : ""];
    const answer = await vscode.window.showInformationMessage(words.filter(Boolean).join(" · "), ...(waiting > 0 ? [REVIEW, SHOW] : [SHOW]));
    if (answer === SHOW) await vscode.commands.executeCommand("agentLs.open");
    else if (answer === REVIEW) await vscode.commands.executeCommand("agentLs.nextHunk");
  }

  private async problem({ message, hint }: EventData["error"]): Promise<void> {
    const answer = await vscode.window.showErrorMessage(`agent-ls: ${message}${hint === "" ? "" : ` (${hint})`}`, SHOW);
    if (answer === SHOW) await vscode.commands.executeCommand("agentLs.open");
  }
}
