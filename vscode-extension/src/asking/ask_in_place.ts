// Ask in place: a small input at the selection. The agent's changes appear at these lines, to keep or undo. An answer
// without changes appears in the same comment thread.
import * as vscode from "vscode";
import type { Catalog } from "../chat/catalog";
import type { Offers } from "../chat/offers";
import { linesOf } from "../context/asking";
import type { Item } from "../snapshot/items";
import type { InputPart } from "../connection/protocol";
import type { Change } from "../sessions/interfaces";
import type { Sessions } from "../sessions/session";
import { AskCompletion } from "./completion";
import { askInput, formatLocation } from "./words";

const CONTROLLER = "agentLs.ask";
const AGENT: vscode.CommentAuthorInformation = { name: "agent-ls" };
const USER: vscode.CommentAuthorInformation = { name: "You" };

/** The lines for which VS Code may open the input now. */
interface AskableRange {
  readonly uri: vscode.Uri;
  readonly range: vscode.Range;
}

/** A question that was sent. `from`: index of its first item in the transcript. */
interface SentQuestion {
  readonly thread: vscode.CommentThread;
  readonly sessionId: string;
  readonly from: number;
}

export class AskInPlace implements vscode.CommentingRangeProvider, vscode.Disposable {
  readonly commands: Readonly<Record<string, (...args: unknown[]) => unknown>> = {
    askInPlace: () => this.open(),
    askSend: (reply) => this.send(reply as vscode.CommentReply),
    askCancel: () => this.cancel(),
    askStop: () => this.sessions.interrupt(),
    askClose: (thread) => { this.close(thread as vscode.CommentThread); },
  };

  private readonly controller = vscode.comments.createCommentController(CONTROLLER, "Ask agent-ls");
  private readonly completion: AskCompletion;
  private readonly subscriptions: { dispose(): void }[];
  private place: AskableRange | undefined;
  /** The lines of the input, counted from 1 as VS Code's command expects. */
  private target: object | undefined;
  private onRangesProvided: () => void = () => undefined;
  private sentQuestion: SentQuestion | undefined;

  /** `hold(true)` prevents review comments on the same lines while the input opens; `hold(false)` allows them again. */
  constructor(
    private readonly sessions: Sessions,
    private readonly catalog: Catalog,
    offers: Offers,
    private readonly hold: (isHeld: boolean) => void,
  ) {
    this.completion = new AskCompletion(offers);
    this.subscriptions = [this.completion, sessions.listen((change) => { this.follow(change); })];
  }

  provideCommentingRanges(document: vscode.TextDocument): vscode.Range[] {
    const { place } = this;
    if (place?.uri.toString() !== document.uri.toString()) return [];
    this.onRangesProvided();
    return [place.range];
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    this.controller.dispose();
  }

  /** Opens the input at the selection, with the cursor in it. */
  private async open(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor?.document.uri.scheme !== "file") return;
    const { document, selection } = editor;
    const { startLine, endLine } = linesOf(selection);
    const last = Math.min(endLine, document.lineCount) - 1;
    const range = new vscode.Range(startLine, 0, last, document.lineAt(last).text.length);
    const name = formatLocation(vscode.workspace.asRelativePath(document.uri), startLine, last + 1);
    // VS Code sets the heading of a thread without comments, so the prompt of the input names the lines.
    this.controller.options = { prompt: `Ask agent-ls · ${name}`, placeHolder: `Ask agent-ls about ${name}  (@ file, / command, Enter sends)` };
    this.completion.clear();
    await this.offer({ uri: document.uri, range });
    try {
      this.target = { startLineNumber: range.start.line + 1, startColumn: 1, endLineNumber: range.end.line + 1, endColumn: range.end.character + 1 };
      await vscode.commands.executeCommand("workbench.action.addComment", { range: this.target, fileComment: false });
    } finally {
      // Do not assign the range provider again: VS Code would redraw all threads, and the input would lose the focus.
      this.place = undefined;
      this.hold(false);
    }
  }

  /** Makes lines commentable. Resolves when VS Code knows about them. */
  private async offer(place: AskableRange): Promise<void> {
    const offered = new Promise<void>((resolve) => { this.onRangesProvided = resolve; });
    this.place = place;
    this.hold(true);
    this.controller.commentingRangeProvider = this;
    await offered;
    // The workbench handles messages in order, and the ranges are sent before the second of these commands. So
    // when that command returns, the workbench has received the ranges.
    await vscode.commands.executeCommand("setContext", "agentLs.asking", true);
    await vscode.commands.executeCommand("setContext", "agentLs.asking", false);
  }

  /** Closes the input by running the command that opened it again: until the text is sent, VS Code owns the thread. */
  private async cancel(): Promise<void> {
    await vscode.commands.executeCommand("workbench.action.addComment", { range: this.target, fileComment: false });
  }

  private async send({ thread, text }: vscode.CommentReply): Promise<void> {
    if (text.trim() === "") return;
    const selection = await selectionOf(thread);
    const input = askInput(text, selection, await this.completion.resolveMentions(), await this.catalog.commands());
    const from = this.sessions.snapshot.first + this.sessions.snapshot.items.length;
    thread.canReply = false;
    thread.contextValue = "working";
    thread.label = `${nameOf(thread)} · agent-ls is working…`;
    thread.comments = [comment(USER, text.trim())];
    thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
    await vscode.commands.executeCommand("workbench.action.focusActiveEditorGroup");
    const isSent = await this.sessions.submit(input, this.sessions.snapshot.state === "PROCESSING" ? "queue" : "send");
    const sessionId = this.sessions.currentId;
    if (!isSent || sessionId === undefined) {
      showAnswer(thread, "The message was not sent. The chat has the reason.");
      return;
    }
    this.sentQuestion = { thread, sessionId, from };
  }

  /**
   * Shows the answer when the turn of the question ends. If the turn changed files, removes the thread instead,
   * because the changes are displayed in the files. Also removes it if the server has ended or the user has switched
   * to another session.
   */
  private follow({ sessionId, event, switched, forgotten }: Change): void {
    const { sentQuestion: sent, sessions } = this;
    if (!sent) return;
    if (forgotten === true || (switched === true && sessions.currentId !== sent.sessionId)) this.close(sent.thread);
    else if (sessionId === sent.sessionId && event?.kind === "processing_end") this.end(sent);
  }

  private end({ thread, from }: SentQuestion): void {
    const items = this.sessions.snapshot.items.filter(({ index }) => index >= from);
    if (!items.some(({ kind }) => kind === "user")) return; // the end of an earlier turn: the question is still queued
    this.sentQuestion = undefined;
    if (items.some(({ kind }) => kind === "file")) thread.dispose();
    else showAnswer(thread, findAnswer(items));
  }

  private close(thread: vscode.CommentThread): void {
    if (this.sentQuestion?.thread === thread) this.sentQuestion = undefined;
    thread.dispose();
  }
}

/** Returns the text to show for a turn without changes: its error if it failed, else its answer. */
function findAnswer(items: readonly Item[]): string {
  const problem = items.findLast((item) => item.kind === "notice" && item.level === "error");
  if (problem?.kind === "notice") return problem.text;
  const answer = items.findLast((item) => item.kind === "text");
  return answer?.kind === "text" && answer.part.text !== "" ? answer.part.text : "Nothing was changed.";
}

function showAnswer(thread: vscode.CommentThread, words: string): void {
  thread.contextValue = "done";
  thread.label = `${nameOf(thread)} · agent-ls answered`;
  thread.comments = [...thread.comments, comment(AGENT, words)];
}

function comment(author: vscode.CommentAuthorInformation, text: string): vscode.Comment {
  return { author, body: new vscode.MarkdownString(text), mode: vscode.CommentMode.Preview };
}

/** The file and lines of a thread, for its heading. */
function nameOf({ uri, range }: vscode.CommentThread): string {
  const file = vscode.workspace.asRelativePath(uri);
  return range ? formatLocation(file, range.start.line, range.end.line + 1) : file;
}

async function selectionOf({ uri, range }: vscode.CommentThread): Promise<InputPart> {
  if (!range) return { type: "file", uri: uri.toString() };
  const document = await vscode.workspace.openTextDocument(uri);
  const startLine = range.start.line, endLine = range.end.line + 1;
  return { type: "selection", uri: uri.toString(), startLine, endLine, text: document.getText(new vscode.Range(startLine, 0, endLine, 0)) };
}
