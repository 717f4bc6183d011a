// Catches what the user types between the key that opens an input and the moment when the input has the focus. VS Code
// opens the input only after several messages between its processes; without the guard, letters typed by then go into
// the file.
import * as vscode from "vscode";
import { grow, type Region } from "./words";

const UNDOS = 20;

/** The arguments of VS Code's typing commands; which of them are present depends on the command. */
interface Typed {
  readonly text?: string;
  readonly replacePrevCharCnt?: number;
  readonly replaceCharCnt?: number;
}

export class TypingGuard implements vscode.Disposable {
  private typed = "";
  private readonly document: vscode.TextDocument;
  private readonly before: string;
  private readonly selected: string;
  /** The part of the file that letters replace which arrive before VS Code knows the guard. */
  private region: Region;
  private readonly parts: vscode.Disposable[] = [];

  /** Begins at once. Create the guard before anything is awaited: the state of the editor is that of the key. */
  constructor({ document, selection }: vscode.TextEditor) {
    this.document = document;
    this.before = document.getText();
    this.selected = document.getText(selection);
    this.region = { start: document.offsetAt(selection.start), end: document.offsetAt(selection.end), isChanged: false, others: false };
    this.parts.push(vscode.workspace.onDidChangeTextDocument((event) => {
      if (event.document !== document) return;
      for (const { rangeOffset, rangeLength, text } of event.contentChanges) this.region = grow(this.region, rangeOffset, rangeLength, text.length);
    }));
    const put = (event: Typed): void => { this.replace(event.replacePrevCharCnt ?? event.replaceCharCnt ?? 0, event.text ?? ""); };
    this.override("type", put);
    this.override("compositionType", put);
    this.override("replacePreviousChar", put);
    this.override("deleteLeft", () => { this.replace(1, ""); });
  }

  /** Waits until letters reach the guard, and takes those out of the file that arrived there first. */
  async install(): Promise<void> {
    // VS Code handles messages in order: when this command returns, the commands above are registered.
    await vscode.commands.executeCommand("setContext", "agentLs.asking", true);
    if (!this.region.isChanged) return;
    this.typed = this.document.getText(this.range()) + this.typed;
    // The keyboard is still in the file. Undoing also leaves a saved file saved.
    for (let left = UNDOS; left > 0 && !this.region.others && this.document.getText() !== this.before; left--) {
      await vscode.commands.executeCommand("undo");
    }
    await this.restore();
  }

  /** Takes typed letters out of the file, if there are any. */
  async restore(): Promise<void> {
    if (this.document.getText(this.range()) === this.selected) return;
    const edit = new vscode.WorkspaceEdit();
    edit.replace(this.document.uri, this.range(), this.selected);
    await vscode.workspace.applyEdit(edit);
  }

  private range(): vscode.Range {
    return new vscode.Range(this.document.positionAt(this.region.start), this.document.positionAt(this.region.end));
  }

  /** Returns the text typed since the last call. */
  take(): string {
    const { typed } = this;
    this.typed = "";
    return typed;
  }

  dispose(): void {
    for (const part of this.parts) part.dispose();
  }

  private replace(count: number, text: string): void {
    this.typed = this.typed.slice(0, Math.max(this.typed.length - count, 0)) + text;
  }

  private override(name: string, run: (event: Typed) => void): void {
    try {
      this.parts.push(vscode.commands.registerCommand(name, run));
    } catch {
      // Another extension, such as one for Vim's keys, takes the letters already.
    }
  }
}
