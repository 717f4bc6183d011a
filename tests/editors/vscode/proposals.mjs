// A proposed change can be read before it is applied: in the chat, behind the lines in the editor, and in a diff editor.
// req: H6, H9
import assert from "node:assert/strict";
import { play } from "./stage.mjs";

await play(async (actor) => {
  await actor.workbench.openFile("stock.py");
  await actor.newSession();
  for (const part of [accepted, rejected, created, removed]) await part(actor);
}, { width: 1280, height: 850 });

async function card(actor, text) {
  const found = (await actor.chat()).locator(".file", { hasText: text }).last();
  await found.waitFor();
  return found;
}

async function accepted(actor) {
  const { workbench } = actor;
  await actor.say("Tidy the count.");
  const proposal = await card(actor, "waits for you");
  assert.match(await proposal.locator(".diff").innerText(), /-\s*return sum\(list[\s\S]*\+\s*return sum\(stock\.values/);
  await actor.until(async () => (await actor.behindLines()).some((text) => text.includes("→ return sum(stock.values())")), "what is proposed behind the line");
  const chat = await actor.chat();
  await chat.getByRole("button", { name: "Accept All" }).waitFor();
  assert.equal(await chat.getByRole("button", { name: "Keep All" }).count(), 0, "one word for one thing");
  await actor.step("proposed");
  await proposal.getByRole("button", { name: "Compare" }).click();
  await actor.page.locator(".monaco-diff-editor").first().waitFor();
  const columns = await actor.until(() => workbench.eval((vscode) => {
    const sides = vscode.window.visibleTextEditors.filter(({ document }) => /stock\.py/.test(document.uri.path));
    return sides.length > 1 && sides.map(({ viewColumn }) => viewColumn ?? null);
  }), "both sides");
  assert.deepEqual(columns, [null, null], "sides of a comparison are known by that: no marks of ours are painted there");
  await actor.step("compared");
  await workbench.eval((vscode) => vscode.commands.executeCommand("workbench.action.closeActiveEditor"));
  await proposal.getByRole("button", { name: /^Accept/ }).click();
  await chat.getByText("It is tidy.").first().waitFor();
  await actor.isIdle();
  assert.equal(await chat.locator(".file").count(), 1, "it is told once");
  await chat.locator(".file").getByText("accepted").waitFor();
  assert.ok((await workbench.text("stock.py")).includes("return sum(stock.values())"));
  await actor.step("accepted in the chat");
}

async function rejected(actor) {
  const chat = await actor.chat();
  await actor.say("Tidy the names.");
  const proposal = await card(actor, "waits for you");
  await proposal.getByRole("button", { name: /^Reject/ }).click();
  await chat.getByText("As you like.").first().waitFor();
  await actor.isIdle();
  await chat.locator(".file").last().getByText("rejected").waitFor();
  assert.match(await actor.workbench.text("stock.py"), /\[name for name in stock\]/);
  await actor.step("rejected in the chat");
}

/** A proposed new file is shown with its content, without a comparison and without removed lines. */
async function created(actor) {
  const { page } = actor;
  await actor.say("Add a test.");
  const proposal = await card(actor, "test_stock.py");
  await proposal.getByRole("button", { name: "Compare" }).click();
  await page.locator(".tab.active", { hasText: "(proposed)" }).waitFor();
  await page.locator(".editor-group-container.active .view-line", { hasText: "assert True" }).first().waitFor();
  assert.equal(await page.locator(".monaco-diff-editor").count(), 0);
  await actor.step("a new file compared");
  await proposal.getByRole("button", { name: /^Accept/ }).click();
  await (await actor.chat()).getByText("It is tested.").first().waitFor();
  await actor.isIdle();
}

/** Lines that a proposal would remove are marked as such. */
async function removed(actor) {
  await actor.workbench.openFile("stock.py");
  await actor.say("Drop the names.");
  await card(actor, "waits for you");
  await actor.until(async () => (await actor.behindLines()).some((text) => text.includes("→ would be removed")), "the lines that would go");
  await actor.step("lines that would go");
}
