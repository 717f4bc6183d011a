// A session that another editor owns: followed read-only, taken over with its pending approval, lost to the other editor,
// and taken over by force.
// req: H9, R4
import assert from "node:assert/strict";
import { play } from "./stage.mjs";

await play(async (actor) => {
  await actor.workbench.openFile("stock.py");
  await actor.workbench.runCommand("Agent LS: Focus on Sessions View");
  for (const part of [read, take, lose, force]) await part(actor);
});

/** The window shows the session of the other editor, and cannot change it. */
async function read(actor) {
  const { page } = actor;
  const row = page.locator(".pane-body .monaco-list-row", { hasText: "in another window" }).first();
  await row.click();
  const chat = await actor.chat();
  await chat.getByText("It is tidy.").first().waitFor();
  await isReadOnly(actor);
  await chat.getByText("1 change in 1 file").first().waitFor();
  assert.equal(await chat.getByRole("button", { name: "Keep" }).count(), 0, "its owner keeps");
  assert.deepEqual(await lenses(actor), [], "what is not saved there is not in the file here");
  await actor.step("read only");
  await actor.ask("neovim", "say", "Make a mark.");
  await actor.ask("neovim", "isAsked");
  await chat.getByText("I make a mark.").first().waitFor();
  const question = await actor.asked("touch made");
  assert.equal(await question.getByRole("button").count(), 0, "its owner decides");
  await actor.step("its owner is asked");
}

async function take(actor) {
  const chat = await actor.chat();
  await chat.getByRole("button", { name: "Take Over" }).click();
  await isOurs(actor);
  const question = await actor.asked("touch made");
  await question.getByRole("button", { name: "Allow Once" }).waitFor();
  await actor.until(async () => (await actor.workbench.text("stock.py")).includes("sum(stock.values())"), "what the owner has saved");
  await actor.lens("agent 1/1", "Keep").waitFor();
  await actor.step("taken over with what it asks");
  await actor.ask("neovim", "isReader");
  await question.getByRole("button", { name: "Allow Once" }).click();
  await chat.getByText("The mark is made.").first().waitFor();
  await actor.isIdle();
  await actor.say("Say it to the window.");
  await chat.getByText("Said to the window.").first().waitFor();
  await actor.ask("neovim", "see", "Said to the window.");
  await actor.isIdle();
  await actor.step("it goes on here");
}

/** Neovim takes the session over again. */
async function lose(actor) {
  const chat = await actor.chat();
  await chat.locator("textarea").fill("half a thought");
  await actor.ask("neovim", "takeOver");
  await isReadOnly(actor);
  await chat.getByText("Read-only: owned by Neovim").first().waitFor();
  const isMarkedOnly = (text) => /agent 1\/1 · \+1 −1/.test(text) && !/Keep|Undo/.test(text);
  await actor.until(async () => isMarkedOnly(await lenses(actor)), "the change to be marked, and its buttons to go");
  await actor.ask("neovim", "say", "Say it to Neovim.");
  await chat.getByText("Said to Neovim.").first().waitFor();
  await actor.step("lost to another editor, and read on");
}

/** Neovim's server does not answer, so the user forces the take-over. */
async function force(actor) {
  const { page } = actor;
  const chat = await actor.chat();
  const [, pid] = /owned by Neovim \(process (\d+)/.exec(await chat.locator("body").innerText());
  await actor.ask("stop", Number(pid));
  await chat.getByRole("button", { name: "Take Over" }).click();
  const dialog = page.locator(".monaco-dialog-box");
  await dialog.getByText(`process ${pid}`).first().waitFor();
  await actor.step("it does not answer");
  await dialog.locator(".monaco-button", { hasText: "Cancel" }).first().click();
  await isReadOnly(actor);
  await chat.getByRole("button", { name: "Take Over" }).click();
  await dialog.locator(".monaco-button", { hasText: "Take It by Force" }).first().click();
  await isOurs(actor);
  assert.equal(await chat.locator("textarea").inputValue(), "half a thought", "what was written meanwhile");
  await actor.say("Say it by force.");
  await chat.getByText("Said by force.").first().waitFor();
  await actor.ask("goOn");
  await actor.ask("neovim", "isReader");
  await actor.ask("neovim", "see", "Said by force.");
  await actor.decide("agent 1/1", "Keep");
  await actor.isDecided();
  await actor.step("taken by force");
}

/** Returns the buttons above the lines of the file. */
function lenses({ workbench }) {
  return workbench.eval(async (vscode) => {
    const { uri } = vscode.workspace.textDocuments.find((document) => document.uri.path.endsWith("/stock.py"));
    return (await vscode.commands.executeCommand("vscode.executeCodeLensProvider", uri)).map(({ command }) => command.title);
  });
}

async function isReadOnly(actor) {
  const chat = await actor.chat();
  await chat.locator(".badge", { hasText: "read only" }).waitFor();
  assert.equal(await chat.locator("textarea").isDisabled(), true);
}

async function isOurs(actor) {
  const chat = await actor.chat();
  await chat.locator(".badge", { hasText: "read only" }).waitFor({ state: "hidden" });
  assert.equal(await chat.locator("textarea").isDisabled(), false);
}
