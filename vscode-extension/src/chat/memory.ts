// Opens the project's memory: notes that the agent keeps for later sessions, in a file that the user edits.
import * as vscode from "vscode";

const FILE = [".agent-ls", "memory.md"] as const;

export async function openMemory(): Promise<void> {
  const folders = (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === "file");
  const active = vscode.window.activeTextEditor?.document.uri;
  const own = active && vscode.workspace.getWorkspaceFolder(active);
  const folder = folders.find((each) => each === own) ?? folders[0];
  if (!folder) return;
  const uri = vscode.Uri.joinPath(folder.uri, ...FILE);
  try {
    await vscode.window.showTextDocument(uri);
  } catch {
    await vscode.window.showInformationMessage("This project has no memory yet. Write /remember and what to keep for later sessions.");
  }
}
