// A finished turn says what was run since its last change, and runs it again. The guided review lists its change with
// reason and state. After a line of the user, those of the agent get bars, a hover and a notification that name the
// message, also after a save and in a dark theme; the bars can be switched off.
// req: H6, H9
import assert from "node:assert/strict";
import { actUntil } from "./driver.mjs";
import { play } from "./stage.mjs";

const EDITOR = ".editor-group-container.active .monaco-editor";

await play(async (actor) => {
  await actor.workbench.openFile("stock.py");
  await actor.newSession();
  for (const part of [work, guide, type, mark, hover, ask, dark, switchOff]) await part(actor);
}, { width: 1100, height: 700 });

/** Returns the lines with a bar, from 1. */
function bars({ page }) {
  return page.evaluate((selector) => {
    const editor = document.querySelector(selector);
    const numbers = [...editor.querySelectorAll(".margin .line-numbers")].map((each) => [each.getBoundingClientRect().top, Number(each.innerText)]);
    return [...editor.querySelectorAll(".margin *")]
      .filter((each) => getComputedStyle(each).backgroundImage.includes("svg+xml") && each.getBoundingClientRect().height > 0)
      .map((each) => numbers.find(([top]) => Math.abs(top - each.getBoundingClientRect().top) < 3)?.[1])
      .sort((one, other) => one - other);
  }, EDITOR);
}

function haveBars(actor, wanted) {
  return actor.until(async () => JSON.stringify(await bars(actor)) === JSON.stringify(wanted), `bars at the lines ${wanted}`);
}

/** The agent changes line 5 and runs a check, which the user runs again. */
async function work(actor) {
  const chat = await actor.chat();
  const evidence = chat.locator(".evidence", { hasText: "passed (exit 0" });
  await actor.say("Tidy the sum.");
  await chat.getByText("It is tidy.").first().waitFor();
  await evidence.first().waitFor();
  await actor.isIdle();
  await actor.step("evidence");
  await evidence.first().getByRole("button", { name: "Run Again" }).click();
  await chat.getByText("Still fine.").first().waitFor();
  await actor.isIdle();
}

/** The change counts as looked at when the user has moved to it. The view closes after the last decision. */
async function guide(actor) {
  const { workbench, page } = actor;
  await workbench.runCommand("agent-ls: Guided Review");
  const row = (state) => page.locator(`.monaco-list-row[aria-label*="I leave out the list"][aria-label*="${state}"]`).first();
  await row("not looked at").waitFor();
  assert.match(await row("not looked at").innerText(), /stock\.py:5/);
  await actor.step("guided review");
  await row("not looked at").click();
  await row(", looked at").waitFor();
  await actor.step("looked at");
  await actor.decide("agent 1/1", "Keep");
  await actor.isDecided();
  await row("looked at").waitFor({ state: "hidden" });
}

/** The user adds line 5 above the agent's, and saves. */
async function type(actor) {
  const { workbench, page } = actor;
  await workbench.clickIntoEditor();
  await workbench.eval((vscode) => { vscode.window.activeTextEditor.selection = new vscode.Selection(3, 17, 3, 17); });
  await actor.until(async () => (await page.locator(".statusbar").innerText()).includes("Ln 4, Col 18"), "the cursor at the end of line 4");
  await page.keyboard.type("\n# mine");
  await actor.until(async () => (await workbench.text("stock.py")).includes("    # mine\n    return sum(stock.values())"), "what was typed");
  await page.keyboard.press("Control+s");
  await actor.until(() => workbench.eval((vscode) => !vscode.window.activeTextEditor.document.isDirty), "the file to be saved");
}

async function mark(actor) {
  await actor.workbench.runCommand("agent-ls: Mark Lines of the Agent");
  await haveBars(actor, [6]);
  await actor.step("bars at the lines of the agent");
}

async function hover(actor) {
  const { page } = actor;
  const text = page.locator(`${EDITOR} .view-line`, { hasText: "return sum(stock" }).first();
  const box = page.locator(".monaco-hover:visible", { hasText: "Written by the agent" }).first();
  await actUntil(async () => {
    await page.mouse.move(5, 5);
    await text.locator("span", { hasText: "return" }).last().hover();
  }, () => box.isVisible(), "the hover");
  assert.match((await box.innerText()).replaceAll("\u00a0", " "), /for: Tidy the sum\.[^]*kept[^]*anthropic\//);
  await actor.step("the hover");
  await page.mouse.move(5, 5);
}

async function ask(actor) {
  const { workbench } = actor;
  await workbench.eval((vscode) => { vscode.window.activeTextEditor.selection = new vscode.Selection(4, 0, 4, 0); });
  await workbench.runCommand("agent-ls: Who Wrote This Line?");
  await workbench.isNotified("Written by you");
  await workbench.eval((vscode) => { vscode.window.activeTextEditor.selection = new vscode.Selection(5, 0, 5, 0); });
  await workbench.runCommand("agent-ls: Who Wrote This Line?");
  await workbench.isNotified("for: Tidy the sum.");
  await actor.step("the author of one line");
  await workbench.runCommand("Notifications: Clear All Notifications");
}

async function dark(actor) {
  const { workbench, page } = actor;
  await workbench.eval((vscode) => vscode.workspace.getConfiguration("workbench").update("colorTheme", "Default Dark Modern", vscode.ConfigurationTarget.Global));
  await page.locator(".monaco-workbench.vs-dark").first().waitFor();
  await haveBars(actor, [6]);
  await actor.step("in a dark theme");
}

async function switchOff(actor) {
  await actor.workbench.clickIntoEditor();
  await actor.workbench.runCommand("agent-ls: Mark Lines of the Agent");
  await haveBars(actor, []);
}
