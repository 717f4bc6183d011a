// Changes that are proposed and decided before they are made, sessions as things that are kept, and a problem handed on.
// req: H6, H9, H12
import assert from "node:assert/strict";
import { play } from "./stage.mjs";

const accepted = "    return sum(stock.values())";

await play(async (actor) => {
  await actor.workbench.openFile("stock.py");
  await actor.workbench.runCommand("agent-ls: New Session");
  for (const part of [accept, reject, lines, problem, rename, fork, exported, removed]) await part(actor);
});

/** By the diff editor, as a whole. */
async function accept(actor) {
  const { workbench, page } = actor;
  await actor.say("Tidy the count.");
  await actor.lens("agent 1/1", "Accept").waitFor();
  assert.doesNotMatch(await workbench.text("stock.py"), /return sum\(stock/, "nothing is made before it is accepted");
  await actor.step("proposed");
  await actor.lens("agent 1/1", "Compare").click();
  await page.locator(".monaco-diff-editor").first().waitFor();
  await actor.step("compared");
  await page.locator(".editor-actions a[aria-label*='Accept All Proposals']").first().click();
  await (await actor.chat()).getByText("It is tidy.").first().waitFor();
  await actor.isIdle();
  assert.ok((await workbench.text("stock.py")).includes(accepted));
  await page.locator(".monaco-diff-editor").first().waitFor({ state: "hidden" });
  await actor.isDecided();
}

/** By the button above it. */
async function reject(actor) {
  const { workbench } = actor;
  await workbench.openFile("stock.py");
  await actor.say("Tidy the names.");
  await actor.lens("agent 1/1", "Reject").click();
  await (await actor.chat()).getByText("As you like.").first().waitFor();
  await actor.isIdle();
  assert.match(await workbench.text("stock.py"), /\[name for name in stock\]/);
  await actor.isDecided();
  await actor.step("rejected");
}

/** Some of the lines, where they stand as if they were made. */
async function lines(actor) {
  const { workbench, page } = actor;
  await actor.say("Say two things.");
  await actor.lens("agent 1/1", "Compare").click();
  const proposed = page.locator(".monaco-diff-editor .modified-in-monaco-diff-editor");
  await proposed.getByText("# the second").first().waitFor();
  await workbench.eval((vscode) => {
    const editor = vscode.window.visibleTextEditors.find(({ document }) => document.uri.scheme === "agent-ls-proposed");
    const line = editor.document.getText().split("\n").findIndex((text) => text.includes("# the first"));
    editor.selection = new vscode.Selection(line, 4, line, 9);
  });
  await proposed.locator(".selected-text").first().waitFor(); // keys mean the lines once the selection is there
  await page.keyboard.press("Control+Alt+k");
  await actor.until(async () => (await workbench.text("stock.py")).includes("# the first"), "the line that was kept");
  assert.doesNotMatch(await workbench.text("stock.py"), /the second/);
  await actor.step("a line is kept");
  await page.locator(".editor-actions a[aria-label*='Reject All Proposals']").first().click();
  await (await actor.chat()).getByText("Half of it, then.").first().waitFor();
  await actor.isIdle();
}

async function problem(actor) {
  const { workbench, page } = actor;
  await workbench.eval((vscode) => {
    const uri = vscode.workspace.textDocuments.find((document) => document.uri.path.endsWith("/stock.py")).uri;
    const line = new vscode.Range(12, 4, 12, 10);
    globalThis.found = vscode.languages.createDiagnosticCollection("found");
    globalThis.found.set(uri, [new vscode.Diagnostic(line, "the unit is missing", vscode.DiagnosticSeverity.Error)]);
    const editor = vscode.window.visibleTextEditors.find(({ document }) => document.uri.path === uri.path);
    editor.selection = new vscode.Selection(12, 6, 12, 6);
  });
  await page.locator(".editor-group-container.active .squiggly-error").first().waitFor();
  await page.locator(".editor-group-container.active .monaco-editor .view-lines").first().focus().catch(() => undefined);
  await workbench.runCommand("View: Focus Active Editor Group");
  await page.keyboard.press("Control+.");
  await page.locator(".action-widget .monaco-list-row", { hasText: "Fix with agent" }).first().click();
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
  await page.keyboard.press("Enter");
  await workbench.notification("Exported to").waitFor();
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
