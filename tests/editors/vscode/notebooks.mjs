// A notebook that is open in the window, with unsaved cells: read as it is there, changed cell by cell, undone there.
// req: H15, H9
import assert from "node:assert/strict";
import { play } from "./stage.mjs";

/** The cells as the extension host has them. */
const cellsOf = (vscode) => {
  const [notebook] = vscode.workspace.notebookDocuments;
  return notebook?.getCells().map((cell) => [cell.document.languageId, cell.document.getText(), cell.outputs.length]) ?? null;
};

await play(async (actor) => {
  const { workbench } = actor;
  const cells = () => workbench.eval(cellsOf);
  const are = (wanted, what) => actor.until(async () => JSON.stringify(await cells()) === JSON.stringify(wanted), what);
  await workbench.eval(async (vscode) => {
    const uri = vscode.Uri.joinPath(vscode.workspace.workspaceFolders[0].uri, "a.ipynb");
    await vscode.commands.executeCommand("vscode.openWith", uri, "jupyter-notebook");
  });
  await are([["markdown", "# Title", 0], ["python", "x = 1", 1], ["raw", "as it is", 0]], "the notebook");
  await workbench.runCommand("agent-ls: New Session");
  const chat = await actor.chat();
  await workbench.eval(async (vscode) => {
    const edit = new vscode.WorkspaceEdit();
    const { document } = vscode.workspace.notebookDocuments[0].cellAt(1);
    edit.replace(document.uri, new vscode.Range(0, 4, 0, 5), "2");
    await vscode.workspace.applyEdit(edit);
  });
  await actor.step("a notebook with an unsaved cell");
  await actor.say("go");
  await chat.getByText("All done.").first().waitFor();
  await are([["markdown", "new", 0], ["python", "x = 3", 1], ["raw", "as it is", 0]], "the cells that the agent wanted");
  await actor.step("three cells changed, in the editor");
  assert.equal(await workbench.eval((vscode) => vscode.workspace.notebookDocuments[0].isDirty), true, "nobody saved it");
  // In its own layout: a file that is laid out otherwise is another one, line by line.
  await workbench.eval((vscode) => vscode.workspace.notebookDocuments[0].save());
  await actor.step("saved by the user");

  await workbench.runCommand("agent-ls: Undo All Changes");
  await are([["markdown", "# Title", 0], ["python", "x = 2", 1], ["raw", "as it is", 0]], "the cells as the user had them");
  await actor.step("undone, with what the user typed");

  await actor.say("again");
  await chat.getByText("Saved and read.").first().waitFor();
  await are([["markdown", "# Title", 0], ["python", "x = 4", 1], ["raw", "as it is", 0]], "the cell that the command was to read");
  const isSaved = () => workbench.eval((vscode) => !vscode.workspace.notebookDocuments[0].isDirty);
  await actor.until(isSaved, "it to be saved for the command"); // the window hears of a save after the server
  await actor.step("saved before a command");

  await workbench.runCommand("agent-ls: Undo All Changes");
  await are([["markdown", "# Title", 0], ["python", "x = 2", 1], ["raw", "as it is", 0]], "the cell as it was");
  await actor.until(isSaved, "the undo to be saved, because agent-ls had saved the change");
  await actor.step("undone after it was saved");
});
