// Opens the editor's own diff on a file of the review: accepted against current, or current against proposed.
import { basename } from "node:path";
import * as vscode from "vscode";
import type { Hunk } from "../items";
import { files, ofFile } from "./model";
import { sideUri } from "./sides";
import type { ReviewStore } from "./store";

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

export class Comparison {
  constructor(private readonly store: ReviewStore) {}

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

  private inFront(): string | undefined {
    const editor = vscode.window.activeTextEditor;
    return editor && this.store.fileOf(editor.document);
  }
}
