// Shows a hunk of a notebook in the notebook editor.
import * as vscode from "vscode";
import type { Hunk } from "../snapshot/items";

/**
 * Opens the hunk's notebook and puts the cursor on the first line of its first part. Returns false if the file is not
 * a notebook, or if the user opens notebooks as text.
 */
export async function showInCell({ uri, cells }: Hunk): Promise<boolean> {
  const [part] = cells ?? [];
  if (!part) return false;
  const file = vscode.Uri.parse(uri);
  await vscode.commands.executeCommand("vscode.open", file, { preview: true });
  const notebook = vscode.workspace.notebookDocuments.find((each) => each.uri.toString() === file.toString());
  if (!notebook || notebook.cellCount === 0) return false;
  const cell = notebook.getCells().find(({ document }) => document.uri.toString() === part.uri) ?? notebook.cellAt(part.cell);
  await vscode.commands.executeCommand("vscode.open", cell.document.uri, { selection: new vscode.Range(part.first, 0, part.first, 0) });
  return true;
}
