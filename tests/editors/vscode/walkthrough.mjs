// The first use: an untrusted folder, the installation of the server, and the walkthrough session.
// req: H9, H6, H7, H12, H17
import assert from "node:assert/strict";
import { play } from "./stage.mjs";

await play(async (actor) => {
  const { workbench, page, step, until } = bound(actor);
  await workbench.runCommand("agent-ls: Open Chat");
  await actor.say("Hello?");
  let chat = await actor.chat();
  await chat.getByText("This folder is not trusted").first().waitFor();
  await step("not trusted, not started");

  await actor.trust();
  await chat.getByText("This folder is not trusted").waitFor({ state: "hidden" });
  await step("trusted");
  await workbench.runCommand("View: Close All Editors");
  await workbench.runCommand("agent-ls: First Steps");
  await page.getByText("See a whole session first").first().waitFor();
  await step("first steps");
  await workbench.runCommand("View: Close All Editors");

  await workbench.openFile("shop/cart.py");
  await workbench.runCommand("agent-ls: Start the Walkthrough Session");
  await workbench.notification("setting up its server").waitFor();
  await step("the server is set up");
  await workbench.notification("setting up its server").waitFor({ state: "hidden", timeout: 120_000 });
  chat = await actor.chat();
  await chat.locator(".badge", { hasText: "walkthrough" }).waitFor();
  await actor.say("The tests fail. Find out why and fix it.");
  await actor.asked("Make this change?");
  await step("asks before the first edit");

  await workbench.clickIntoEditor();
  await page.keyboard.press("Control+Home");
  await page.keyboard.type("# mine\n");
  await actor.allowForSession(await actor.asked("Make this change?"));
  await page.locator(".codelens-decoration a", { hasText: "Keep" }).first().waitFor();
  assert.match(await workbench.text("cart.py"), /^# mine\n.*\(1 - DISCOUNT_RATE\)/s);
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "IFRAME", "the focus stays in the chat, where the click was");
  await step("edited while typed in, allowed for the session");

  const tests = await actor.asked("Run this command?");
  await step("asks before a command");
  await tests.getByRole("button", { name: "Allow Once" }).click();
  await chat.locator(".approval.pending .command", { hasText: "unittest" }).waitFor({ state: "hidden" });
  const second = await actor.asked("Run this command?");
  await second.getByRole("button", { name: "More Answers" }).click();
  await second.getByRole("menuitem", { name: "Deny with a Reason" }).click();
  await second.locator(".reason").fill("show me first");
  await second.getByRole("button", { name: "Deny" }).click();
  await chat.locator(".approval.done", { hasText: "show me first" }).waitFor();
  await actor.isIdle();
  await step("denied with a reason, done");

  const shell = chat.locator(".tool.failed[data-tool=shell]").first();
  await shell.locator("summary").click();
  await shell.getByRole("button", { name: "Show in Terminal" }).click();
  await until(async () => (await workbench.terminalText()).includes("[exit 1"), "the command's end in its terminal");
  assert.match(await workbench.terminalText(), /FAILED \(failures=2\)/);
  // The user's text was not saved for the command, so the command used the text on disk.
  assert.match(await shell.locator("pre.output").first().innerText(), /FAILED \(failures=2\)[^]*the user's unsaved changes/);
  await step("output in a terminal");
  await workbench.runCommand("View: Toggle Panel Visibility");

  await actor.decide("agent 1/2", "Undo");
  await actor.lens("agent 1/1", "Keep").waitFor();
  await step("one undone");
  await actor.decide("agent 1/1", "Keep");
  await until(async () => (await page.locator(".codelens-decoration a", { hasText: "Keep" }).count()) === 0, "no change to be left");
  const text = await workbench.text("cart.py");
  assert.match(text, /^# mine\n/);
  assert.match(text, /if amount > DISCOUNT_FROM:\n +amount = amount \* \(1 - DISCOUNT_RATE\)/);
  await step("one kept");

  for (const theme of ["Default High Contrast", "Default Light Modern"]) {
    await workbench.eval((vscode, name) => vscode.workspace.getConfiguration().update("workbench.colorTheme", name, true), theme);
    await until(() => workbench.eval((vscode, kind) => vscode.window.activeColorTheme.kind === kind, theme === "Default High Contrast" ? 3 : 1), theme);
    await step(theme);
  }
});

function bound(actor) {
  return { workbench: actor.workbench, page: actor.page, until: actor.until, step: (what) => actor.step(what) };
}
