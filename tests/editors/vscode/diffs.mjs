// Diff editors have only the colours of VS Code: no highlights of changes are drawn over them, also not for new or deleted
// files.
// req: H6, H9
import assert from "node:assert/strict";
import { play } from "./stage.mjs";

// VS Code's class names for decorations of extensions.
const MARK = ".cdr[class*='ced-']";
const DIFF = ".monaco-diff-editor";

await play(async (actor) => {
  const { workbench, page } = actor;
  await workbench.openFile("stock.py");
  await actor.newSession();
  await actor.say("Change three files.");
  await (await actor.asked("rm parts.txt")).getByRole("button", { name: "Allow Once" }).click();
  await (await actor.chat()).getByText("Three files are changed.").first().waitFor();
  await actor.isIdle();
  await page.locator(`.editor-group-container.active ${MARK}`).first().waitFor();
  await actor.step("marks in the editor of the file");

  await workbench.runCommand("agent-ls: Compare This File with Its Accepted Text");
  await isUnmarked(actor, 1);
  await actor.step("one file compared");
  await workbench.runCommand("View: Close All Editors");
  await workbench.runCommand("agent-ls: Compare All Changed Files");
  await isUnmarked(actor, 3);
  await actor.step("all files compared");

  // In a normal editor the same document has highlights again.
  await workbench.openFile("stock.py");
  await page.locator(`.editor-group-container.active ${MARK}`).first().waitFor();
});

/** Checks that this many diff editors are drawn, with the colours of VS Code and without highlights. */
async function isUnmarked({ page, workbench, until }, files) {
  const inserted = page.locator(`${DIFF} :is(.line-insert, .line-delete)`);
  await until(async () => (await page.locator(`${DIFF}:visible`).count()) >= files && (await inserted.count()) > 0, `${files} comparisons`);
  await until(() => workbench.eval((vscode, count) => vscode.window.visibleTextEditors.length >= count, files), "the editors in the extension host");
  // Messages to the workbench arrive in order, so highlights that were set before this one are drawn in the next frames.
  await workbench.eval((vscode) => vscode.commands.executeCommand("setContext", "agentLsTest.drawn", true));
  await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => { requestAnimationFrame(done); }); }));
  assert.equal(await page.locator(`${DIFF} ${MARK}`).count(), 0, "no mark over a comparison");
}
