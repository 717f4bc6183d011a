// Inserts code from a model's answer at the user's cursor, as one edit in the undo history.
import * as vscode from "vscode";

export async function insertAtCursor(text: string): Promise<void> {
  const editor = vscode.window.activeTextEditor ?? vscode.window.visibleTextEditors.find(({ document }) => document.uri.scheme === "file");
  const isDone = (await editor?.edit((builder) => {
    for (const selection of editor.selections) builder.replace(selection, text.replace(/\n$/, ""));
  })) === true;
  if (!isDone) void vscode.window.showWarningMessage("The code was not inserted: open a file and move the cursor to the position for the code.");
}
