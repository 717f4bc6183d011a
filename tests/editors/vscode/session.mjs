// A whole session with a model that the test scripts: API key, steering, stop, approvals, review, a command, a reload.
// req: H9, H6, H7, H12, H16, H17
import assert from "node:assert/strict";
import { actUntil } from "./driver.mjs";
import { play } from "./stage.mjs";

await play(async (actor) => {
  const parts = [key, steering, stop, approvals, review, terminal, reload];
  await actor.workbench.openFile("stock.py");
  for (const part of parts) await part(actor);
});

async function key(actor) {
  const { workbench } = actor;
  await workbench.runCommand("agent-ls: New Session");
  await actor.chat();
  await workbench.isNotified("no API key of Anthropic yet");
  await actor.step("no key yet");
  await workbench.answerNotification("no API key of Anthropic yet", "Set API Key…");
  await workbench.pick("Anthropic");
  await actor.step("asks for the key");
  await workbench.inputBox(await actor.ask("key"));
  await workbench.isNotified("is stored");
  await workbench.runCommand("Notifications: Clear All Notifications");
}

async function steering(actor) {
  const chat = await actor.chat();
  await actor.say("Count the parts.");
  await chat.getByText("I count", { exact: false }).first().waitFor();
  await actor.say("Only the bolts.");
  await chat.getByText("Only the bolts.").first().waitFor();
  await actor.step("steered while it works");
  await actor.ask("open", "count");
  await chat.getByText("there are 12").first().waitFor();
  await actor.isIdle();
  await actor.step("steering was heard");
}

async function stop(actor) {
  const chat = await actor.chat();
  await actor.say("Count for ever.");
  await chat.getByText("One, two").first().waitFor();
  await chat.locator("textarea").press("Escape");
  await actor.isIdle();
  await actor.ask("disconnected");
  await actor.step("stopped");
}

async function approvals(actor) {
  const chat = await actor.chat();
  await actor.say("Run the checks.");
  const checks = await actor.asked("touch checked");
  await actor.step("asks before a command");
  await actor.allowForSession(checks);
  const removal = await actor.asked("rm -rf old");
  assert.equal(await chat.locator(".approval.pending").count(), 1, "the second run of what was allowed for the session is not asked about");
  await removal.getByRole("button", { name: "More Answers" }).press("ArrowDown");
  await removal.getByRole("menuitem", { name: "Deny with a Reason" }).press("Enter");
  await removal.locator(".reason").fill("the old one is still needed");
  await removal.getByRole("button", { name: "Deny" }).click();
  await chat.getByText("I leave it.").first().waitFor();
  await actor.isIdle();
  await actor.step("allowed for the session, denied with a reason");
}

async function review(actor) {
  const { workbench, page } = actor;
  const chat = await actor.chat();
  await actor.say("Tidy stock.py.");
  const change = await actor.asked("Make this change?");
  await workbench.clickIntoEditor();
  await page.keyboard.press("Control+Home");
  await page.keyboard.type("# mine\n");
  await actor.allowForSession(change);
  await chat.getByText("Three places are tidy.").first().waitFor();
  await actor.isIdle();
  await actor.lens("agent 3/3", "Keep").waitFor();
  assert.match(await workbench.text("stock.py"), /^# mine\n/, "what was typed meanwhile is there");
  await actor.step("edited while typed in");

  await actor.decide("agent 1/3", "Keep");
  await actor.decide("agent 1/2", "Undo");
  const lens = actor.lens("agent 1/1", "Comment");
  await lens.waitFor();
  await actUntil(() => lens.click({ timeout: 3_000 }), () => page.locator(".review-widget").last().isVisible(), "a comment to write");
  await comment(actor, "Say parts, not pieces.");
  assert.deepEqual((await workbench.text("stock.py")).match(/^ {4}return .*$/gm), ["    return sum(stock.values())", "    return [name for name in stock]", "    return f\"{len(stock)} pieces\""]);
  await actor.say("Go on.");
  await chat.getByText("Parts it is.").first().waitFor();
  await actor.isIdle();
  await actor.step("one kept, one undone, one commented");
}

/** Comments on a change in the comment thread at its line. The change stays pending. */
async function comment(actor, text) {
  const thread = actor.page.locator(".review-widget").last();
  await actor.workbench.clickFor(thread.locator(".monaco-editor"), ".review-widget");
  await actor.page.keyboard.type(text);
  await actor.step("a comment on a change");
  await thread.getByRole("button", { name: "Keep and Tell" }).click();
  await thread.waitFor({ state: "hidden" });
}

async function terminal(actor) {
  const { workbench, page } = actor;
  const chat = await actor.chat();
  await actor.say("Watch the belt.");
  const belt = await actor.asked("belt");
  await belt.getByRole("button", { name: "Allow Once" }).click();
  const card = chat.locator(".tool", { hasText: "belt" }).last();
  const show = card.getByRole("button", { name: "Show in Terminal" });
  if (!(await show.isVisible())) await card.locator("summary").first().click();
  await show.click();
  await actor.until(async () => /tick \d+ of the belt/.test(await workbench.terminalText()), "the command's output as it comes");
  await actor.step("a command's output in its terminal");
  await workbench.clickIntoTerminal();
  // A shell that waits for a program takes the key for the program's; then the user presses it once more.
  await actUntil(() => page.keyboard.press("Control+c"), () => actor.isIdleNow(), "the command to be stopped");
  assert.doesNotMatch(await workbench.terminalText(), /tick 600\b/);
  await actor.until(async () => (await page.locator(".terminal-wrapper").count()) === 1, "the command's own terminal to be the only one");
  await actor.step("stopped in its terminal");
  await workbench.runCommand("View: Toggle Panel Visibility");
}

async function reload(actor) {
  const { workbench } = actor;
  await actor.say("Clear up.");
  await actor.asked("rm -rf old");
  await actor.say("And then rest.", "Alt+Enter");
  let chat = await actor.chat();
  await chat.getByText("And then rest.").first().waitFor();
  await chat.locator("textarea").fill("half a thought");
  await actor.ask("draft", "half a thought");
  await actor.step("before the reload");

  await workbench.reload();
  chat = await actor.chat();
  await chat.getByText("Parts it is.").first().waitFor();
  await actor.until(async () => (await chat.locator("textarea").inputValue()) === "half a thought", "the draft");
  await chat.getByText("And then rest.").first().waitFor();
  const removal = await actor.asked("rm -rf old");
  await actor.step("reloaded: transcript, draft, queue and question are there");
  await removal.getByRole("button", { name: "Allow Once" }).click();
  await chat.getByText("Rested.").first().waitFor();
  await actor.isIdle();
  await actor.step("went on where it stood");
}
