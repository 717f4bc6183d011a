// Use of the keyboard only, without clicks and without the command palette, from an empty window to a kept and an undone
// change. Then random typing around changes: after each edit the highlights are at the lines of the server's ledger.
// req: H6, H7, H9
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { play } from "./stage.mjs";
import { makeRandom, readDrawnLines, makeEdit, select } from "./random_typing.mjs";

const EDITS = 30;
const SEED = 1;
/** The line below a removal, which is next to another change, is moved down: VS Code moves the mark with the line. */
const BEGINNING = [
  { selections: [[9, 0, 9, 0]], key: "Control+Shift+k" },
  { selections: [[9, 6, 9, 6]], text: "\nmine\nx" },
  { selections: [[9, 3, 9, 3]], key: "Alt+ArrowDown" },
];

await play(async (actor) => {
  for (const part of [sendMessage, approveCommand, keepAndUndo, typeAround]) await part(actor);
}, { width: 1100, height: 2000 });

/** Opens a file by its name, then the chat, and writes a message. */
async function sendMessage(actor) {
  const { page, until } = actor;
  await page.keyboard.press("Control+p");
  await page.keyboard.type("stock.py");
  await page.locator(".quick-input-widget:visible .monaco-list-row.focused", { hasText: "stock.py" }).waitFor();
  await page.keyboard.press("Enter");
  await page.locator(".editor-group-container.active .monaco-editor.focused").waitFor();
  await page.keyboard.press("Control+Alt+g");
  const chat = await actor.chat();
  await until(() => chat.locator("#composer textarea").evaluate((area) => area === document.activeElement), "the focus in the prompt");
  await page.keyboard.type("Tidy up.");
  await page.keyboard.press("Enter");
  await actor.asked("mkdir checked");
  await actor.step("asks before a command");
}

/** The key for the pending approval lists the answers, the first of which is to allow it once. */
async function approveCommand(actor) {
  const { page } = actor;
  await page.keyboard.press("Control+Alt+a");
  await page.locator(".quick-input-widget:visible .monaco-list-row.focused", { hasText: "Allow Once" }).waitFor();
  await actor.step("the answers");
  await page.keyboard.press("Enter");
  await (await actor.chat()).getByText("Tidy and checked.").first().waitFor();
  await actor.isIdle();
}

/** Returns the file and the text of the line with the cursor; undefined while no editor has the focus. */
async function readCursorLine({ page, workbench }) {
  if (!(await page.locator(".editor-group-container.active .monaco-editor.focused").isVisible())) return undefined;
  return workbench.eval((vscode) => {
    const { document, selection } = vscode.window.activeTextEditor;
    return `${document.uri.path.split("/").pop()}: ${document.lineAt(selection.active.line).text.trim()}`;
  });
}

/** Keys go to the next change, also in the next file, and keep and undo it. */
async function keepAndUndo(actor) {
  const { page, until, workbench } = actor;
  const goesTo = async (line) => {
    await page.keyboard.press("Control+Alt+]");
    await until(async () => (await readCursorLine(actor)) === line, `the cursor to be at ${line}`);
  };
  await goesTo("stock.py: return sum(stock.values())");
  await page.keyboard.press("Control+Alt+k");
  await actor.lens("agent 1/1", "Keep").waitFor();
  await actor.step("kept by its key");
  await goesTo("stock.py: return list(stock)");
  await goesTo("parts.txt: four b");
  await page.keyboard.press("Control+Alt+[");
  await until(async () => (await readCursorLine(actor)) === "stock.py: return list(stock)", "the cursor to be on the change before");
  await page.keyboard.press("Control+Alt+u");
  await until(async () => (await workbench.text("stock.py")).includes("[name for name in stock]"), "the undone change");
  assert.ok((await workbench.text("stock.py")).includes("return sum(stock.values())"), "the kept change");
  await actor.isDecided();
  await actor.step("undone by its key");
}

/** Types anywhere in parts.txt, most often near its changes. */
async function typeAround(actor) {
  const { page, workbench } = actor;
  // Turn completion off, because an open completion list would take the key Enter.
  await workbench.eval((vscode) => vscode.workspace.getConfiguration("editor").update("quickSuggestions", false, true));
  await page.keyboard.press("Control+Alt+]");
  await actor.until(async () => (await readCursorLine(actor)) === "parts.txt: four b", "the cursor to be on the first change");
  let { document, ledger } = await waitForMarks(actor, "before the typing");
  assert.equal(ledger.length, 5);
  const random = makeRandom(SEED);
  const done = [];
  for (let count = 0; count < EDITS; count += 1) {
    const edit = BEGINNING[count] ?? makeEdit(random, document.split("\n"), ledger);
    done.push(JSON.stringify(edit));
    await select(actor, edit.selections);
    if (edit.key) await page.keyboard.press(edit.key);
    else await page.keyboard.type(edit.text);
    ({ document, ledger } = await waitForMarks(actor, `after\n${done.join("\n")}`));
    assert.ok(ledger.length > 0, "a change is left to type around");
  }
  await actor.step("typed around changes");
}

/**
 * Waits until the buttons and the highlighted lines are at the lines of the server's ledger for the current text. A change
 * that can no longer be located is not in the ledger; it is kept here, which removes its highlight.
 */
async function waitForMarks(actor, when) {
  const { workbench } = actor;
  let seen;
  await actor.until(async () => {
    const { text, version, buttons, stale } = await readEditor(workbench);
    const { version: known, hunks } = await actor.ask("ledger");
    const { lines, marked } = await readDrawnLines(actor);
    seen = { text, version, known, hunks, buttons, stale, marked };
    if (lines.join("\n") !== text || version !== known) return false;
    await workbench.eval((vscode, ids) => Promise.all(ids.map((id) => vscode.commands.executeCommand("agentLs.keepHunk", id))), stale);
    const last = lines.length - 1;
    const firstLines = hunks.map(({ id, lines: [first] }) => `${id} ${Math.min(first, last)}`);
    const highlighted = hunks.flatMap(({ lines: [first, end] }) => (first === end ? [Math.min(first, last)] : Array.from({ length: end - first }, (_, at) => first + at)));
    return isDeepStrictEqual(new Set(buttons), new Set(firstLines)) && isDeepStrictEqual(new Set(marked), new Set(highlighted));
  }, `the marks to be at the lines of the ledger ${when}`).catch((error) => { throw new Error(`${error.message}\n${JSON.stringify(seen)}`); });
  return { document: seen.text, ledger: seen.hunks.map(({ lines }) => lines) };
}

/** Reads parts.txt in the extension host: text, lines with a button to keep a change, and changes without a place. */
function readEditor(workbench) {
  return workbench.eval(async (vscode) => {
    const document = vscode.workspace.textDocuments.find(({ uri }) => uri.scheme === "file" && uri.path.endsWith("/parts.txt"));
    const lenses = (await vscode.commands.executeCommand("vscode.executeCodeLensProvider", document.uri, 100)).filter(({ command }) => command);
    const ofHunks = lenses.map(({ command, range }) => ({ command: command.command, title: command.title, id: command.arguments[0], line: range.start.line }));
    return {
      text: document.getText(),
      version: document.version,
      buttons: ofHunks.filter(({ command }) => command === "agentLs.keepHunk").map(({ id, line }) => `${id} ${line}`),
      stale: ofHunks.filter(({ title }) => title.includes("position unknown")).map(({ id }) => id),
    };
  });
}
