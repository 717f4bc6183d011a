// The repositories of VS Code's own git extension: the part of its API that is used here.
import * as vscode from "vscode";

export interface Repository {
  readonly rootUri: vscode.Uri;
  readonly inputBox: { value: string };
}

interface GitApi {
  readonly repositories: readonly Repository[];
}

interface GitExtension {
  readonly enabled: boolean;
  getAPI(version: 1): GitApi;
}

/** Returns the open repositories; none if the git extension is disabled. */
async function repositories(): Promise<readonly Repository[]> {
  const git = await vscode.extensions.getExtension<GitExtension>("vscode.git")?.activate();
  return git?.enabled === true ? git.getAPI(1).repositories : [];
}

/** Returns the repository of a source control view. Without a view: the only repository, or one that the user picks. */
export async function chooseRepository(root: vscode.Uri | undefined): Promise<Repository | undefined> {
  const all = await repositories();
  const named = root && all.find(({ rootUri }) => rootUri.toString() === root.toString());
  if (named) return named;
  if (all.length === 0) void vscode.window.showWarningMessage("agent-ls: No git repository is open. Open a folder of one, and check that the setting git.enabled is on.");
  if (all.length <= 1) return all[0];
  const rows = all.map((repository) => ({ label: vscode.workspace.asRelativePath(repository.rootUri), repository }));
  return (await vscode.window.showQuickPick(rows, { placeHolder: "Choose the repository for the commit message" }))?.repository;
}
