// Writes a commit message into the input of a repository's source control view. Never commits.
import * as vscode from "vscode";
import type { Client } from "../connection/client";
import { showFailure } from "../commands/failure";
import { type Repository, chooseRepository } from "./repositories";

const REPLACE = "Replace It";

export class CommitMessages {
  readonly commands: Readonly<Record<string, (...args: unknown[]) => unknown>> = {
    commitMessage: (source) => this.write(source),
  };

  private readonly running = new Set<string>();

  constructor(private readonly client: Client) {}

  /** `source`: the source control whose button was pressed. */
  private async write(source: unknown): Promise<void> {
    const { rootUri } = (source ?? {}) as { readonly rootUri?: vscode.Uri };
    const repository = await chooseRepository(rootUri);
    const root = repository?.rootUri.toString();
    if (!repository || root === undefined || this.running.has(root)) return;
    this.running.add(root);
    try {
      await this.fill(repository);
    } catch (error) {
      await showFailure(error);
    } finally {
      this.running.delete(root);
    }
  }

  private async fill({ rootUri, inputBox }: Repository): Promise<void> {
    const draft = inputBox.value;
    const title = "agent-ls is writing the commit message";
    const message = await vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title, cancellable: true }, async (_, token) => {
      try {
        return (await this.client.request("agent/commitMessage", { folder: folderOf(rootUri).toString(), draft }, token)).message;
      } catch (error) {
        if (token.isCancellationRequested) return undefined;
        throw error;
      }
    });
    if (message === undefined) return;
    // If the user has typed in the input since the request, ask them before replacing its text.
    const isUnchanged = inputBox.value === draft;
    if (isUnchanged || (await vscode.window.showInformationMessage("The commit message was not inserted, because you changed the text in the meantime.", { detail: message }, REPLACE)) === REPLACE) inputBox.value = message;
  }
}

/** The folder of a request: the repository, or the workspace folder inside of it if only a part of it is open. */
function folderOf(root: vscode.Uri): vscode.Uri {
  if (vscode.workspace.getWorkspaceFolder(root)) return root;
  const inside = vscode.workspace.workspaceFolders?.find(({ uri }) => uri.path.startsWith(`${root.path}/`));
  return inside?.uri ?? root;
}
