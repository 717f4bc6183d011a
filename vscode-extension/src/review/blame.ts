// Who wrote a line: a hover, and a bar in the gutter at the lines of the agent, in files for which the user switched it
// on. The server reads it from its logs; VS Code moves the bars with the text, and a save fetches them again.
import * as vscode from "vscode";
import { type BlameResult, isMethodNotFound, problemOf } from "../connection/protocol";
import type { Connection } from "../sessions/interfaces";
import { agentLines, describeLine, withoutLinks } from "./blame_words";

const BAR = '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16"><rect x="6" width="3" height="16" fill="#3794ff" fill-opacity="0.7"/></svg>';

export class LineAuthors implements vscode.HoverProvider, vscode.Disposable {
  private readonly bar = vscode.window.createTextEditorDecorationType({
    gutterIconPath: vscode.Uri.parse(`data:image/svg+xml;utf8,${encodeURIComponent(BAR)}`),
    gutterIconSize: "contain",
    overviewRulerColor: new vscode.ThemeColor("editorInfo.foreground"),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  });
  /** The newest answers by document, of the documents with bars. */
  private readonly shown = new Map<string, BlameResult | undefined>();
  private readonly subscriptions: readonly vscode.Disposable[];

  constructor(private readonly client: Connection) {
    this.subscriptions = [
      vscode.languages.registerHoverProvider({ scheme: "file" }, this),
      vscode.workspace.onDidSaveTextDocument((document) => { if (this.shown.has(document.uri.toString())) void this.fetch(document); }),
      vscode.workspace.onDidCloseTextDocument((document) => { this.shown.delete(document.uri.toString()); }),
      vscode.window.onDidChangeVisibleTextEditors(() => { this.draw(); }),
    ];
  }

  /** Shows or hides the bars and hovers in the active file. */
  async toggle(): Promise<void> {
    const document = vscode.window.activeTextEditor?.document;
    if (document?.uri.scheme !== "file") return;
    const name = document.uri.toString();
    if (this.shown.delete(name)) {
      this.draw();
      return;
    }
    this.shown.set(name, undefined);
    await this.fetch(document);
  }

  /** Says who wrote the line at the cursor. */
  async showLine(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor?.document.uri.scheme !== "file") return;
    const result = await this.ask(editor.document);
    const words = result && describeLine(result, editor.selection.active.line);
    if (words !== undefined) void vscode.window.showInformationMessage(withoutLinks(words.join(" · ")));
  }

  async provideHover(document: vscode.TextDocument, position: vscode.Position): Promise<vscode.Hover | undefined> {
    if (!this.shown.has(document.uri.toString())) return undefined;
    const result = await this.ask(document);
    const words = result && describeLine(result, position.line);
    // Plain text, because the message may contain mark-up.
    return words && new vscode.Hover(new vscode.MarkdownString().appendText(words.join("\n")));
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    this.bar.dispose();
  }

  private async ask(document: vscode.TextDocument): Promise<BlameResult | undefined> {
    try {
      return await this.client.request("agent/blame", { uri: document.uri.toString() });
    } catch (error) {
      if (!isMethodNotFound(error)) void vscode.window.setStatusBarMessage(`agent-ls: ${problemOf(error).message}`, 4000);
      return undefined;
    }
  }

  private async fetch(document: vscode.TextDocument): Promise<void> {
    const result = await this.ask(document);
    if (!this.shown.has(document.uri.toString())) return;
    this.shown.set(document.uri.toString(), result);
    this.draw();
  }

  private draw(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const result = this.shown.get(editor.document.uri.toString());
      const ranges = result ? agentLines(result) : [];
      // A range of one line each, because VS Code draws a gutter icon only at the first line of a range.
      const lines = ranges.flatMap(([first, last]) => Array.from({ length: last - first }, (_, i) => first + i));
      editor.setDecorations(this.bar, lines.filter((line) => line < editor.document.lineCount).map((line) => new vscode.Range(line, 0, line, 0)));
    }
  }
}
