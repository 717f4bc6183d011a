// Highlights and buttons of changes stay at their text while the user types and when the agent edits again.
// req: H6, H9
import assert from "node:assert/strict";
import { actUntil } from "./driver.mjs";
import { play } from "./stage.mjs";

const CHANGED = "    return sum(stock.values())";

await play(async (actor) => {
  await actor.workbench.openFile("stock.py");
  await actor.newSession();
  for (const part of [typed, editedAgain, keptByKey, undoneAndBack]) await part(actor);
});

/** Returns the lines above which the editor shows buttons of changes, with the texts of the buttons. */
function lensLines({ workbench }) {
  return workbench.eval(async (vscode) => {
    const document = vscode.workspace.textDocuments.find(({ uri }) => uri.scheme === "file" && uri.path.endsWith("/stock.py"));
    const lenses = await vscode.commands.executeCommand("vscode.executeCodeLensProvider", document.uri, 100);
    const lines = lenses.filter(({ command }) => command?.command === "agentLs.keepHunk").map(({ range }) => range.start.line);
    return [...new Set(lines)].sort((a, b) => a - b).map((line) => document.lineAt(line).text);
  });
}

async function marksAre(actor, expected, what) {
  let seen;
  await actor.until(async () => {
    seen = await lensLines(actor);
    return JSON.stringify(seen) === JSON.stringify(expected);
  }, what).catch((error) => { throw new Error(`${error.message}: ${JSON.stringify(seen)}`); });
}

async function typed(actor) {
  const { workbench, page } = actor;
  await actor.say("Tidy the count.");
  await (await actor.chat()).getByText("It is tidy.").first().waitFor();
  await actor.isIdle();
  await marksAre(actor, [CHANGED], "the change to be marked");
  await actor.until(async () => (await actor.behindLines()).some((text) => text.includes("− return sum(list(stock.values()))")), "what was removed to be in sight");
  await workbench.clickIntoEditor();
  await page.keyboard.press("Control+Home");
  await page.keyboard.type("# one\n# two\n");
  await marksAre(actor, [CHANGED], "the mark to move with its text");
  await actor.step("typed above a change");
}

/** A second edit above the first: both are highlighted at their lines, and no other line is. */
async function editedAgain(actor) {
  await actor.say("Add a note.");
  await (await actor.chat()).getByText("It is noted.").first().waitFor();
  await actor.isIdle();
  await marksAre(actor, ["# a note", CHANGED], "both marks at their lines");
  await actor.workbench.runCommand("Agent LS: Focus on Changes View");
  const file = actor.page.locator(".pane-body .monaco-list-row", { hasText: "stock.py" }).first();
  const rows = actor.page.locator(".pane-body .monaco-list-row", { hasText: "· line" });
  await actUntil(() => file.click({ timeout: 3_000 }), async () => (await rows.count()) > 0, "the changes of the file");
  await actor.until(async () => (await rows.allInnerTexts()).join("\n").includes("line 8"), "Changes to name the line");
  // The arrows above a change go from that change, not from the cursor.
  const arrow = actor.page.locator(".codelens-decoration", { hasText: "agent 1/2" }).locator("a:has(.codicon-arrow-down)").first();
  const isThere = () => actor.workbench.eval((vscode, text) => {
    const editor = vscode.window.visibleTextEditors.find(({ document }) => document.uri.path.endsWith("/stock.py"));
    return editor.document.lineAt(editor.selection.active.line).text === text;
  }, CHANGED);
  await actUntil(() => arrow.click({ timeout: 3_000 }), isThere, "the cursor to be on the next change");
  await actor.step("edited again above it");
}

/** The key keeps the change at the line of the cursor. */
async function keptByKey(actor) {
  const { workbench, page } = actor;
  await workbench.eval((vscode, text) => {
    const editor = vscode.window.visibleTextEditors.find(({ document }) => document.uri.path.endsWith("/stock.py"));
    const line = editor.document.getText().split("\n").indexOf(text);
    editor.selection = new vscode.Selection(line, 4, line, 4);
  }, CHANGED);
  await workbench.runCommand("View: Focus Active Editor Group");
  await page.keyboard.press("Control+Alt+k");
  await marksAre(actor, ["# a note"], "the change at the cursor to be kept");
  assert.ok((await workbench.text("stock.py")).includes(CHANGED));
  await actor.step("kept by its key");
}

/** A change is undone by its button, and restored by the editor's undo: it is then pending again. */
async function undoneAndBack(actor) {
  const { workbench, page } = actor;
  await actor.decide("agent 1/1", "Undo");
  await actor.until(async () => !(await workbench.text("stock.py")).includes("# a note"), "the note to go");
  await marksAre(actor, [], "no mark");
  await workbench.clickIntoEditor();
  await page.keyboard.press("Control+z");
  await actor.until(async () => (await workbench.text("stock.py")).includes("# a note"), "the note to be back");
  if (await actor.ask("marksAgain")) await marksAre(actor, ["# a note"], "the note to be marked again");
  await actor.step("undone and back");
}
