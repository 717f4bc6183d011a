// Programs that are difficult to run, in terminals of the window: the user sees their output, types into them and stops
// them. The Python test checks the results that the model received.
// req: H5, H9, H17
import assert from "node:assert/strict";
import { play } from "./stage.mjs";

const AGAIN_MS = 1_000; // time limit of a click; the card disappears when it is answered, then check again
const KEYS = { "\r": "Enter", "\x04": "Control+d", "\x03": "Control+c" };

await play(async (actor) => {
  const { workbench, page } = actor;
  await workbench.openFile("stock.py");
  await actor.newSession();
  const chat = await actor.chat();
  await actor.say("go");
  const programs = await actor.ask("programs");
  let seen = 0;
  for (const [at, program] of programs.entries()) {
    for (const keys of program.keys) {
      await allowedUntil(actor, () => waits(chat), `${program.name} to wait for input`);
      if (seen === 0) await show(actor);
      await type(actor, keys);
      seen += 1;
      await allowedUntil(actor, async () => !(await waits(chat)) || (await actor.ask("isTold", at)), `${program.name} to take what is typed`);
      if (seen === 1) await actor.step("a prompt answered in its terminal");
    }
    await allowedUntil(actor, () => actor.ask("isTold", at), `the end of ${program.name}`);
    await actor.ask("check", at);
  }
  await chat.getByText("All done.").first().waitFor();
  await actor.until(async () => (await workbench.terminalText()).includes("[exit 3"), "the last command's end in the terminal");
  assert.match(await workbench.terminalText(), /out\nerr\n/);
  assert.equal(await page.locator(".terminal-wrapper").count(), 1, "one terminal for all that runs one after the other");
  await actor.step("all of them ran in one terminal");
});

async function waits(chat) {
  return (await chat.locator(".tool .outcome", { hasText: "waits for your input" }).count()) > 0;
}

/** Allows all requests until the condition is true. Some of the programs need approval in every mode. */
async function allowedUntil(actor, condition, what) {
  const chat = await actor.chat();
  await actor.until(async () => {
    const allow = chat.locator(".approval.pending").getByRole("button", { name: "Allow Once" });
    if ((await allow.count()) > 0) await allow.first().click({ timeout: AGAIN_MS }).catch(() => undefined);
    return condition();
  }, what);
}

/** Opens the terminal by its notification, which does not take the focus. */
async function show(actor) {
  const { workbench, page } = actor;
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "IFRAME", "the focus stays in the chat");
  await workbench.answerNotification("a command waits for your input", "Show Terminal");
  await actor.until(async () => (await workbench.terminalText()).includes("Password:"), "the command's terminal");
  await actor.step("a command that waits, in its terminal");
}

async function type(actor, keys) {
  const { page } = actor;
  await actor.workbench.clickIntoTerminal();
  for (const key of keys) await (key in KEYS ? page.keyboard.press(KEYS[key]) : page.keyboard.type(key));
}
