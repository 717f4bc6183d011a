// Ask in place: a small input at the selection, opened and used by keys only. A change appears there with its buttons; an
// answer without a change appears in the same place.
// req: H20
import assert from "node:assert/strict";
import { play } from "./stage.mjs";

const THREAD = ".review-widget";

await play(async (actor) => {
  await actor.workbench.openFile("stock.py");
  for (const part of [closes, changes, answers, narrow]) await part(actor);
}, { width: 1100, height: 800 });

/** Selects lines with the keyboard in the editor, and opens the input. */
async function ask(actor, first, last) {
  const { workbench, page } = actor;
  await workbench.clickIntoEditor();
  // The cursor position of the click may arrive after the selection that is set here.
  await actor.until(async () => {
    await workbench.eval((vscode, from, to) => {
      vscode.window.activeTextEditor.selection = new vscode.Selection(from, 0, to, 1);
    }, first, last);
    return (await page.locator(".statusbar").innerText()).includes(`Ln ${last + 1}, Col`);
  }, "the selection");
  await page.keyboard.press("Control+i");
  const input = page.locator(`${THREAD} .comment-form .monaco-editor.focused`);
  await input.waitFor();
  return input;
}

/** Escape closes the input. VS Code asks before it discards what was typed. */
async function closes(actor) {
  const { page } = actor;
  await ask(actor, 3, 4);
  await page.keyboard.press("Escape");
  await page.locator(THREAD).waitFor({ state: "hidden" });
  assert.ok(await isInFile(page), "the keyboard is in the file again");
  await ask(actor, 3, 4);
  await page.keyboard.type("Never mind");
  await page.keyboard.press("Escape");
  await page.locator(".monaco-dialog-box", { hasText: "discard" }).waitFor();
  await actor.step("typed text is not lost unasked");
  await page.keyboard.press("Enter");
  await page.locator(THREAD).waitFor({ state: "hidden" });
  assert.equal(await actor.ask("requests"), 0);
}

function isInFile(page) {
  return page.evaluate(() => document.activeElement?.closest(".editor-group-container .monaco-editor") !== null);
}

/** Enter sends the typed instruction, and the result is a change at the selection. */
async function changes(actor) {
  const { page, workbench } = actor;
  const input = await ask(actor, 3, 4);
  await page.locator(THREAD).getByText("Ask agent-ls about stock.py:4-5").waitFor();
  await actor.step("the input at the selection");
  await page.keyboard.type("Simplify this,");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("see @parts");
  await page.locator(".suggest-widget.visible .monaco-list-row", { hasText: "parts.txt" }).first().waitFor();
  await actor.step("a file completes");
  await page.keyboard.press("Enter");
  await actor.until(async () => (await input.locator(".view-lines").innerText()).replaceAll("\u00a0", " ").includes("@parts.txt"), "the file in the input");
  await page.keyboard.press("Enter");
  await page.locator(THREAD, { hasText: "stock.py:4-5 · agent-ls is working" }).waitFor();
  await actor.step("it works");
  await workbench.runCommand("View: Hide Panel"); // VS Code opens the list of comments when the first thread is created
  await actor.ask("go");
  await actor.until(async () => (await workbench.text("stock.py")).includes("return sum(stock.values())"), "the change in the file");
  await actor.lens("agent 1/1", "Keep").waitFor();
  await page.locator(THREAD).waitFor({ state: "hidden" });
  await actor.step("the change with its buttons");
  assert.ok(await isInFile(page), "the keyboard is in the file again");
  await page.keyboard.press("Control+Alt+k");
  await actor.isDecided();
}

/** An answer without a change is shown where the question was asked, and a button of the thread closes it. */
async function answers(actor) {
  const { page } = actor;
  await ask(actor, 0, 0);
  await page.keyboard.type("/explain");
  await page.locator(".suggest-widget.visible .monaco-list-row", { hasText: "/explain" }).first().waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  const thread = page.locator(THREAD, { hasText: "It counts what is there." });
  await thread.waitFor();
  await actor.step("the answer in place");
  assert.equal(await page.locator(".part.panel").isVisible(), false, "the list of all comments is opened once only");
  await thread.getByRole("button", { name: "Close", exact: true }).first().click();
  await page.locator(THREAD).waitFor({ state: "hidden" });
}

/** The input in a narrow editor, and in a light theme. */
async function narrow(actor) {
  const { page, workbench } = actor;
  await workbench.eval((vscode) => vscode.workspace.getConfiguration("workbench").update("colorTheme", "Default Light Modern", true));
  await page.locator(".monaco-workbench.vs").waitFor();
  await page.setViewportSize({ width: 620, height: 700 });
  await ask(actor, 3, 4);
  await page.keyboard.type("Rename it");
  await actor.step("narrow and light");
  assert.equal(await actor.ask("requests"), 4, "what is only typed is not sent");
}
