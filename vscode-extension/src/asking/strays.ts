// Letters that the user types behind the key that opens an input, before the input has the keyboard. VS Code runs the
// command of an extension in another process, on a remote machine even on another computer, so the editor gets these letters.
// They are taken out of the file again, and belong to the input.
import * as vscode from "vscode";
import { grow, type Region, typedInto, withoutClosing } from "./letters";

const TRIES = 50;

export class StrayLetters {
  private readonly document: vscode.TextDocument;
  private readonly selections: readonly vscode.Selection[];
  private readonly isClean: boolean;
  private readonly subscriptions: vscode.Disposable[];
  private text: string;
  private regions: readonly Region[];
  private isTyped = false;
  private isUndoing = false;
  private isStuck = false;
  /** Letters that reached the file again while it had the keyboard to undo the first ones. */
  private more = "";
  private isSaved = false;

  /** Watches from now on. Create it before anything is awaited: the state of the editor is still that of the key. */
  constructor(private readonly editor: vscode.TextEditor) {
    const { document, selections } = editor;
    this.document = document;
    this.selections = selections;
    this.isClean = !document.isDirty;
    this.text = document.getText();
    this.regions = selections.map((selection) => ({ start: document.offsetAt(selection.start), end: document.offsetAt(selection.end), original: document.getText(selection) }));
    this.subscriptions = [
      vscode.workspace.onDidChangeTextDocument((event) => { if (event.document === document) this.follow(event); }),
      vscode.workspace.onDidSaveTextDocument((saved) => { this.isSaved ||= saved === document && this.isTyped; }),
    ];
  }

  /** Returns the letters that are in the file. Call it when the input has been opened. */
  async read(): Promise<string> {
    // VS Code handles messages in order. When this command returns, the input has the keyboard, and all that was typed into
    // the file has arrived.
    await vscode.commands.executeCommand("setContext", "agentLs.ready", true);
    const [first] = this.regions;
    return this.isTyped && first ? typedInto(first, this.text, this.document.offsetAt(this.editor.selection.active)) : "";
  }

  /** Whether letters are in the file that undoing can take out. */
  get canUndo(): boolean {
    return !this.isRestored && !this.isStuck && vscode.window.activeTextEditor === this.editor;
  }

  /**
   * Undoes one step of the typing. This needs the keyboard, so open an input right after the call, without awaiting it: VS
   * Code handles the messages in a row. Returns the letters that were typed between them all the same.
   */
  async undo(): Promise<string> {
    const { text } = this;
    this.isUndoing = true;
    void vscode.commands.executeCommand("workbench.action.focusActiveEditorGroup");
    await vscode.commands.executeCommand("undo");
    this.isStuck = this.text === text;
    const { more } = this;
    this.more = "";
    return more;
  }

  /** Takes out what undoing did not, and stops watching. */
  async end(): Promise<void> {
    if (!this.isRestored) await this.replace();
    for (const subscription of this.subscriptions) subscription.dispose();
    // VS Code saves a file that loses the keyboard if the user has set this. If so, saves it without the letters too.
    if (this.isSaved && this.isClean && this.document.isDirty) await this.document.save();
  }

  private follow({ contentChanges, reason }: vscode.TextDocumentChangeEvent): void {
    for (const { rangeOffset: offset, rangeLength: removed, text: added } of contentChanges) {
      const { regions, text } = this;
      this.regions = grow(regions, text, { offset, removed, added });
      this.text = text.slice(0, offset) + added + text.slice(offset + removed);
      this.isTyped ||= !this.isRestored;
      if (this.isUndoing && reason === undefined) this.more = added === "" ? this.more.slice(0, -removed) : this.more + withoutClosing(added);
    }
  }

  private get isRestored(): boolean {
    return this.regions.every(({ start, end, original }) => this.text.slice(start, end) === original);
  }

  /** Takes the letters out by an edit, where undoing them does not help: another edit came between. */
  private async replace(): Promise<void> {
    for (let left = TRIES; left > 0; left--) { // an edit is refused if the file changes on the way
      const { document, regions } = this;
      const isDone = await this.editor.edit((edit) => {
        for (const { start, end, original } of regions) edit.replace(new vscode.Range(document.positionAt(start), document.positionAt(end)), original);
      });
      if (isDone) break;
    }
    this.editor.selections = this.selections;
  }
}
