// A notebook that is open in the window, with unsaved cells: the agent reads the unsaved cells and changes them, and the
// user undoes the changes in the notebook editor.
// req: H15, H9
import assert from "node:assert/strict";
import { actUntil } from "./driver.mjs";
import { play } from "./stage.mjs";

/** Returns the cells as the extension host has them. */
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
  // Save in VS Code's own JSON layout; otherwise the first save would change every line of the file.
  await workbench.eval((vscode) => vscode.workspace.notebookDocuments[0].save());
  await actor.step("saved by the user");

  await workbench.runCommand("agent-ls: Undo All Changes");
  await are([["markdown", "# Title", 0], ["python", "x = 2", 1], ["raw", "as it is", 0]], "the cells as the user had them");
  await actor.step("undone, with what the user typed");

  await actor.say("again");
  await chat.getByText("Saved and read.").first().waitFor();
  await are([["markdown", "# Title", 0], ["python", "x = 4", 1], ["raw", "as it is", 0]], "the cell that the command was to read");
  const isSaved = () => workbench.eval((vscode) => !vscode.workspace.notebookDocuments[0].isDirty);
  await actor.until(isSaved, "it to be saved for the command"); // the window is notified of a save later than the server
  await actor.step("saved before a command");

  await workbench.runCommand("agent-ls: Undo All Changes");
  await are([["markdown", "# Title", 0], ["python", "x = 2", 1], ["raw", "as it is", 0]], "the cell as it was");
  await actor.until(isSaved, "the undo to be saved, because agent-ls had saved the change");
  await actor.step("undone after it was saved");

  await marked(actor, are);
});

/** Buttons and highlights of changes in cells move with their lines, and the buttons decide about the changes. */
async function marked(actor, are) {
  const { workbench, page } = actor;
  await actor.say("mark");
  await (await actor.chat()).getByText("Marked.").first().waitFor();
  await are([["markdown", "# Title", 0], ["python", "x = 2\ny = 6\nz = 7", 1], ["raw", "as it was", 0]], "two cells with changes");
  await actor.isIdle();
  await lensesAre(actor, [[1, 1, "agent 1/2 · +2"], [2, 0, "agent 2/2 · +1 −1"]], "each change to have buttons in its cell");
  await actor.until(async () => (await actor.behindLines()).includes("− as it is"), "what was removed to be in sight");
  await actor.lens("agent 2/2", "Keep").waitFor();
  await actor.step("changes in cells have marks and buttons");

  await workbench.runCommand("agent-ls: Go to Next Change");
  await cursorIs(actor, 1, 1);
  await workbench.runCommand("agent-ls: Compare This Change with the Earlier Text");
  await actor.until(() => workbench.eval((vscode) => vscode.window.tabGroups.activeTabGroup.activeTab?.label.includes("agent's changes")), "the comparison");
  await actor.step("the file on disk compared");
  // The diff editor opens the file as text, which must not count as an edit of the notebook.
  await workbench.openFile("notes.txt");
  await workbench.runCommand("agent-ls: Go to Next Change");
  await cursorIs(actor, 1, 1);
  await workbench.eval(async (vscode) => {
    const edit = new vscode.WorkspaceEdit();
    edit.insert(vscode.workspace.notebookDocuments[0].cellAt(1).document.uri, new vscode.Position(0, 0), "# mine\n");
    await vscode.workspace.applyEdit(edit);
  });
  await lensesAre(actor, [[1, 2, "agent 1/2 · +2"], [2, 0, "agent 2/2 · +1 −1"]], "the mark to move with its lines");
  await actor.step("typed above a change in a cell");

  // The command starts at the cursor, which may be above the change of its cell or on it.
  await actUntil(() => workbench.runCommand("agent-ls: Go to Next Change"), () => isCursorAt(actor, 2, 0), "the cursor to be on the change of the last cell");
  await page.keyboard.press("Control+Alt+k");
  await lensesAre(actor, [[1, 2, "agent 1/1 · +2"]], "the change at the cursor to be kept");
  await actor.lens("agent 1/1", "Comment").click();
  await workbench.inputBox("Say why.");
  await (await actor.chat()).getByText("Because six is next.").first().waitFor();
  await actor.isIdle();
  await actor.step("commented on in an input box");
  await actor.decide("agent 1/1", "Undo");
  await are([["markdown", "# Title", 0], ["python", "# mine\nx = 2", 1], ["raw", "as it was", 0]], "the change to be undone in its cell");
  await actor.isDecided();
  await actor.step("one kept, one undone");
}

/** Returns the buttons of changes in cells: [cell, line, label]. */
function lensLines({ workbench }) {
  return workbench.eval(async (vscode) => {
    const found = [];
    const withEditor = vscode.workspace.notebookDocuments[0].getCells().filter(({ kind }) => kind === vscode.NotebookCellKind.Code);
    for (const { index, document } of withEditor) {
      const lenses = await vscode.commands.executeCommand("vscode.executeCodeLensProvider", document.uri, 100);
      for (const { range, command } of lenses) if (command?.title.startsWith("agent ")) found.push([index, range.start.line, command.title]);
    }
    return found;
  });
}

async function lensesAre(actor, expected, what) {
  let seen;
  await actor.until(async () => {
    seen = await lensLines(actor);
    return JSON.stringify(seen) === JSON.stringify(expected);
  }, what).catch((error) => { throw new Error(`${error.message}: ${JSON.stringify(seen)}`); });
}

/** Returns whether the cursor is in this cell at this line, and the cell has the focus. */
async function isCursorAt({ workbench, page }, cell, line) {
  const at = await workbench.eval((vscode) => {
    const editor = vscode.window.activeTextEditor;
    const index = vscode.window.activeNotebookEditor?.notebook.getCells().findIndex(({ document }) => document === editor?.document);
    return [index ?? null, editor?.selection.active.line ?? null];
  });
  const hasKeyboard = await page.evaluate(() => document.activeElement?.closest(".notebookOverlay .monaco-editor") != null);
  return JSON.stringify(at) === JSON.stringify([cell, line]) && hasKeyboard;
}

async function cursorIs(actor, cell, line) {
  await actor.until(() => isCursorAt(actor, cell, line), `the cursor to be at line ${line} of cell ${cell}`);
}
