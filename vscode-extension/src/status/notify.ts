// Shows notifications while the user does not look at the chat. Never moves the focus.
import * as vscode from "vscode";
import { formatQuestion } from "../approvals/choices";
import type { ApprovalPicker } from "../approvals/picker";
import { shouldNotify } from "./attention";
import { hideErrors, showError } from "./errors";
import type { EventData } from "../connection/protocol";
import { formatCount } from "../review/words";
import type { ReviewStore } from "../review/store";
import { listHunks } from "../review/model";
import type { Change } from "../sessions/interfaces";
import type { Sessions } from "../sessions/session";
import { readNotify } from "../settings/settings";
import type { Terminals } from "../terminals/terminals";

const SHOW = "Show";
const REVIEW = "Review";
const ALLOW = "Allow Once";
const DENY = "Deny";
const MORE = "More…";
const TERMINAL = "Show Terminal";

export class Notifier implements vscode.Disposable {
  private readonly subscription: { dispose(): void };
  /** Ids of the requests that were already reported, so that each is reported once. */
  private readonly notified = new Set<string>();

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
    if (event?.kind === "user_input") hideErrors(this.sessions.snapshot); // errors of earlier messages no longer apply
    // Report this even if the chat is visible, because the terminal that waits for input may be hidden.
    if (event?.kind === "terminal_waiting" && this.mayNotify(false)) void this.reportWaiting(event.data as EventData["terminal_waiting"]);
    if (!this.mayNotify(this.isChatVisible()) || this.sessions.snapshot.session.access === "readOnly") return;
    // Also report requests that were already pending when the session was opened, for example after a reload.
    if (switched === true) for (const item of this.sessions.snapshot.requests.values()) if (item.status === "pending") void this.ask(item.request);
    if (event?.kind === "approval_requested") void this.ask(event.data as EventData["approval_requested"]);
    else if (event?.kind === "question_asked") void this.reportQuestion(event.data as EventData["question_asked"]);
    else if (event?.kind === "processing_end") void this.reportEnd(event.data as EventData["processing_end"]);
    else if (event?.kind === "error") void this.reportProblem(event.data as EventData["error"]);
    else if (event?.kind === "hunk_state") void this.reportProposals(event.data as EventData["hunk_state"]);
  }

  private mayNotify(isChatVisible: boolean): boolean {
    return shouldNotify(readNotify(), { hasFocus: vscode.window.state.focused, isChatVisible });
  }

  private async reportQuestion({ questionId, question: text }: EventData["question_asked"]): Promise<void> {
    if (this.notified.has(questionId)) return;
    this.notified.add(questionId);
    const answer = await vscode.window.showInformationMessage(`agent-ls asks: ${text.split("\n")[0] ?? ""}`, SHOW);
    if (answer === SHOW) await vscode.commands.executeCommand("agentLs.open");
  }

  private async reportWaiting({ callId, terminalId, waiting }: EventData["terminal_waiting"]): Promise<void> {
    if (!waiting || this.notified.has(terminalId)) return; // a program that asks repeatedly is reported once
    this.notified.add(terminalId);
    const title = this.sessions.snapshot.terminals.get(terminalId)?.title.split("\n")[0] ?? "A command";
    const answer = await vscode.window.showInformationMessage(`agent-ls: a command waits for your input: ${title}`, TERMINAL);
    if (answer === TERMINAL) this.terminals.show(callId);
  }

  private async ask(request: EventData["approval_requested"]): Promise<void> {
    if (this.notified.has(request.requestId)) return;
    this.notified.add(request.requestId);
    const { text, isWhole } = formatQuestion(request);
    // Offer Allow only if the text shows the complete request.
    const answers = isWhole ? [ALLOW, MORE, DENY] : [SHOW, MORE, DENY];
    const answer = await vscode.window.showInformationMessage(text, ...answers);
    const item = this.sessions.snapshot.requests.get(request.requestId);
    if (answer === SHOW) await vscode.commands.executeCommand("agentLs.open");
    else if (item && answer === MORE) await this.picker.ask(item);
    else if (item && answer !== undefined) await this.picker.send(item, { decision: answer === ALLOW ? "allow" : "deny" });
  }

  /** Reports that a turn waits for a decision about its proposals. */
  private async reportProposals({ hunks }: EventData["hunk_state"]): Promise<void> {
    const [first] = hunks.filter(({ state }) => state === "proposed");
    if (!first || this.notified.has(first.callId)) return;
    this.notified.add(first.callId);
    const name = vscode.workspace.asRelativePath(first.path);
    const answer = await vscode.window.showInformationMessage(`agent-ls proposes a change to ${name}`, REVIEW);
    if (answer === REVIEW) await vscode.commands.executeCommand("agentLs.compareHunk", first.id);
  }

  private async reportEnd({ reason }: EventData["processing_end"]): Promise<void> {
    if (reason !== "completed") return;
    const title = this.sessions.snapshot.session.title ?? "";
    const waiting = listHunks(this.store.hunks).length;
    const words = [title === "" ? "agent-ls is done" : `agent-ls is done: ${title}`, waiting > 0 ? `${formatCount(waiting, "change")} to review` : ""];
    const answer = await vscode.window.showInformationMessage(words.filter(Boolean).join(" · "), ...(waiting > 0 ? [REVIEW, SHOW] : [SHOW]));
    if (answer === SHOW) await vscode.commands.executeCommand("agentLs.open");
    else if (answer === REVIEW) await vscode.commands.executeCommand("agentLs.nextHunk");
  }

  private async reportProblem({ message, hint }: EventData["error"]): Promise<void> {
    const answer = await showError(`agent-ls: ${message}${hint === "" ? "" : ` (${hint})`}`, SHOW);
    if (answer === SHOW) await vscode.commands.executeCommand("agentLs.open");
  }
}
