// A plan is edited and accepted by keys. After Undo All the files on disk are as before the agent's changes.
// req: H6, H9, H22
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { play } from "./stage.mjs";

await play(async (actor) => {
  await actor.workbench.openFile("stock.py");
  await actor.newSession();
  for (const part of [accepted, undone]) await part(actor);
}, { width: 1100, height: 800 });

/** The plan is a document that the user edits. The edited text is sent, with the mode that the user chooses. */
async function accepted(actor) {
  const { workbench, page } = actor;
  const chat = await actor.chat();
  await actor.say("Plan it.");
  await chat.locator("#accept-plan").getByRole("button", { name: "Edit and Accept…" }).waitFor();
  await actor.isIdle();
  await actor.step("a plan to accept");
  await chat.locator("#accept-plan").getByRole("button", { name: "Edit and Accept…" }).press("Enter");
  await actor.until(() => workbench.eval((vscode) => vscode.window.activeTextEditor?.document.getText() === "1. Tidy the count."), "the plan as a document");
  await page.locator(".editor-group-container.active .monaco-editor.focused").first().waitFor();
  await page.keyboard.press("Control+End");
  await page.keyboard.type(" And check it.");
  await actor.step("the plan as a document");
  await page.keyboard.press("Control+Enter");
  await workbench.quickInput.waitFor();
  await page.keyboard.type("Edits");
  await page.keyboard.press("Enter");
  const asked = await actor.asked("Run this command?");
  await asked.getByRole("button", { name: "Allow Once" }).press("Enter");
  await chat.getByText("It is tidy.").first().waitFor();
  await actor.isIdle();
  assert.equal(await workbench.eval((vscode) => vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs).some(({ isDirty }) => isDirty)), false, "the document of the plan is closed, and the files are saved");
  await actor.step("the plan is carried out");
}

/** After Undo All, files that agent-ls has saved are saved again, the open one and the closed one. */
async function undone(actor) {
  const { workbench, project } = actor;
  const chat = await actor.chat();
  const onDisk = (name) => fs.readFileSync(path.join(project, name), "utf8");
  assert.match(onDisk("stock.py"), /return sum\(stock\.values\(\)\)/);
  assert.match(onDisk("parts.txt"), /screw/);
  await chat.locator("#review").getByRole("button", { name: "Undo All" }).press("Enter");
  await actor.until(() => /return sum\(list\(stock\.values\(\)\)\)/.test(onDisk("stock.py")) && onDisk("parts.txt") === "bolt\nnut\n", "the disk to be as before");
  await actor.until(() => workbench.eval((vscode) => vscode.workspace.textDocuments.every(({ isDirty }) => !isDirty)), "no file to have unsaved text");
  await actor.step("all is undone on disk too");
}
