// The plan of a session in mode plan, as a document that the user edits and accepts.
import * as vscode from "vscode";
import { MODE_WORDS, type Requests } from "../connection/protocol";
import type { Sessions } from "../sessions/session";
import { planOf } from "../snapshot/snapshot";

type NextMode = Requests["agent/acceptPlan"]["params"]["mode"];

const MODES: readonly (vscode.QuickPickItem & { readonly mode: NextMode })[] = [
  { label: "Ask", description: MODE_WORDS.ask, mode: "ask" },
  { label: "Edits", description: MODE_WORDS.edits, mode: "edits" },
];

/** Context key with the URIs of the plan documents. It enables the button and the keybinding that accept a plan. */
const CONTEXT = "agentLs.plans";

export class Plans implements vscode.Disposable {
  readonly commands = { plan: () => this.open(), acceptPlan: () => this.accept() };
  private document: vscode.TextDocument | undefined;
  private readonly closing: vscode.Disposable;

  constructor(private readonly sessions: Sessions) {
    this.closing = vscode.workspace.onDidCloseTextDocument((closed) => {
      if (closed === this.document) void this.set(undefined);
    });
  }

  dispose(): void {
    this.closing.dispose();
  }

  private async open(): Promise<void> {
    const content = planOf(this.sessions.snapshot);
    if (content === undefined) {
      await vscode.window.showInformationMessage("There is no plan to accept: in mode plan, ask for a plan and wait for the answer.");
      return;
    }
    await this.set(await vscode.workspace.openTextDocument({ language: "markdown", content }));
    if (this.document) await vscode.window.showTextDocument(this.document, { preview: false });
  }

  private async accept(): Promise<void> {
    if (!this.document) {
      await this.open();
      return;
    }
    const { document } = this;
    const chosen = await vscode.window.showQuickPick(MODES, { placeHolder: "Which actions need no approval while the agent carries out the plan?" });
    if (!chosen || !(await this.sessions.acceptPlan(document.getText(), chosen.mode))) return;
    await vscode.window.showTextDocument(document);
    await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
    await vscode.commands.executeCommand("agentLs.open");
  }

  private async set(document: vscode.TextDocument | undefined): Promise<void> {
    this.document = document;
    await vscode.commands.executeCommand("setContext", CONTEXT, document ? [document.uri.toString()] : []);
  }
}
