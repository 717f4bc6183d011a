// Ask in place: an input for the selection, opened and used by keys only. A change appears there with its buttons; an answer
// without a change appears in the same place.
// req: H20
import assert from "node:assert/strict";
import { play } from "./stage.mjs";

const THREAD = ".review-widget";

await play(async (actor) => {
  await actor.workbench.openFile("stock.py");
  await isReady(actor);
  for (const part of [early, catches, closes, completes, changes, answers, narrow]) await part(actor);
}, { width: 1100, height: 800 });

/** Waits until the extension has started, and has told VS Code that it takes the key. */
async function isReady({ until, workbench }) {
  await until(() => workbench.eval((vscode) => vscode.extensions.getExtension("agent-ls.agent-ls").isActive), "the extension");
  await workbench.eval(async (vscode) => {
    await vscode.commands.executeCommand("runCommands", { commands: [{ command: "agentLs.askInPlace", args: "warmUp" }] });
    await vscode.commands.executeCommand("setContext", "rig.isReady", true);
  });
}

/** Before the extension has started, letters behind the key are not in the file either; the input opens later. */
async function early(actor) {
  const { page, workbench } = actor;
  const isReady = (value) => workbench.eval((vscode, ready) => vscode.commands.executeCommand("setContext", "agentLs.ready", ready), value);
  const before = await state(actor);
  await select(actor, 3, 4);
  await isReady(false);
  await isBusy(actor, 500);
  await page.keyboard.press("Control+i");
  await page.keyboard.type("Use f(x)");
  await workbench.quickInput.waitFor();
  await closeEmpty(actor);
  assert.deepEqual(await state(actor), { ...before, lines: [3, 4] });
  await actor.until(() => isInFile(page), "the keyboard to be in the file again");
  await isReady(true);
}

/** Selects lines with the keyboard in the editor. */
async function select(actor, first, last) {
  const { workbench, page } = actor;
  await workbench.clickIntoEditor();
  // The cursor position of the click may arrive after the selection that is set here.
  await actor.until(async () => {
    await workbench.eval(async (vscode, from, to) => {
      vscode.window.activeTextEditor.selection = new vscode.Selection(from, 0, to, 1);
      await vscode.commands.executeCommand("setContext", "rig.isSelected", true); // the window has the selection then
    }, first, last);
    return (await page.locator(".statusbar").innerText()).includes(`Ln ${last + 1}, Col`);
  }, "the selection");
}

async function ask(actor, first, last) {
  await select(actor, first, last);
  await actor.page.keyboard.press("Control+i");
  await actor.workbench.quickInput.waitFor();
  return actor.workbench.quickInput;
}

function holds(actor, text) {
  const look = async () => { assert.equal(await actor.workbench.quickInput.inputValue(), text); return true; };
  return actor.until(look, "the input to hold what was typed");
}

/**
 * Letters typed right behind the key are in the input, all of them and in order, and none in the file. `busyMs`: for so long
 * the process of the extensions answers nothing, as on a remote machine far away or while another extension works.
 */
async function catches(actor) {
  const { page, workbench } = actor;
  const before = await workbench.text("stock.py");
  const all = 'Use f(x) "and" [y] in it, at once';
  const places = [[3, 4, 0], [0, 0, 0], [3, 4, 0], [3, 4, 40], [1, 1, 400], [3, 4, 1500], [0, 2, 1500]];
  // The last one: one letter takes the place of one selected character.
  for (const [first, last, busyMs, words] of [...places.map((place) => [...place, all]), [0, 0, 400, "U"]]) {
    await select(actor, first, last);
    await isBusy(actor, busyMs);
    await page.keyboard.press("Control+i");
    await page.keyboard.type(words);
    await holds(actor, words);
    await actor.until(async () => (await workbench.text("stock.py")) === before, "the file as it was");
    await page.keyboard.type(".");
    await holds(actor, `${words}.`);
    if (busyMs === 400) await actor.step("letters behind the key are in the input");
    await closeEmpty(actor);
    // VS Code tells extensions a moment later that a file is saved again.
    await actor.until(async () => !(await state(actor)).isDirty, "the file to be as saved");
    assert.deepEqual(await state(actor), { text: before, isDirty: false, lines: [first, last] });
    await page.keyboard.press("Control+z");
    assert.equal(await workbench.text("stock.py"), before, "nothing of it comes back");
  }
}

/** From now on, the process of the extensions answers nothing for so long. */
function isBusy({ workbench }, ms) {
  return workbench.eval((vscode, busyMs) => { setTimeout(() => { for (const end = Date.now() + busyMs; Date.now() < end;); }, 0); }, ms);
}

/** A completion is that for all that was typed, and the letters behind Enter are behind it, in a busy window too. */
async function completes(actor) {
  const { page } = actor;
  for (const busyMs of [0, 40, 400, 1500]) {
    await ask(actor, 3, 4);
    await page.keyboard.type("See @");
    await page.locator(".quick-input-list .monaco-list-row").first().waitFor();
    await isBusy(actor, busyMs);
    await page.keyboard.type("parts");
    await page.keyboard.press("Enter");
    await page.keyboard.type("too, and more");
    await holds(actor, "See @parts.txt too, and more");
    await closeEmpty(actor);
  }
}

function state({ workbench }) {
  return workbench.eval((vscode) => {
    const { document, selection } = vscode.window.activeTextEditor;
    return { text: document.getText(), isDirty: document.isDirty, lines: [selection.start.line, selection.end.line] };
  });
}

async function closeEmpty({ page, workbench }) {
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  await page.keyboard.press("Escape");
  await workbench.quickInput.waitFor({ state: "hidden" });
}

/** Escape closes the input. What was typed is there when it is opened again, and typing replaces it. */
async function closes(actor) {
  const { page, workbench } = actor;
  await ask(actor, 3, 4);
  await page.keyboard.press("Escape");
  await workbench.quickInput.waitFor({ state: "hidden" });
  await actor.until(() => isInFile(page), "the keyboard to be in the file again");
  await ask(actor, 3, 4);
  await page.keyboard.type("Never mind");
  await page.keyboard.press("Escape");
  await workbench.quickInput.waitFor({ state: "hidden" });
  await ask(actor, 3, 4);
  await holds(actor, "Never mind");
  await actor.step("typed text is not lost");
  await closeEmpty(actor);
  assert.equal(await actor.ask("requests"), 0);
}

function isInFile(page) {
  return page.evaluate(() => document.activeElement?.closest(".editor-group-container .monaco-editor") != null);
}

/** Enter sends the typed instruction, and the result is a change at the selection. */
async function changes(actor) {
  const { page, workbench } = actor;
  await ask(actor, 3, 4);
  await page.locator(".quick-input-title", { hasText: "Ask agent-ls · stock.py:4-5" }).waitFor();
  await actor.step("the input for the selection");
  await page.keyboard.type("Simplify this, see @parts");
  await page.locator(".quick-input-list .monaco-list-row", { hasText: "parts.txt" }).first().waitFor();
  await actor.step("a file completes");
  await page.keyboard.press("Enter");
  await page.keyboard.type("too");
  await holds(actor, "Simplify this, see @parts.txt too");
  await page.keyboard.press("Enter");
  await page.locator(THREAD, { hasText: "stock.py:4-5 · agent-ls is working" }).waitFor();
  await actor.step("it works");
  // VS Code opens the list of comments when the first thread is created. The keyboard stays in the palette: it went to the
  // file when the input was closed, and not when the message was sent.
  await workbench.runCommand("View: Hide Panel");
  await actor.ask("go");
  await actor.until(async () => (await workbench.text("stock.py")).includes("return sum(stock.values())"), "the change in the file");
  await actor.lens("agent 1/1", "Keep").waitFor();
  await page.locator(THREAD).waitFor({ state: "hidden" });
  await actor.step("the change with its buttons");
  await actor.until(() => isInFile(page), "the keyboard to be in the file again");
  await page.keyboard.press("Control+Alt+k");
  await actor.isDecided();
}

/** An answer without a change is shown where the question was asked, and a button of the thread closes it. */
async function answers(actor) {
  const { page } = actor;
  await ask(actor, 0, 0);
  await page.keyboard.type("/expl");
  await page.locator(".quick-input-list .monaco-list-row", { hasText: "/explain" }).first().waitFor();
  await page.keyboard.press("Enter");
  await holds(actor, "/explain ");
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
