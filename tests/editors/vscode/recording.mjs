// Records docs/images/vscode-demo.webp, from the prompt to the last kept change. tests/tools/recordings.py runs it.
import { play } from "./stage.mjs";

await play(async (actor) => {
  const { workbench, page, step, until } = bound(actor);
  await workbench.openFile("shop/cart.py");
  await workbench.runCommand("agent-ls: Start the Walkthrough Session");
  const chat = await actor.chat();
  await chat.locator(".badge", { hasText: "walkthrough" }).waitFor();
  await step("a session with the scripted model");
  await chat.locator("textarea").fill("The tests fail. Find out why and fix it.");
  await step("the prompt");
  await chat.locator("textarea").press("Enter");
  await allow(await actor.asked("Make this change?"), "asks before the first edit");
  await actor.lens("agent 1/1", "Keep").waitFor();
  await allow(await actor.asked("Run this command?"), "the change is a hunk, and a command is asked about");
  await allow(await actor.asked("Make this change?"), "asks before the second edit");
  await actor.lens("agent 1/2", "Keep").waitFor();
  await allow(await actor.asked("Run this command?"), "two hunks");
  await chat.getByText("All tests pass.").first().waitFor();
  await actor.isIdle();
  await step("all tests pass");
  await actor.decide("agent 1/2", "Keep");
  await actor.lens("agent 1/1", "Keep").waitFor();
  await step("one kept");
  await actor.decide("agent 1/1", "Keep");
  await until(async () => (await page.locator(".codelens-decoration a", { hasText: "Keep" }).count()) === 0, "no change to be left");
  await step("both kept");

  async function allow(question, what) {
    const button = question.getByRole("button", { name: "Allow Once" });
    await button.scrollIntoViewIfNeeded();
    await step(what);
    await button.click();
    await page.mouse.move(700, 550); // otherwise the next picture has a tooltip
  }
}, { width: 1100, height: 680 });

function bound(actor) {
  return { workbench: actor.workbench, page: actor.page, until: actor.until, step: (what) => actor.step(what) };
}
