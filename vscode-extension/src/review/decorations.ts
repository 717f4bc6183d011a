// Shows open hunks in their files: highlights the agent's lines, and shows the earlier or proposed text after the lines
// and in a hover. The server determines the positions.
import * as vscode from "vscode";
import type { Hunk } from "../snapshot/items";
import type { HunkState } from "../connection/protocol";
import { CELL_SCHEME } from "./cells";
import { listHunksOfFile } from "./model";
import { inlineTextsOf } from "./other_text";
import type { ReviewStore } from "./store";
import { verdictLabels } from "./words";

type Look = "added" | "edited" | "stale" | "removed" | "proposed" | "insertion";

const LOOKS: Record<HunkState, Look> = {
  pending: "added", proposed: "proposed", edited: "edited", stale: "stale", kept: "added", undone: "added", gone: "added",
};

const WORDS: Partial<Record<HunkState, string>> = {
  edited: "The agent's change, with your edits",
  stale: "The position of the agent's change is no longer known",
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
    // `proposed`: lines to be removed; `insertion`: where lines would be added.
    proposed: make(edge("editorInfo.foreground", LEFT, "diffEditor.removedLineBackground")),
    insertion: make(edge("editorInfo.foreground", TOP)),
  };
}

const COMMANDS = ["agentLs.keepHunk", "agentLs.undoHunk", "agentLs.commentHunk", "agentLs.compareHunk"];

function link(title: string, command: string, hunk: Hunk): string {
  return `[${title}](command:${command}?${encodeURIComponent(JSON.stringify([hunk.id]))})`;
}

/** Creates the hover of a hunk, with its earlier text, or its proposed text for a proposal. */
function hover(hunk: Hunk, { languageId, uri }: vscode.TextDocument, isOthers: boolean): vscode.MarkdownString {
  const text = new vscode.MarkdownString();
  text.isTrusted = { enabledCommands: COMMANDS };
  const isProposal = hunk.state === "proposed";
  const other = isProposal ? hunk.newLines : hunk.oldLines;
  const none = isProposal ? "These lines would be removed." : "These lines are new.";
  text.appendMarkdown(`**${WORDS[hunk.state] ?? "The agent's change"}.** ${other.length === 0 ? none : isProposal ? "It would be:" : "Before:"}`);
  if (other.length > 0) text.appendCodeblock(other.join("\n"), languageId);
  const { keep, undo } = verdictLabels(hunk);
  const verdicts = isOthers ? [] : [link(keep, "agentLs.keepHunk", hunk), link(undo, "agentLs.undoHunk", hunk), link("Comment", "agentLs.commentHunk", hunk)];
  // A comparison displays the file on disk, but a notebook may have unsaved cells.
  const links = uri.scheme === CELL_SCHEME ? verdicts : [...verdicts, link("Compare", "agentLs.compareHunk", hunk)];
  return text.appendMarkdown(`\n\n${links.join(" · ")}`);
}

function lookOf(hunk: Hunk): Look {
  if (hunk.first < hunk.last) return LOOKS[hunk.state];
  return hunk.state === "proposed" ? "insertion" : "removed";
}

function option(hunk: Hunk, document: vscode.TextDocument, isOthers: boolean): vscode.DecorationOptions {
  const lastLine = document.lineCount - 1;
  const first = Math.min(hunk.first, lastLine);
  const last = Math.min(Math.max(hunk.last - 1, first), lastLine);
  return { range: document.validateRange(new vscode.Range(first, 0, last, Number.MAX_SAFE_INTEGER)), hoverMessage: hover(hunk, document, isOthers) };
}

/** Creates the decorations that show the earlier or proposed text of a hunk after its lines, in the colours of a diff. */
function otherTextDecorations(hunk: Hunk, document: vscode.TextDocument): vscode.DecorationOptions[] {
  const color = new vscode.ThemeColor("editor.foreground");
  const backgroundColor = new vscode.ThemeColor(hunk.state === "proposed" && hunk.newLines.length > 0 ? "diffEditor.insertedTextBackground" : "diffEditor.removedTextBackground");
  return inlineTextsOf(hunk).map(({ line, text }) => {
    const end = document.lineAt(Math.min(line, document.lineCount - 1)).range.end;
    return { range: new vscode.Range(end, end), renderOptions: { after: { contentText: `\u00a0${text}\u00a0`, color, backgroundColor, margin: "0 0 0 3ch" } } };
  });
}

/**
 * Whether to omit decorations, because the editor belongs to a comparison, which has its own colours, or to a peek view.
 * These editors have no column. Editors of notebook cells have no column either, but get decorations.
 */
function isWithoutDecorations(editor: vscode.TextEditor): boolean {
  return editor.viewColumn === undefined && editor.document.uri.scheme !== CELL_SCHEME;
}

/**
 * Whether a change is inside or next to a hunk. VS Code may then move a decoration although the hunk has not moved, for
 * example if the line below a removal moves down.
 */
function mayMoveDecoration(changes: readonly vscode.TextDocumentContentChangeEvent[], hunks: readonly Hunk[]): boolean {
  return changes.some(({ range }) => hunks.some(({ first, last }) => range.start.line <= last + 1 && range.end.line >= first - 1));
}

export class Decorations implements vscode.Disposable {
  private readonly types = decorationTypes();
  private readonly otherTextType = vscode.window.createTextEditorDecorationType({ rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed });
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly store: ReviewStore) {
    const all = () => { this.drawAll(); };
    const onText = ({ document, contentChanges }: vscode.TextDocumentChangeEvent) => {
      const hunks = listHunksOfFile(store.hunks, store.uriOf(document) ?? "");
      // If the session's owner has saved the file and VS Code has reloaded it, its hunks may now match the text.
      if (store.areReadOnly(hunks)) all();
      else if (mayMoveDecoration(contentChanges, hunks)) this.drawDocument(document);
    };
    this.subscriptions = [
      store.onDidChange(all), vscode.window.onDidChangeVisibleTextEditors(all), vscode.window.onDidChangeTextEditorViewColumn(all),
      vscode.workspace.onDidChangeTextDocument(onText),
    ];
    this.drawAll();
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    for (const type of [...Object.values(this.types), this.otherTextType]) type.dispose();
  }

  private drawAll(): void {
    for (const editor of vscode.window.visibleTextEditors) this.draw(editor);
  }

  private drawDocument(document: vscode.TextDocument): void {
    for (const editor of vscode.window.visibleTextEditors) if (editor.document === document) this.draw(editor);
  }

  private draw(editor: vscode.TextEditor): void {
    const options: Record<Look, vscode.DecorationOptions[]> = { added: [], edited: [], stale: [], removed: [], proposed: [], insertion: [] };
    const hunks = isWithoutDecorations(editor) ? [] : this.store.hunksIn(editor.document);
    for (const hunk of hunks) options[lookOf(hunk)].push(option(hunk, editor.document, this.store.areReadOnly([hunk])));
    for (const look of Object.keys(options) as Look[]) editor.setDecorations(this.types[look], options[look]);
    editor.setDecorations(this.otherTextType, hunks.flatMap((hunk) => otherTextDecorations(hunk, editor.document)));
  }
}
