// Help in other parts of the window: a commit message in source control, the last command and the selection of a terminal,
// a failed test, and mentions.
// req: H20, H24
import assert from "node:assert/strict";
import { actUntil } from "./driver.mjs";
import { play } from "./stage.mjs";

const box = (actor) => actor.workbench.eval((vscode) => vscode.extensions.getExtension("vscode.git").exports.getAPI(1).repositories[0]?.inputBox.value);

await play(async (actor) => {
  await actor.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  for (const part of [message, cancelled, failed, lastCommand, selection, mentions, failedTest, failedMessage, symbol]) await part(actor);
}, { width: 1100, height: 800 });

/** The button of the source control view fills its input, and commits nothing. */
async function message(actor) {
  const { workbench, page } = actor;
  await workbench.eval((vscode) => vscode.commands.executeCommand("workbench.view.scm"));
  await actor.until(async () => (await box(actor)) !== undefined, "git to know the repository", 60_000);
  const button = page.locator(".part.sidebar").getByRole("button", { name: "Write the Commit Message" }).first();
  // VS Code shows the buttons of a view only while the mouse is over it.
  await page.locator(".part.sidebar .pane-header", { hasText: "Changes" }).hover();
  await button.waitFor();
  await actor.step("the button of source control");
  await button.click();
  await actor.until(async () => (await box(actor)).startsWith("stock: begin to count"), "the message in the input");
  await actor.step("the message is there");
}

/** A cancelled request leaves the input as it is. */
async function cancelled(actor) {
  const { workbench } = actor;
  const before = await box(actor);
  await workbench.runCommand("agent-ls: Write the Commit Message");
  const toast = workbench.notification("writing the commit message");
  await toast.waitFor();
  await actor.until(async () => (await actor.ask("requests")) === 2, "the model to be asked");
  await actor.step("it is written");
  await toast.getByRole("button", { name: "Cancel" }).click();
  await actor.ask("cancelled");
  assert.equal(await box(actor), before);
}

/** The error of a failed request has a button with a remedy, and is hidden when the next message is sent. */
async function failed(actor) {
  const { workbench, page } = actor;
  await workbench.runCommand("agent-ls: Write the Commit Message");
  const error = workbench.notification("refused the key");
  await error.getByRole("button", { name: "Set API Key…" }).waitFor();
  await actor.step("the error of a command");
  await workbench.runCommand("agent-ls: Open Chat");
  const chat = await actor.chat();
  await actor.until(() => chat.locator("#composer textarea").evaluate((area) => area === document.activeElement), "the focus in the prompt");
  await page.keyboard.type("Any news?");
  await page.keyboard.press("Enter");
  await chat.getByText("None at all.").first().waitFor();
  await error.waitFor({ state: "hidden" });
  await actor.isIdle();
}

/** Opens the menu of the terminal by keys. */
async function lastCommand(actor) {
  const { workbench, page } = actor;
  await workbench.runCommand("Terminal: Create New Terminal");
  await page.locator(".terminal-wrapper.active").waitFor();
  await actor.until(() => workbench.eval((vscode) => vscode.window.activeTerminal?.shellIntegration !== undefined), "the shell to report its commands", 60_000);
  await workbench.clickIntoTerminal();
  await page.keyboard.type("sh check.sh\n");
  await actor.until(async () => (await workbench.terminalText()).includes("3 parts are missing"), "the output");
  await workbench.runCommand("agent-ls: Fix the Last Terminal Command");
  const chat = await actor.chat();
  await chat.getByText("Order three parts.").first().waitFor();
  await actor.isIdle();
  await actor.step("the last command");
}

async function selection(actor) {
  const { workbench } = actor;
  await workbench.eval((vscode) => vscode.env.clipboard.writeText("mine"));
  await workbench.clickIntoTerminal();
  await workbench.runCommand("Terminal: Select All");
  await workbench.runCommand("agent-ls: Explain the Terminal Selection");
  const chat = await actor.chat();
  await chat.getByText("The output says what is missing.").first().waitFor();
  await actor.isIdle();
  assert.equal(await workbench.eval((vscode) => vscode.env.clipboard.readText()), "mine", "the clipboard is the user's");
  await actor.step("the selection of the terminal");
}

/** The text of the active terminal and the staged changes are chips; a chip that is removed is not sent. */
async function mentions(actor) {
  const { page, workbench } = actor;
  const chat = await actor.chat();
  const chips = chat.locator("#composer .chips li");
  await chat.locator("#composer textarea").click();
  for (const [typed, label] of [["@term", "terminal:"], ["@stag", "staged"]]) {
    await page.keyboard.type(typed);
    await chat.locator(".menu li", { hasText: label }).first().waitFor();
    await actor.step(`${typed.slice(1)} completes`);
    await page.keyboard.press("Enter");
    await chips.filter({ hasText: label }).waitFor();
  }
  await actor.step("two chips");
  await chat.getByRole("button", { name: "Remove staged" }).click();
  assert.equal(await chips.count(), 1);
  await chat.locator("#composer textarea").click();
  await page.keyboard.type("How many?");
  await page.keyboard.press("Enter");
  await chat.getByText("Three, says the terminal.").first().waitFor();
  await actor.isIdle();
  assert.equal(await workbench.eval((vscode) => vscode.env.clipboard.readText()), "mine", "the clipboard is the user's");
}

/** The menu of a failed test of another extension. */
async function failedTest(actor) {
  const { workbench, page } = actor;
  await workbench.eval((vscode) => {
    const controller = vscode.tests.createTestController("story", "Story");
    const uri = vscode.Uri.joinPath(vscode.workspace.workspaceFolders[0].uri, "stock.py");
    const test = controller.createTestItem("count", "counts parts", uri);
    test.range = new vscode.Range(3, 0, 4, 0);
    controller.items.add(test);
    controller.createRunProfile("Run", vscode.TestRunProfileKind.Run, () => {
      const run = controller.createTestRun(new vscode.TestRunRequest());
      const said = new vscode.TestMessage("expected 2 parts, got 3");
      said.location = new vscode.Location(uri, test.range);
      const more = new vscode.TestMessage("one part is counted twice");
      more.location = said.location;
      run.failed(test, [said, more]);
      run.end();
      globalThis.hasRun = true;
    }, true);
  });
  // Until the window knows the new test, the command reports that there are no tests.
  await actUntil(() => workbench.runCommand("Test: Run All Tests"), () => workbench.eval(() => globalThis.hasRun === true), "the test to run");
  await workbench.eval((vscode) => vscode.commands.executeCommand("workbench.view.extension.test"));
  const row = page.locator(".test-explorer .monaco-list-row", { hasText: "counts parts" }).first();
  await row.waitFor();
  await row.click();
  await page.keyboard.press("Shift+F10");
  const entry = page.getByRole("menuitem", { name: "Fix This Test with agent-ls" });
  await entry.waitFor();
  await actor.step("the menu of the test");
  await entry.click();
  const chat = await actor.chat();
  await chat.getByText("It should be two.").first().waitFor();
  await actor.isIdle();
  await actor.step("the failed test");
}

/** The menu of a message in the view of test results, used by keys; the whole message is sent. */
async function failedMessage(actor) {
  const { workbench, page } = actor;
  // VS Code offers the view only after a run has results.
  const row = page.getByRole("tree", { name: "Test Result Messages" }).last().getByRole("treeitem", { name: "one part is counted twice" });
  await actUntil(() => workbench.eval((vscode) => vscode.commands.executeCommand("workbench.panel.testResults.view.focus").then(() => true, () => false)), () => row.isVisible(), "the message in the test results");
  const entry = page.getByRole("menuitem", { name: "Explain This Failure with agent-ls" });
  await row.click();
  await page.keyboard.press("Shift+F10");
  await entry.waitFor();
  await actor.step("the menu of the message of a failed test");
  await entry.click();
  const chat = await actor.chat();
  await chat.getByText("It counts a part twice.").first().waitFor();
  await actor.isIdle();
  await workbench.runCommand("View: Toggle Panel Visibility");
}

/** The code action at a symbol without a diagnostic sends the whole symbol. */
async function symbol(actor) {
  const { workbench, page } = actor;
  await workbench.openFile("stock.py");
  await workbench.eval((vscode) => {
    vscode.languages.registerDocumentSymbolProvider({ scheme: "file" }, {
      provideDocumentSymbols: (document) => {
        const whole = new vscode.Range(7, 0, 8, document.lineAt(8).text.length);
        return [new vscode.DocumentSymbol("names", "", vscode.SymbolKind.Function, whole, new vscode.Range(7, 4, 7, 9))];
      },
    });
  });
  await workbench.clickIntoEditor();
  await workbench.eval((vscode) => { vscode.window.activeTextEditor.selection = new vscode.Selection(7, 5, 7, 5); });
  await workbench.eval((vscode) => vscode.commands.executeCommand("editor.action.quickFix"));
  const menu = page.locator(".action-widget");
  await menu.getByText("Fix with agent").first().waitFor();
  await actor.step("the actions at a symbol");
  await menu.getByText("Explain with agent").first().click();
  await (await actor.chat()).getByText("It lists the names.").first().waitFor();
  await actor.isIdle();
  await actor.step("the explained symbol");
}
