// In one window: findings of a review are explained, dismissed and fixed; notes of the memory are kept and undone; the key
// for a suggestion displays one in grey, and Tab accepts it.
// req: H21, H26, H27, H9
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { actUntil } from "./driver.mjs";
import { play } from "./stage.mjs";

const MEMORY = ".agent-ls/memory.md";
const EDITOR = ".editor-group-container.active .monaco-editor";

await play(async (actor) => {
  await actor.workbench.openFile("stock.py");
  await actor.newSession();
  for (const part of [review, explain, dismiss, fix, keepNote, undoNote, suggest]) await part(actor);
}, { width: 1100, height: 800 });

/** Reads the diagnostics of agent-ls in stock.py: lines from 1, and messages. */
function readFindings({ workbench }) {
  return workbench.eval((vscode) => {
    const { uri } = vscode.workspace.textDocuments.find((document) => document.uri.path.endsWith("/stock.py"));
    return vscode.languages.getDiagnostics(uri).filter(({ source }) => source === "agent-ls").map(({ range, message }) => `${range.start.line + 1} ${message}`).sort();
  });
}

/** Waits until the Problems view lists exactly these messages. */
async function waitForProblems({ page, until }, messages) {
  const rows = page.locator(".markers-panel .monaco-list-row", { has: page.locator(".marker-message-line, .details-container") });
  let seen;
  await until(async () => {
    seen = await rows.allInnerTexts();
    return seen.length === messages.length && messages.every((message) => seen.some((row) => row.includes(message)));
  }, `the Problems view to list ${messages.join(" and ")}`).catch((error) => { throw new Error(`${error.message}: ${JSON.stringify(seen)}`); });
}

/** Chooses the quick fix with that title at a line, from 1. Returns the titles of all actions of agent-ls there. */
async function chooseQuickFix(actor, line, title) {
  const { workbench, page } = actor;
  await workbench.clickIntoEditor();
  await actor.until(async () => {
    await workbench.eval((vscode, at) => { vscode.window.activeTextEditor.selection = new vscode.Selection(at, 6, at, 6); }, line - 1);
    return (await page.locator(".statusbar").innerText()).includes(`Ln ${line}, Col`);
  }, `the cursor on line ${line}`);
  const rows = page.locator(".action-widget .monaco-list-row");
  const wanted = rows.filter({ hasText: title }).first();
  let titles = [];
  let isChosen = false;
  await actUntil(async () => {
    // VS Code closes the list if the diagnostics change while it is open.
    if (!(await wanted.isVisible())) await page.keyboard.press("Control+.");
    await wanted.waitFor({ timeout: 3_000 }).catch(() => undefined);
    titles = await rows.allInnerTexts();
    isChosen = await wanted.click({ timeout: 3_000 }).then(() => true, () => false);
  }, () => isChosen, `the quick fix ${title}`);
  return titles.map((text) => text.trim()).filter((text) => text.includes("agent") || text.startsWith("Dismiss"));
}

/** The findings are in the Problems view, and their lines are underlined. */
async function review(actor) {
  const { page } = actor;
  await actor.say("/review stock.py");
  await (await actor.chat()).getByText("Three findings.").first().waitFor();
  await actor.isIdle();
  await actor.until(async () => (await readFindings(actor)).length === 3, "three diagnostics");
  assert.deepEqual(await readFindings(actor), ["13 The unit is missing.\nSuggested fix:\nAdd the unit.", "5 The list is not needed.", "9 The name is [vague](command:evil)."]);
  await page.locator(`${EDITOR} .squiggly-error`).first().waitFor();
  await page.locator(`${EDITOR} .squiggly-warning`).first().waitFor();
  await page.keyboard.press("Control+Shift+m");
  await waitForProblems(actor, ["The unit is missing.", "The list is not needed.", "The name is [vague](command:evil)."]);
  await actor.step("findings in the Problems view");
}

async function explain(actor) {
  const chat = await actor.chat();
  const titles = await chooseQuickFix(actor, 5, "Let the agent explain");
  assert.deepEqual(titles.map((title) => title.split(":")[0]), ["Fix with the agent", "Let the agent explain", "Dismiss"]);
  await chat.getByText("A sum needs no list.").first().waitFor();
  await actor.isIdle();
  assert.equal((await readFindings(actor)).length, 3, "an explained finding stays");
}

async function dismiss(actor) {
  await chooseQuickFix(actor, 9, "Dismiss");
  await waitForProblems(actor, ["The unit is missing.", "The list is not needed."]);
  assert.equal((await readFindings(actor)).length, 2);
  await actor.step("dismissed");
}

/** The fix is a change of the agent, and the finding disappears with the lines that it was about. */
async function fix(actor) {
  const { workbench } = actor;
  await chooseQuickFix(actor, 13, "Fix with the agent");
  await (await actor.chat()).getByText("It has its unit now.").first().waitFor();
  await actor.isIdle();
  await actor.until(async () => (await workbench.text("stock.py")).includes('f"{len(stock)} pieces"'), "the fix in the file");
  await waitForProblems(actor, ["The list is not needed."]);
  await actor.step("fixed");
  await actor.decide("agent 1/1", "Keep");
  await actor.isDecided();
}

function readMemory({ project }) {
  return fs.readFileSync(path.join(project, MEMORY), "utf8");
}

/** A memory note needs approval, also in mode edits. It is a change in a file, which the user opens and reviews. */
async function keepNote(actor) {
  const { workbench } = actor;
  await actor.say("/remember Count in parts.");
  const asked = await actor.asked("Make this change?");
  assert.match(await asked.innerText(), /memory\.md[^]*Count in parts\./);
  await asked.getByRole("button", { name: "Allow Once" }).click();
  await (await actor.chat()).getByText("I keep it in mind.").first().waitFor();
  await actor.isIdle();
  await actor.say("/memory");
  await actor.until(() => workbench.eval((vscode) => vscode.window.activeTextEditor?.document.uri.path.endsWith("/.agent-ls/memory.md")), "the memory in the editor");
  await actor.step("a note in the memory");
  await actor.decide("agent 1/1", "Keep");
  await actor.isDecided();
  await actor.until(() => readMemory(actor).endsWith("\n\n- Count in parts.\n"), "the note on disk");
}

async function undoNote(actor) {
  const { workbench } = actor;
  await actor.say("/remember Never count screws.");
  await (await actor.asked("Make this change?")).getByRole("button", { name: "Allow Once" }).click();
  await (await actor.chat()).getByText("No screws, then.").first().waitFor();
  await actor.isIdle();
  await actor.until(async () => (await workbench.text("memory.md")).includes("screws"), "the second note");
  await actor.decide("agent 1/1", "Undo");
  await actor.isDecided();
  await actor.until(async () => (await workbench.text("memory.md")).endsWith("\n\n- Count in parts.\n"), "the second note to be removed, and the first to stay");
  await actor.until(() => readMemory(actor).endsWith("\n\n- Count in parts.\n"), "the same on disk");
  await actor.step("a note undone");
}

/** Puts the beginning of a function at the end of stock.py, and the cursor behind it. */
async function beginFunction(actor) {
  const { workbench, page } = actor;
  await workbench.openFile("stock.py");
  await workbench.clickIntoEditor();
  await page.keyboard.press("Control+End");
  // Not typed: VS Code indents a line only when it has read the rules of the language.
  await workbench.eval((vscode) => vscode.window.activeTextEditor.insertSnippet(new vscode.SnippetString("\n\ndef is_empty(stock):\n    return ")));
  await actor.until(async () => (await workbench.text("stock.py")).endsWith("def is_empty(stock):\n    return "), "the beginning");
}

/** While the setting is off, its key sends nothing to a model. */
async function suggest(actor) {
  const { workbench, page } = actor;
  await beginFunction(actor);
  await page.keyboard.press("Alt+\\");
  await workbench.eval((vscode) => vscode.workspace.getConfiguration("agentLs").update("suggestions", true, vscode.ConfigurationTarget.Global));
  assert.equal(await actor.ask("suggestions"), 0);
  const ghost = page.locator(`${EDITOR} .ghost-text-decoration`);
  const displayed = async () => (await ghost.allInnerTexts()).join("").replaceAll("\u00a0", " ");
  await actUntil(() => page.keyboard.press("Alt+\\"), async () => (await displayed()) === "not stock", "the suggestion in grey");
  assert.match(await workbench.text("stock.py"), /return $/, "a suggestion that is only displayed is not in the file");
  await actor.step("a suggestion");
  await page.keyboard.press("Tab");
  await actor.until(async () => (await workbench.text("stock.py")).endsWith("    return not stock"), "the accepted suggestion");
  await ghost.first().waitFor({ state: "hidden" });
}
