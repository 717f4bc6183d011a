// Failures and what the user can do about them: a refused API key, and a message that waits while the server starts.
// req: H9, H28
import assert from "node:assert/strict";
import { play } from "./stage.mjs";

await play(async (actor) => {
  await actor.workbench.openFile("stock.py");
  for (const part of [refused, mended, scrolled, picture]) await part(actor);
}, { width: 1100, height: 800 });

/** The first message is visible at once; its failure is one card with buttons. */
async function refused(actor) {
  await actor.workbench.runCommand("agent-ls: Open Chat");
  const chat = await actor.chat();
  await actor.say("Count the parts.");
  await chat.locator(".user", { hasText: "Count the parts." }).waitFor({ timeout: 2_000 });
  // Do not wait for the line "Starting agent-ls": a server that starts fast has answered before it can be seen.
  const trouble = chat.locator(".trouble");
  await chat.locator(".doing", { hasText: "Starting agent-ls" }).or(trouble).first().waitFor();
  await actor.step("the first message waits in sight");
  await trouble.getByRole("button", { name: "Set API Key…" }).waitFor();
  await actor.isIdle();
  await actor.step("a refused key");
  const words = await chat.locator("#transcript").innerText();
  assert.doesNotMatch(words, /agent\/\w+|Ended by an error|Session closed/);
  assert.equal(await trouble.count(), 1);
}

/** The user enters the right key by the card, and the message is sent again. */
async function mended(actor) {
  const { workbench } = actor;
  const chat = await actor.chat();
  await chat.locator(".trouble").getByRole("button", { name: "Set API Key…" }).click();
  await workbench.pick("Anthropic");
  await workbench.inputBox(await actor.ask("key"));
  await workbench.isNotified("is stored");
  await workbench.runCommand("Notifications: Clear All Notifications");
  await chat.locator(".trouble").getByRole("button", { name: "Retry" }).click();
  await chat.getByText("There are 12.").first().waitFor();
  await actor.isIdle();
  assert.equal(await chat.locator(".trouble").count(), 0, "nothing is left to do about it");
  assert.doesNotMatch(await chat.locator("#transcript").innerText(), /agent\/\w+/);
  await actor.step("the right key is used at once");
}

/** A user who has scrolled up and sends a message sees the message and its answer. */
async function scrolled(actor) {
  const chat = await actor.chat();
  await actor.say("Tell a long story.");
  await chat.getByText("line 120").first().waitFor();
  await actor.isIdle();
  await chat.locator("#transcript").evaluate((list) => { list.scrollTop = 0; });
  await chat.locator(".to-end").waitFor();
  await actor.say("And its end?");
  const sent = chat.locator(".user", { hasText: "And its end?" });
  await sent.waitFor();
  await actor.until(() => chat.locator("#transcript").evaluate((list) => list.scrollHeight - list.scrollTop - list.clientHeight < 40), "the end in sight");
  await chat.getByText("They lived on.").first().waitFor();
  await actor.isIdle();
  await actor.step("what was sent is in sight");
}

/** Attachments are shown with the message: a picture as an image, code as a chip. */
async function picture(actor) {
  const { workbench, page } = actor;
  const chat = await actor.chat();
  await workbench.eval((vscode) => { vscode.window.activeTextEditor.selection = new vscode.Selection(3, 0, 5, 0); });
  await workbench.runCommand("agent-ls: Add Selection to Chat");
  await chat.locator("#composer .chips li").first().waitFor();
  await chat.locator("textarea").evaluate((area) => {
    const bytes = Uint8Array.from(atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="), (char) => char.charCodeAt(0));
    const data = new DataTransfer();
    data.items.add(new File([bytes], "shot.png", { type: "image/png" }));
    area.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true }));
  });
  await chat.locator("#composer .chips img").first().waitFor();
  await actor.say("See this picture.");
  const sent = chat.locator(".user:not(.sending)", { hasText: "See this picture." });
  await sent.locator(".pictures img").first().waitFor();
  assert.match(await sent.locator(".chips").innerText(), /stock\.py:4-5/);
  assert.doesNotMatch(await sent.innerText(), /```|\/tmp\//);
  await sent.locator("summary").click();
  await sent.locator(".model-text", { hasText: "Selected in" }).waitFor();
  await actor.isIdle();
  await actor.step("a picture and code as attachments");
}
