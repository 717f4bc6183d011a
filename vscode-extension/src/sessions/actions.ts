// Actions of the sessions view: open, fork, rename, export, close, delete.
import * as vscode from "vscode";
import type { Ctx } from "../ctx";
import { type SessionInfo, problemOf } from "../connection/protocol";
import { describeOwner } from "./owners";
import { Library } from "./library";
import { type ExportFormat, fileName, titleOf } from "./rows";
import { type SessionNode, SessionsTree } from "./tree";

const FORMATS: readonly (vscode.QuickPickItem & { format: ExportFormat; redact?: true })[] = [
  { label: "Web page, redacted", description: "one file to share, without keys, mail addresses and home folders", format: "html", redact: true },
  { label: "Web page", description: "one file, with diffs and costs", format: "html" },
  { label: "Markdown", description: "to read or to share", format: "markdown" },
  { label: "JSON lines", description: "every event, for programs", format: "jsonl" },
];

async function reportError(error: unknown): Promise<void> {
  const { message, hint } = problemOf(error);
  await vscode.window.showErrorMessage(`agent-ls: ${message}${hint === undefined || hint === "" ? "" : ` (${hint})`}`);
}

export class SessionCommands implements vscode.Disposable {
  private readonly library: Library;
  private readonly tree: SessionsTree;
  readonly commands: Readonly<Record<string, (argument?: unknown) => unknown>>;

  constructor(
    private readonly ctx: Ctx,
    newKey: () => string,
    private readonly showChat: () => Promise<void>,
  ) {
    this.library = new Library(ctx.client, newKey);
    this.tree = new SessionsTree(this.library, ctx.sessions);
    const on = (act: (info: SessionInfo) => Promise<void>) => (argument?: unknown) => this.runFor(argument, act);
    this.commands = {
      openSession: on((info) => this.open(info.id)),
      forkSession: on((info) => this.fork(info)),
      takeOver: on((info) => this.takeOver(info)),
      renameSession: on((info) => this.rename(info)),
      exportSession: on((info) => this.export(info)),
      closeSession: on((info) => this.close(info)),
      deleteSession: on((info) => this.remove(info)),
      moreSessions: (node) => this.tree.more(node).catch(reportError),
      refreshSessions: () => { this.tree.refresh(); },
    };
  }

  dispose(): void {
    this.tree.dispose();
  }

  /** Runs an action for the session of a tree node; without a node, for the current session. */
  private async runFor(argument: unknown, act: (info: SessionInfo) => Promise<void>): Promise<void> {
    const { session } = this.ctx.sessions.snapshot;
    const shown = session.id === undefined ? undefined : ({ title: "", ...session } as SessionInfo);
    const info = (argument as Partial<SessionNode> | undefined)?.info ?? shown;
    if (!info) {
      void vscode.window.setStatusBarMessage("agent-ls: there is no session yet", 4000);
      return;
    }
    try {
      await act(info);
    } catch (error) {
      await reportError(error);
    }
  }

  private async open(id: string): Promise<void> {
    // Show the chat also if opening failed, because it shows the reason.
    await this.ctx.sessions.open(id);
    await this.showChat();
  }

  /** Takes a session over for this window. Asks the user before a forced take-over, if the owner does not answer. */
  private async takeOver(info: SessionInfo): Promise<void> {
    try {
      await this.library.takeOver(info.id, false);
    } catch (error) {
      if (problemOf(error).kind !== "owner_silent") throw error;
      const force = "Take It by Force";
      const detail = `“${titleOf(info)}” is open in ${describeOwner(info.owner)}. After the take-over, anything that the agent still does there is lost.`;
      if ((await vscode.window.showWarningMessage("The other editor does not answer.", { modal: true, detail }, force)) !== force) return;
      await this.library.takeOver(info.id, true);
    }
    await this.open(info.id);
    this.tree.refresh();
  }

  private async fork(info: SessionInfo): Promise<void> {
    await this.open((await this.library.fork(info.id)).id);
  }

  private async rename(info: SessionInfo): Promise<void> {
    const title = await vscode.window.showInputBox({ prompt: "A name for this session", value: info.title, validateInput: (text) => (text.trim() === "" ? "Enter a name." : undefined) });
    if (title === undefined || title.trim() === info.title) return;
    await this.library.rename(info.id, title.trim());
    this.tree.refresh();
  }

  private async export(info: SessionInfo): Promise<void> {
    const chosen = await vscode.window.showQuickPick(FORMATS, { placeHolder: "Choose a format" });
    if (!chosen) return;
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const name = fileName(info, chosen.format);
    const target = await vscode.window.showSaveDialog({ title: "Export this session", ...(folder && { defaultUri: vscode.Uri.joinPath(folder, name) }) });
    if (!target) return;
    const text = await this.library.fetchTranscript(info.id, chosen.format, chosen.redact);
    await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(text));
    const show = "Show";
    if ((await vscode.window.showInformationMessage(`Exported to ${vscode.workspace.asRelativePath(target)}.`, show)) !== show) return;
    await (chosen.format === "html" ? vscode.env.openExternal(target) : vscode.window.showTextDocument(target));
  }

  private async close(info: SessionInfo): Promise<void> {
    await this.library.close(info.id);
    this.tree.refresh();
  }

  private async remove(info: SessionInfo): Promise<void> {
    const del = "Delete";
    const detail = "The transcript is deleted permanently. Files are not changed.";
    if ((await vscode.window.showWarningMessage(`Delete “${titleOf(info)}”?`, { modal: true, detail }, del)) !== del) return;
    try {
      await this.library.remove(info.id, false);
    } catch (error) {
      const problem = problemOf(error);
      if (problem.kind !== "session_has_hunks") throw error;
      const anyway = "Delete Anyway";
      const answer = await vscode.window.showWarningMessage("Changes of this session still wait for your decision.", { modal: true, detail: "These changes stay in the files, but can no longer be undone one by one." }, anyway);
      if (answer !== anyway) return;
      await this.library.remove(info.id, true);
    }
    this.ctx.sessions.forget(info.id);
    this.tree.refresh();
  }
}
