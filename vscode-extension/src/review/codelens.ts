// Code lenses with the actions of each open hunk. They are in the file and, for proposals, also in the proposed text.
import * as vscode from "vscode";
import type { Hunk } from "../snapshot/items";
import { SECTION, isCodeLensEnabled } from "../settings/settings";
import { CELL_SCHEME } from "./cells";
import { listHunks, listHunksOfFile } from "./model";
import type { ReviewStore } from "./store";
import { fileOfSide, locateProposals, sideOf } from "./texts";
import { describeHunk, verdictLabels } from "./words";

interface Numbered {
  readonly hunk: Hunk;
  readonly line: number;
  readonly label: string;
}

interface LensContext {
  /** Whether the document is the proposed text of a comparison. */
  readonly isCompared: boolean;
  /** Whether the document is a notebook cell, which cannot be compared: a comparison displays the file on disk. */
  readonly isCell: boolean;
  /** Whether another editor owns the session. */
  readonly isOthers: boolean;
  /** Whether this is the only hunk, so that next and previous have no target. */
  readonly isAlone: boolean;
}

function lenses({ hunk, line, label }: Numbered, lineCount: number, { isCompared, isCell, isOthers, isAlone }: LensContext): vscode.CodeLens[] {
  const at = Math.min(line, Math.max(lineCount - 1, 0));
  const range = new vscode.Range(at, 0, at, 0);
  const lens = (title: string, command: string, tooltip: string) =>
    new vscode.CodeLens(range, { title, command, tooltip, arguments: [hunk.id] });
  const { keep, undo } = verdictLabels(hunk);
  // VS Code removes a plain space after an icon.
  const sign = (name: string, words: string) => `$(${name})\u00a0${words}`;
  const isProposal = hunk.state === "proposed";
  const verdicts = isOthers ? [] : [
    lens(sign("check", keep), "agentLs.keepHunk", isProposal ? "Make this change" : "Keep the agent's change"),
    lens(sign("discard", undo), "agentLs.undoHunk", isProposal ? "Discard this change" : "Undo this change and restore the earlier text"),
    lens(sign("comment", "Comment"), "agentLs.commentHunk", "Tell the agent what to do differently"),
    ...(isProposal ? [lens(sign("edit", "Edit"), "agentLs.editProposal", "Accept this change with your own text")] : []),
  ];
  return [
    ...verdicts,
    ...(isProposal && !isCompared && !isCell ? [lens(sign("diff", "Compare"), "agentLs.compareHunk", "Show the file with this change")] : []),
    lens(label, isProposal && !isCell ? "agentLs.compareHunk" : "agentLs.showHunk", "Show the earlier text"),
    ...(isAlone || isCompared ? [] : [lens("$(arrow-up)", "agentLs.previousHunk", "Previous change"), lens("$(arrow-down)", "agentLs.nextHunk", "Next change")]),
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
      vscode.languages.registerCodeLensProvider([{ scheme: "file" }, { scheme: "agent-ls-proposed" }, { scheme: CELL_SCHEME }], this),
    ];
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    if (!isCodeLensEnabled()) return [];
    const isCompared = sideOf(document.uri) !== undefined;
    return this.numberHunks(document).flatMap((each) => lenses(each, document.lineCount, { isCompared, isCell: document.uri.scheme === CELL_SCHEME, isAlone: listHunks(this.store.hunks).length < 2, isOthers: this.store.areReadOnly([each.hunk]) }));
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    this.changed.dispose();
  }

  /** Lists the hunks of a document, each with its line and its label (number in the file, and kind). */
  private numberHunks(document: vscode.TextDocument): Numbered[] {
    const file = fileOfSide(document.uri);
    const isCell = document.uri.scheme === CELL_SCHEME;
    const own = file === undefined ? this.store.hunksIn(document) : listHunksOfFile(this.store.hunks, file);
    const inOrder = isCell ? listHunksOfFile(this.store.hunks, this.store.uriOf(document) ?? "") : own;
    const parts = own.filter(({ id }, index) => own.findIndex((other) => other.id === id) === index);
    const placed = file === undefined ? parts.map((hunk) => ({ hunk, first: hunk.first })) : locateProposals(own);
    const number = (hunk: Hunk) => inOrder.findIndex(({ id }) => id === hunk.id) + 1;
    return placed.map(({ hunk, first }) => ({ hunk, line: first, label: `agent ${number(hunk)}/${inOrder.length} · ${describeHunk(hunk)}` }));
  }
}
