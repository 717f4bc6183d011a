// Keep and Undo above each open hunk, in the file itself.
import * as vscode from "vscode";
import type { Hunk } from "../items";
import { SECTION, showsCodeLens } from "../settings";
import type { ReviewStore } from "./store";

const WHAT: Record<Hunk["what"], string> = { content: "", create: "new file · ", delete: "deleted file · " };
const STATE: Partial<Record<Hunk["state"], string>> = { edited: "with your edits · ", stale: "no longer placeable · ", proposed: "proposed · " };

function label(hunk: Hunk, number: number, count: number): string {
  const size = `+${hunk.newLines.length} −${hunk.oldLines.length}`;
  return `agent ${number}/${count} · ${WHAT[hunk.what]}${STATE[hunk.state] ?? ""}${size}`;
}

function lenses(hunk: Hunk, number: number, count: number, lineCount: number): vscode.CodeLens[] {
  const line = Math.min(hunk.first, lineCount - 1);
  const range = new vscode.Range(line, 0, line, 0);
  const lens = (title: string, command: string, tooltip: string) =>
    new vscode.CodeLens(range, { title, command, tooltip, arguments: [hunk.id] });
  return [
    lens("$(check) Keep", "agentLs.keepHunk", "Keep this change of the agent"),
    lens("$(discard) Undo", "agentLs.undoHunk", "Put back what stood here before"),
    lens(label(hunk, number, count), "agentLs.showHunk", "Show what stood here before"),
  ];
}

export class HunkLenses implements vscode.CodeLensProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly subscriptions: vscode.Disposable[];
  readonly onDidChangeCodeLenses = this.changed.event;

  constructor(private readonly store: ReviewStore) {
    this.subscriptions = [
      store.onDidChange(() => { this.changed.fire(); }),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration(SECTION)) this.changed.fire();
      }),
      vscode.languages.registerCodeLensProvider({ scheme: "file" }, this),
    ];
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    if (!showsCodeLens()) return [];
    const hunks = this.store.of(document);
    return hunks.flatMap((hunk, i) => lenses(hunk, i + 1, hunks.length, document.lineCount));
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    this.changed.dispose();
  }
}
