// Ask in place: an input for the selected lines. The agent's changes appear at these lines, to keep or undo. An answer
// without changes appears below them, in a comment thread.
import * as vscode from "vscode";
import type { Catalog } from "../chat/catalog";
import type { Offers } from "../chat/offers";
import { linesOf } from "../context/asking";
import type { Item } from "../snapshot/items";
import type { InputPart } from "../connection/protocol";
import type { Change } from "../sessions/interfaces";
import type { Sessions } from "../sessions/session";
import { AskBox } from "./ask_box";
import { StrayLetters } from "./strays";
import { askInput, formatLocation, type Mention } from "./words";

const CONTROLLER = "agentLs.ask";
const WARM_UP = "warmUp";
const AGENT: vscode.CommentAuthorInformation = { name: "agent-ls" };
const USER: vscode.CommentAuthorInformation = { name: "You" };

/** The lines that a question is about. */
interface Place {
  readonly uri: vscode.Uri;
  readonly range: vscode.Range;
  readonly name: string;
  readonly part: InputPart;
}

/** A question that was sent. `from`: index of its first item in the transcript. */
interface SentQuestion {
  readonly thread: vscode.CommentThread;
  readonly sessionId: string;
  readonly from: number;
}

export class AskInPlace implements vscode.Disposable {
  readonly commands: Readonly<Record<string, (...args: unknown[]) => unknown>> = {
    askInPlace: (mode) => (mode === WARM_UP ? undefined : this.open()),
    askStop: () => this.sessions.interrupt(),
    askClose: (thread) => { this.close(thread as vscode.CommentThread); },
  };

  private readonly controller = vscode.comments.createCommentController(CONTROLLER, "Ask agent-ls");
  private readonly lines = vscode.window.createTextEditorDecorationType({ isWholeLine: true, backgroundColor: new vscode.ThemeColor("editor.rangeHighlightBackground") });
  private readonly subscriptions: { dispose(): void }[];
  private sentQuestion: SentQuestion | undefined;
  /** What was typed into an input that was closed. */
  private draft = "";

  constructor(
    private readonly sessions: Sessions,
    private readonly catalog: Catalog,
    private readonly offers: Offers,
  ) {
    this.subscriptions = [this.controller, this.lines, sessions.listen((change) => { this.follow(change); })];
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  /**
   * Lets Ctrl+I run the command alone. Before VS Code runs a command for the first time, it asks its other processes who
   * provides it, and letters typed until they answer would be in the file before this extension knows of the key. So by
   * then Ctrl+I first takes the keyboard out of the file.
   */
  async getReady(): Promise<void> {
    await vscode.commands.executeCommand("runCommands", { commands: [{ command: "agentLs.askInPlace", args: WARM_UP }] });
    await vscode.commands.executeCommand("setContext", "agentLs.ready", true);
  }

  /** Asks about the selection. Nothing is awaited before the input is open and the file is watched for stray letters. */
  private async open(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor?.document.uri.scheme !== "file") return;
    const strays = new StrayLetters(editor);
    const place = placeOf(editor);
    const box = new AskBox(this.offers, `Ask agent-ls · ${place.name}`, this.draft);
    box.take(strays);
    editor.setDecorations(this.lines, [place.range]);
    try {
      const { text, mentions, isSent } = await box.asked;
      this.draft = isSent ? "" : text;
      // At once: while the message is sent, the user may begin to type elsewhere, and that would be typed into the file.
      await vscode.commands.executeCommand("workbench.action.focusActiveEditorGroup");
      if (isSent) await this.send(place, text, mentions);
    } finally {
      editor.setDecorations(this.lines, []);
    }
  }

  private async send({ uri, range, name, part }: Place, text: string, mentions: readonly Mention[]): Promise<void> {
    const input = askInput(text, part, mentions, await this.catalog.commands());
    const from = this.sessions.snapshot.first + this.sessions.snapshot.items.length;
    const thread = this.controller.createCommentThread(uri, range, [comment(USER, text.trim())]);
    thread.canReply = false;
    thread.contextValue = "working";
    thread.label = `${name} · agent-ls is working…`;
    thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
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

/** Returns the selected lines of an editor as they are now. */
function placeOf({ document, selection }: vscode.TextEditor): Place {
  const { startLine, endLine } = linesOf(selection);
  const { uri } = document, last = Math.min(endLine, document.lineCount) - 1;
  const range = new vscode.Range(startLine, 0, last, document.lineAt(last).text.length);
  const text = document.getText(new vscode.Range(startLine, 0, last + 1, 0));
  const name = formatLocation(vscode.workspace.asRelativePath(uri), startLine, last + 1);
  return { uri, range, name, part: { type: "selection", uri: uri.toString(), startLine, endLine: last + 1, text } };
}
