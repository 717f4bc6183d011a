// Changes cells of an open notebook, as one edit in the user's undo history.
import * as vscode from "vscode";
import type { ClientRequests, NewCell } from "../connection/protocol";
import { findChangedPart, isApplicable } from "./notebook_edits";

function cellData({ kind, language, text, id }: NewCell): vscode.NotebookCellData {
  const shown = kind === "markdown" ? vscode.NotebookCellKind.Markup : vscode.NotebookCellKind.Code;
  const data = new vscode.NotebookCellData(shown, text, language);
  if (id !== undefined) data.metadata = { id };
  return data;
}

function editOf(notebook: vscode.NotebookDocument, { texts, splices }: ClientRequests["editNotebook"]["params"]): vscode.WorkspaceEdit {
  const edit = new vscode.WorkspaceEdit();
  for (const { index, text } of texts) {
    const { document } = notebook.cellAt(index);
    const part = findChangedPart(document.getText(), text);
    edit.replace(document.uri, new vscode.Range(document.positionAt(part.start), document.positionAt(part.end)), part.text);
  }
  const cells = splices.map(({ start, was, cells: added }) =>
    vscode.NotebookEdit.replaceCells(new vscode.NotebookRange(start, start + was.length), added.map(cellData)));
  if (cells.length > 0) edit.set(notebook.uri, cells);
  return edit;
}

/** Answers `editNotebook`. Returns nothing, because the server gets the new cells by document sync. */
export async function editNotebook(change: ClientRequests["editNotebook"]["params"]): Promise<Record<string, never>> {
  const uri = vscode.Uri.parse(change.uri).toString();
  const notebook = vscode.workspace.notebookDocuments.find((each) => each.uri.toString() === uri);
  if (!notebook) throw new Error("the notebook is not open in this window");
  if (!isApplicable(notebook.getCells().map(({ document }) => document.getText()), change)) throw new Error("the notebook has changed in the meantime");
  if (!(await vscode.workspace.applyEdit(editOf(notebook, change)))) throw new Error("the editor did not change the notebook");
  return {};
}
