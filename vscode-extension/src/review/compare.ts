// Opens the editor's own diff on a file of the review: accepted against current, or current against proposed.
import { basename } from "node:path";
import * as vscode from "vscode";
import type { Hunk } from "../items";
import { files, ofFile } from "./model";
import { sideUri } from "./sides";
import type { ReviewStore } from "./store";
import { fileOfSide } from "./texts";

interface Sides {
  readonly left: vscode.Uri;
  readonly right: vscode.Uri;
  readonly what: string;
}

/** A file that is not there has no text to show beside the other: an empty document stands for it. */
function sidesOf(uri: string, hunks: readonly Hunk[]): Sides {
  const isProposed = hunks.some(({ state }) => state === "proposed");
  const whole = hunks.find(({ what }) => what !== "content")?.what;
  const file = vscode.Uri.parse(uri);
  const nothing = sideUri("empty", uri);
  if (isProposed) {
    return { left: whole === "create" ? nothing : file, right: whole === "delete" ? nothing : sideUri("proposed", uri), what: "proposed" };
  }
  return { left: whole === "create" ? nothing : sideUri("base", uri), right: whole === "delete" ? nothing : file, what: "agent's changes" };
}

/** The file that a tab compares with its accepted or proposed text. */
function comparedIn({ input }: vscode.Tab): string | undefined {
  return input instanceof vscode.TabInputTextDiff ? fileOfSide(input.original) ?? fileOfSide(input.modified) : undefined;
}

export class Comparison implements vscode.Disposable {
  private readonly subscription: vscode.Disposable;

  constructor(private readonly store: ReviewStore) {
    this.subscription = store.onDidChange((uris) => { this.closeDecided(uris); });
  }

  /** One file, at the hunk when one is given. Without a file: that of the editor in front. */
  async file(uri = this.inFront(), hunk?: Hunk): Promise<void> {
    const hunks = uri === undefined ? [] : ofFile(this.store.hunks, uri);
    if (uri === undefined || hunks.length === 0) {
      void vscode.window.setStatusBarMessage("agent-ls: no change of the agent waits in this file", 4000);
      return;
    }
    const { left, right, what } = sidesOf(uri, hunks);
    const first = (hunk ?? hunks[0])?.first ?? 0;
    const options: vscode.TextDocumentShowOptions = { preview: true, selection: new vscode.Range(first, 0, first, 0) };
    await vscode.commands.executeCommand("vscode.diff", left, right, `${basename(vscode.Uri.parse(uri).path)} (${what})`, options);
  }

  /** All files in one editor. */
  async all(): Promise<void> {
    const each = files(this.store.hunks).map((uri) => {
      const { left, right } = sidesOf(uri, ofFile(this.store.hunks, uri));
      return [vscode.Uri.parse(uri), left, right];
    });
    if (each.length === 0) void vscode.window.setStatusBarMessage("agent-ls: no change of the agent waits", 4000);
    else await vscode.commands.executeCommand("vscode.changes", "agent-ls: changes to review", each);
  }

  dispose(): void {
    this.subscription.dispose();
  }

  /** All is decided: both sides are equal, and there is nothing to see. Nothing that is unsaved is closed. */
  private closeDecided(uris: readonly string[]): void {
    const decided = uris.filter((uri) => ofFile(this.store.hunks, uri).length === 0);
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    const idle = tabs.filter((tab) => !tab.isDirty && decided.includes(comparedIn(tab) ?? ""));
    if (idle.length > 0) void vscode.window.tabGroups.close(idle, true);
  }

  private inFront(): string | undefined {
    const editor = vscode.window.activeTextEditor;
    return editor && this.store.fileOf(editor.document);
  }
}
