// The model queries VS Code's built-in language server for JavaScript: definition, references, symbols, a rename in an open
// and a closed file, and diagnostics. The Python test checks the results that the model received.
// req: T14, H9, H12
import assert from "node:assert/strict";
import { play } from "./stage.mjs";

await play(async (actor) => {
  const { workbench } = actor;
  await workbench.openFile("cart.js");
  // Wait until the language server has read the project; before that it finds nothing.
  await actor.until(() => references(workbench), "the language server to know the project", 120_000);
  await actor.until(() => problems(workbench, "never"), "the language server to see what is unused");
  await actor.newSession();
  const chat = await actor.chat();
  await actor.say("Look around.");
  await chat.getByText("I have looked.").first().waitFor({ timeout: 90_000 });
  await actor.step("looked around");

  await actor.say("Fix it.");
  await chat.getByText("It is fixed.").first().waitFor({ timeout: 90_000 });
  await actor.until(async () => !(await workbench.text("cart.js")).includes("never"), "the fix in the open file");
  await actor.step("fixed");

  await actor.say("Give it another name.");
  await chat.getByText("It has another name.").first().waitFor({ timeout: 90_000 });
  await actor.until(async () => (await workbench.text("cart.js")).includes("function sumOf"), "the new name in the open file");
  await actor.step("renamed");

  await actor.until(() => problems(workbench, "nothere"), "the language server to see the mistake");
  await actor.say("What is wrong?");
  await chat.getByText("I see what is wrong.").first().waitFor({ timeout: 90_000 });
  await actor.step("problems told");

  const isDirty = await workbench.eval((vscode) => vscode.workspace.textDocuments.some(({ uri, isDirty }) => uri.path.endsWith("/cart.js") && isDirty));
  assert.equal(isDirty, true, "an open file is changed in the editor, and saved by nobody");
});

function references(workbench) {
  return workbench.eval(async (vscode) => {
    const uri = vscode.Uri.joinPath(vscode.workspace.workspaceFolders[0].uri, "cart.js");
    const found = await vscode.commands.executeCommand("vscode.executeReferenceProvider", uri, new vscode.Position(0, 16));
    return new Set((found ?? []).map((one) => one.uri.path)).size === 2;
  });
}

function problems(workbench, word) {
  return workbench.eval((vscode, word) => {
    const uri = vscode.Uri.joinPath(vscode.workspace.workspaceFolders[0].uri, "cart.js");
    return vscode.languages.getDiagnostics(uri).some(({ message }) => message.includes(word));
  }, word);
}
