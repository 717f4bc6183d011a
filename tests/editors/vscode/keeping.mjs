// Proposed changes, which the user decides before they are applied; a problem that is sent to the agent; and stored
// sessions, which are renamed, forked, exported and deleted.
// req: H6, H9, H12
import assert from "node:assert/strict";
import { actUntil } from "./driver.mjs";
import { play } from "./stage.mjs";

const accepted = "    return sum(stock.values())";

await play(async (actor) => {
  await actor.workbench.openFile("stock.py");
  await actor.newSession();
  for (const part of [accept, reject, lines, problem, rename, fork, exported, removed]) await part(actor);
});

/** A proposal is accepted as a whole, in the diff editor. */
async function accept(actor) {
  const { workbench } = actor;
  await actor.say("Tidy the count.");
  await actor.lens("agent 1/1", "Accept").waitFor();
  assert.doesNotMatch(await workbench.text("stock.py"), /return sum\(stock/, "nothing is made before it is accepted");
  await actor.step("proposed");
  await compare(actor);
  await actor.step("compared");
  await decideAll(actor, "Accept All Proposals");
  await (await actor.chat()).getByText("It is tidy.").first().waitFor();
  await actor.isIdle();
  assert.ok((await workbench.text("stock.py")).includes(accepted));
  await actor.isDecided();
}

async function compare(actor) {
  const lens = actor.lens("agent 1/1", "Compare");
  await lens.waitFor();
  await actUntil(() => lens.click({ timeout: 3_000 }), () => actor.page.locator(".monaco-diff-editor").first().isVisible(), "the comparison");
}

/** Decides about all proposals by a button of the diff editor, which is then closed. */
async function decideAll({ page }, label) {
  const button = page.locator(`.editor-actions a[aria-label*='${label}']`).first();
  await button.waitFor();
  await actUntil(() => button.click({ timeout: 3_000 }), () => page.locator(".monaco-diff-editor").first().isHidden(), `${label} to close the comparison`);
}

/** A proposal is rejected by the button above it. */
async function reject(actor) {
  const { workbench } = actor;
  await workbench.openFile("stock.py");
  await actor.say("Tidy the names.");
  await actor.decide("agent 1/1", "Reject");
  await (await actor.chat()).getByText("As you like.").first().waitFor();
  await actor.isIdle();
  assert.match(await workbench.text("stock.py"), /\[name for name in stock\]/);
  await actor.isDecided();
  await actor.step("rejected");
}

/** Single lines of a proposal are accepted, in the diff editor, which shows the file as if it were changed. */
async function lines(actor) {
  const { workbench, page } = actor;
  await actor.say("Say two things.");
  await compare(actor);
  const proposed = page.locator(".monaco-diff-editor .modified-in-monaco-diff-editor");
  await proposed.getByText("# the second").first().waitFor();
  // The extension host gets a new editor later than the page.
  await actor.until(() => workbench.eval((vscode) => {
    const editor = vscode.window.visibleTextEditors.find(({ document }) => document.uri.scheme === "agent-ls-proposed");
    const line = editor?.document.getText().split("\n").findIndex((text) => text.includes("# the first")) ?? -1;
    if (line >= 0) editor.selection = new vscode.Selection(line, 4, line, 9);
    return line >= 0;
  }), "the proposed text in the extension host");
  // Wait until the lines are selected and the editor has the focus, so that the keys apply to the lines.
  await proposed.locator(".selected-text").first().waitFor();
  await page.locator(".monaco-diff-editor .modified-in-monaco-diff-editor.focused, .monaco-diff-editor .modified-in-monaco-diff-editor .focused").first().waitFor();
  await page.keyboard.press("Control+Alt+k");
  await actor.until(async () => (await workbench.text("stock.py")).includes("# the first"), "the line that was kept");
  assert.doesNotMatch(await workbench.text("stock.py"), /the second/);
  await actor.step("a line is kept");
  await decideAll(actor, "Reject All Proposals");
  await (await actor.chat()).getByText("Half of it, then.").first().waitFor();
  await actor.isIdle();
  await actor.isDecided();
}

async function problem(actor) {
  const { workbench, page } = actor;
  await actor.until(() => workbench.eval((vscode) => {
    const editor = vscode.window.visibleTextEditors.find(({ document }) => document.uri.scheme === "file" && document.uri.path.endsWith("/stock.py"));
    if (!editor) return false;
    const line = new vscode.Range(12, 4, 12, 10);
    globalThis.found = vscode.languages.createDiagnosticCollection("found");
    globalThis.found.set(editor.document.uri, [new vscode.Diagnostic(line, "the unit is missing", vscode.DiagnosticSeverity.Error)]);
    editor.selection = new vscode.Selection(12, 6, 12, 6);
    return true;
  }), "the file to be in sight again");
  await page.locator(".editor-group-container.active .squiggly-error").first().waitFor();
  await workbench.runCommand("View: Focus Active Editor Group");
  await page.locator(".editor-group-container.active .monaco-editor.focused").first().waitFor(); // until then the palette gets the keys
  const fix = page.locator(".action-widget .monaco-list-row", { hasText: "Fix with agent" }).first();
  let isChosen = false;
  await actUntil(async () => {
    // VS Code does not show the list, or closes it again, if the diagnostics change at the same time.
    if (!(await fix.isVisible())) await page.keyboard.press("Control+.");
    isChosen = await fix.click({ timeout: 3_000 }).then(() => true, () => false);
  }, () => isChosen, "the quick fix to be chosen");
  await (await actor.chat()).getByText("Now it has its unit.").first().waitFor();
  await actor.isIdle();
  await actor.step("a problem was handed on");
}

async function rename(actor) {
  await actor.workbench.runCommand("agent-ls: Rename This Session…");
  await actor.workbench.inputBox("The tidy one");
  await (await actor.chat()).getByText("The tidy one").first().waitFor();
  await actor.workbench.runCommand("Agent LS: Focus on Sessions View");
  await row(actor, "The tidy one").waitFor();
  await actor.step("renamed");
}

async function fork(actor) {
  await actor.workbench.runCommand("agent-ls: Fork This Session");
  await row(actor, "(fork)").waitFor();
  const chat = await actor.chat();
  await chat.getByText("The tidy one (fork)").first().waitFor();
  await chat.getByText("Tidy the names.").first().waitFor();
  await actor.step("forked");
}

async function exported(actor) {
  const { workbench, page, project } = actor;
  await workbench.runCommand("agent-ls: Export This Session…");
  await workbench.pick("Markdown");
  const input = page.locator(".quick-input-widget:visible .quick-input-box input");
  await actor.until(async () => (await input.inputValue()).endsWith(".md"), "where to save it");
  await input.fill(`${project}/told.md`);
  await input.press("Enter");
  await workbench.isNotified("Exported to");
  await workbench.runCommand("Notifications: Clear All Notifications");
}

async function removed(actor) {
  const { workbench, page } = actor;
  await workbench.runCommand("agent-ls: Delete This Session…");
  await page.locator(".monaco-dialog-box .monaco-button", { hasText: "Delete" }).first().click();
  await row(actor, "(fork)").waitFor({ state: "hidden" });
  await row(actor, "The tidy one").waitFor();
  await actor.step("the fork is deleted");
}

function row({ page }, text) {
  return page.locator(".pane-body .monaco-list-row", { hasText: text }).first();
}
