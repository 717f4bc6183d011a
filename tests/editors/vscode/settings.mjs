// Settings: those of a project are ignored, before and after it is trusted. Changes of the user's settings take effect.
// req: H2, H9
import assert from "node:assert/strict";
import { atNarrowWidths } from "./chat_rig.mjs";
import { play } from "./stage.mjs";

await play(async (actor) => {
  await actor.workbench.openFile("stock.py");
  for (const part of [untrusted, trusted, open, begun, takenBack]) await part(actor);
  const starts = Object.values(actor.workbench.server.logs()).join("\n").match(/\bstarting \S*agent-ls\b/g);
  assert.equal(starts?.length, 1, "one server for all of it");
});

/** In an untrusted folder nothing is started, even if the project's settings request it. */
async function untrusted(actor) {
  await isRead(actor, 42);
  await actor.workbench.runCommand("agent-ls: Open Chat");
  await offersTrust(actor);
  await actor.say("Hello?");
  await (await actor.chat()).getByText("This folder is not trusted").first().waitFor();
}

/** Before anything is sent, the chat displays one card with a button that opens VS Code's page of workspace trust. */
async function offersTrust(actor) {
  const { page } = actor;
  const card = (await actor.chat()).locator("article.trouble", { hasText: "This folder is not trusted" });
  await card.waitFor();
  assert.equal(await card.count(), 1);
  await atNarrowWidths(actor, "an untrusted folder");
  await card.getByRole("button", { name: "Manage Trust…", exact: true }).click();
  await page.locator(".workspace-trust-editor").getByRole("button", { name: "Trust", exact: true }).waitFor();
}

/** The model chip displays the model of the session. A click on it opens the list of models, which has this model. */
async function modelChip(actor) {
  const chat = await actor.chat();
  const chip = chat.locator("button.model");
  const name = (await chip.innerText()).trim();
  assert.notEqual(name, "Model", "the chip names the model");
  await chip.click();
  await chat.locator(".picker .menu li", { hasText: name }).first().waitFor();
  await actor.step("the list of models");
  await actor.page.keyboard.press("Escape");
  await chat.locator(".picker .menu li").first().waitFor({ state: "hidden" });
}

/** Without a session, the chat displays the mode of the user's settings, also after a change. */
async function nextMode(actor) {
  for (const [given, shown] of [["plan", "plan"], [undefined, "ask"]]) {
    await set(actor, { mode: given });
    await actor.until(async () => (await mode(actor)) === shown, `the mode ${shown} of the next session`);
  }
}

async function trusted(actor) {
  const { workbench } = actor;
  await actor.trust();
  const chat = await actor.chat();
  await chat.getByText("This folder is not trusted").waitFor({ state: "hidden" });
  await workbench.openFile("stock.py");
  await nextMode(actor);
  await actor.newSession();
  await denies(actor, "As you like.");
  await modelChip(actor);
  await actor.step("a trusted project has no say in it either");
}

/** An open session takes over some changed settings, and keeps those with which it began. */
async function open(actor) {
  await set(actor, { userInstructions: "Say parts.", providers: { anthropic: { baseUrl: await actor.ask("otherAddress") } }, mode: "edits", review: "before", model: "of-the-user" });
  await actor.say("And now?");
  await (await actor.chat()).getByText("Said at the other address.").first().waitFor();
  await actor.isIdle();
  assert.equal(await mode(actor), "ask", "what a session began with stays its own");
}

/** A new session begins with the changed settings. */
async function begun(actor) {
  const { workbench, page } = actor;
  await workbench.runCommand("agent-ls: New Session");
  // The user can type at once, also before the new session is created.
  const prompt = (await actor.chat()).locator("textarea");
  await (await actor.chat()).locator("textarea:focus").waitFor();
  await page.keyboard.type("Tidy the count.");
  await actor.until(async () => (await mode(actor)) === "edits", "the mode of a new session");
  assert.equal(await prompt.inputValue(), "Tidy the count.");
  await page.keyboard.press("Enter");
  await actor.lens("agent 1/1", "Accept").waitFor();
  assert.match(await workbench.text("stock.py"), /list\(/, "it is proposed, and nothing was asked");
  await actor.step("proposed without a question");
  await set(actor, { codeLens: false });
  await actor.until(async () => (await page.locator(".codelens-decoration").count()) === 0, "the buttons to go");
  await set(actor, { codeLens: undefined });
  await actor.decide("agent 1/1", "Accept");
  await (await actor.chat()).getByText("It is tidy.").first().waitFor();
  await actor.isIdle();
}

/** After the user removes the settings, the defaults apply again, not the settings of the project. */
async function takenBack(actor) {
  await actor.ask("projectSays", 43);
  await isRead(actor, 43);
  await set(actor, { mode: undefined, review: undefined, model: undefined, userInstructions: undefined });
  await actor.workbench.runCommand("agent-ls: New Session");
  await actor.until(async () => (await mode(actor)) === "ask", "the mode of a new session");
  await denies(actor, "As you like it.");
  await actor.step("taken back");
}

/** Changes settings as the settings editor does, in the settings of the machine where the extension runs. */
async function set(actor, values) {
  for (const [name, value] of Object.entries(values)) {
    await actor.workbench.eval((vscode, key, to) => vscode.workspace.getConfiguration("agentLs").update(key, to ?? undefined, vscode.ConfigurationTarget.Global), name, value);
  }
}

/** Waits until the editor has read the project's current settings. */
async function isRead(actor, ruler) {
  await actor.until(() => actor.workbench.eval((vscode, column) => vscode.workspace.getConfiguration("editor").get("rulers").includes(column), ruler), "the settings of the project to be read");
}

async function denies(actor, answer) {
  await actor.say("Make a mark.");
  const question = await actor.asked("touch made");
  await question.getByRole("button", { name: "Deny" }).click();
  await (await actor.chat()).getByText(answer, { exact: true }).first().waitFor();
  await actor.isIdle();
}

async function mode(actor) {
  return (await actor.chat()).locator("select[aria-label=Mode]").inputValue();
}
