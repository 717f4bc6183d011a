// Opens the two memory files, one for the project and one for the user. The agent writes notes for later sessions into
// them, and the user can edit them.
import * as vscode from "vscode";
import type { Connection } from "../sessions/interfaces";

async function show(uri: string, options: vscode.TextDocumentShowOptions): Promise<boolean> {
  try {
    await vscode.window.showTextDocument(vscode.Uri.parse(uri), options);
    return true;
  } catch {
    return false; // it does not exist yet
  }
}

export async function openMemory(connection: Connection): Promise<void> {
  const folders = (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === "file");
  const active = vscode.window.activeTextEditor?.document.uri;
  const own = active && vscode.workspace.getWorkspaceFolder(active);
  const folder = folders.find((each) => each === own) ?? folders[0];
  if (!folder) return;
  const files = await connection.request("agent/memory", { workspaceFolder: folder.uri.toString() });
  // The project's file is opened last, so that it is in front.
  const isUserShown = await show(files.user, { preview: false });
  const isProjectShown = await show(files.project, { preview: false });
  if (isUserShown || isProjectShown) return;
  await vscode.window.showInformationMessage("There is no memory yet. Write /remember and a fact for later sessions of this project, or /remember --user for all projects.");
}
