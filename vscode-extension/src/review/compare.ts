// Opens VS Code's diff editor for a file under review, with accepted and current, or current and proposed text.
import { basename } from "node:path";
import * as vscode from "vscode";
import type { Hunk } from "../snapshot/items";
import { listFiles, listHunksOfFile } from "./model";
import { sideUri } from "./sides";
import type { ReviewStore } from "./store";
import { fileOfSide } from "./texts";

/** The two sides of a comparison. A side is undefined if the file does not exist before or after the change. */
interface Sides {
  readonly left: vscode.Uri | undefined;
  readonly right: vscode.Uri | undefined;
  readonly what: string;
}

function sidesOf(uri: string, hunks: readonly Hunk[]): Sides {
  const isProposed = hunks.some(({ state }) => state === "proposed");
  const whole = hunks.find(({ what }) => what !== "content")?.what;
  const file = vscode.Uri.parse(uri);
  const left = whole === "create" ? undefined : isProposed ? file : sideUri("base", uri);
  const right = whole === "delete" ? undefined : isProposed ? sideUri("proposed", uri) : file;
  return { left, right, what: isProposed ? "proposed" : "agent's changes" };
}

/** Returns the URI of the file whose accepted or proposed text the tab displays, alone or in a comparison. */
function fileOfTab({ input }: vscode.Tab): string | undefined {
  if (input instanceof vscode.TabInputText) return fileOfSide(input.uri);
  return input instanceof vscode.TabInputTextDiff ? fileOfSide(input.original) ?? fileOfSide(input.modified) : undefined;
}

export class Comparison implements vscode.Disposable {
  private readonly subscription: vscode.Disposable;

  constructor(private readonly store: ReviewStore) {
    this.subscription = store.onDidChange((uris) => { this.closeDecided(uris); });
  }

  /** Compares a file (default: the file of the active editor) and scrolls to the hunk. Omits a side that is missing. */
  async file(uri = this.activeFile(), hunk?: Hunk): Promise<void> {
    const hunks = uri === undefined ? [] : listHunksOfFile(this.store.hunks, uri);
    if (uri === undefined || hunks.length === 0) {
      void vscode.window.setStatusBarMessage("agent-ls: there are no changes to review in this file", 4000);
      return;
    }
    const { left, right, what } = sidesOf(uri, hunks);
    const title = `${basename(vscode.Uri.parse(uri).path)} (${what})`;
    const first = (hunk ?? hunks[0])?.first ?? 0;
    const options: vscode.TextDocumentShowOptions = { preview: true, selection: new vscode.Range(first, 0, first, 0) };
    if (!left || !right) {
      await vscode.commands.executeCommand("vscode.open", left ?? right, options, title);
      return;
    }
    await vscode.commands.executeCommand("vscode.diff", left, right, title, options);
  }

  /** Compares all files in one editor. */
  async all(): Promise<void> {
    const each = listFiles(this.store.hunks).map((uri) => {
      const { left, right } = sidesOf(uri, listHunksOfFile(this.store.hunks, uri));
      return [vscode.Uri.parse(uri), left, right];
    });
    if (each.length === 0) void vscode.window.setStatusBarMessage("agent-ls: there are no changes to review", 4000);
    else await vscode.commands.executeCommand("vscode.changes", "agent-ls: changes to review", each);
  }

  dispose(): void {
    this.subscription.dispose();
  }

  /** Closes comparisons of files without open hunks, because their sides are equal. Unsaved documents stay open. */
  private closeDecided(uris: readonly string[]): void {
    const decided = uris.filter((uri) => listHunksOfFile(this.store.hunks, uri).length === 0);
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    const idle = tabs.filter((tab) => !tab.isDirty && decided.includes(fileOfTab(tab) ?? ""));
    if (idle.length > 0) void vscode.window.tabGroups.close(idle, true);
  }

  private activeFile(): string | undefined {
    const editor = vscode.window.activeTextEditor;
    return editor && this.store.fileOf(editor.document);
  }
}
