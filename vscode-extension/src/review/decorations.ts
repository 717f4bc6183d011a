// Shows open hunks in their files: what the agent wrote coloured, what it removed in a hover. It draws what it is told.
import * as vscode from "vscode";
import type { Hunk } from "../items";
import type { HunkState } from "../protocol";
import type { ReviewStore } from "./store";

type Look = "added" | "edited" | "stale" | "removed";

const LOOKS: Record<HunkState, Look> = {
  pending: "added", proposed: "added", edited: "edited", stale: "stale", kept: "added", undone: "added", gone: "added",
};

const WORDS: Partial<Record<HunkState, string>> = {
  edited: "The agent's change, with your edits",
  stale: "The agent's change can no longer be placed",
  proposed: "The agent proposes a change",
};

function edge(color: string, width: string, background?: string): vscode.DecorationRenderOptions {
  return {
    isWholeLine: true,
    borderStyle: "solid",
    borderWidth: width,
    borderColor: new vscode.ThemeColor(color),
    overviewRulerColor: new vscode.ThemeColor(color),
    overviewRulerLane: vscode.OverviewRulerLane.Full,
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedOpen,
    ...(background !== undefined && { backgroundColor: new vscode.ThemeColor(background) }),
  };
}

const LEFT = "0 0 0 3px";
const TOP = "2px 0 0 0";

function decorationTypes(): Record<Look, vscode.TextEditorDecorationType> {
  const make = (options: vscode.DecorationRenderOptions) => vscode.window.createTextEditorDecorationType(options);
  return {
    added: make(edge("editorGutter.addedBackground", LEFT, "diffEditor.insertedLineBackground")),
    edited: make(edge("editorGutter.modifiedBackground", LEFT, "diffEditor.insertedLineBackground")),
    stale: make(edge("editorWarning.foreground", LEFT)),
    removed: make(edge("editorGutter.deletedBackground", TOP)),
  };
}

function hover(hunk: Hunk, languageId: string): vscode.MarkdownString {
  const text = new vscode.MarkdownString();
  const lines = hunk.oldLines.length;
  text.appendMarkdown(`**${WORDS[hunk.state] ?? "The agent's change"}.** `);
  text.appendMarkdown(lines === 0 ? "Nothing stood here before." : "Before:");
  if (lines > 0) text.appendCodeblock(hunk.oldLines.join("\n"), languageId);
  return text;
}

function option(hunk: Hunk, document: vscode.TextDocument): vscode.DecorationOptions {
  const lastLine = document.lineCount - 1;
  const first = Math.min(hunk.first, lastLine);
  const last = Math.min(Math.max(hunk.last - 1, first), lastLine);
  return { range: document.validateRange(new vscode.Range(first, 0, last, Number.MAX_SAFE_INTEGER)), hoverMessage: hover(hunk, document.languageId) };
}

export class Decorations implements vscode.Disposable {
  private readonly types = decorationTypes();
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly store: ReviewStore) {
    const all = () => { this.drawAll(); };
    this.subscriptions = [store.onDidChange(all), vscode.window.onDidChangeVisibleTextEditors(all)];
    this.drawAll();
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    for (const type of Object.values(this.types)) type.dispose();
  }

  private drawAll(): void {
    for (const editor of vscode.window.visibleTextEditors) this.draw(editor);
  }

  private draw(editor: vscode.TextEditor): void {
    const options: Record<Look, vscode.DecorationOptions[]> = { added: [], edited: [], stale: [], removed: [] };
    for (const hunk of this.store.of(editor.document)) {
      const look = hunk.first === hunk.last ? "removed" : LOOKS[hunk.state];
      options[look].push(option(hunk, editor.document));
    }
    for (const look of Object.keys(options) as Look[]) editor.setDecorations(this.types[look], options[look]);
  }
}
