// The display of commands, answers and costs in a conversation, and the keyboard focus after an answer.
// req: H9
import assert from "node:assert/strict";
import { play } from "./stage.mjs";

await play(async (actor) => {
  await actor.workbench.openFile("stock.py");
  await actor.newSession();
  for (const part of [command, markdown, costs, fileLink, ownCommand, focusAfterAnswers]) await part(actor);
}, { width: 1100, height: 800 });

/** A slash command is displayed as it was typed. Its prompt for the model is collapsed. */
async function command(actor) {
  const { workbench, page } = actor;
  const chat = await actor.chat();
  await workbench.eval((vscode) => { vscode.window.activeTextEditor.selection = new vscode.Selection(4, 0, 4, 0); });
  await chat.locator("#composer textarea").click();
  await page.keyboard.type("/expl");
  await chat.locator(".menu li", { hasText: "/explain" }).waitFor();
  await page.keyboard.press("Enter");
  await page.keyboard.type("the sum");
  await page.keyboard.press("Enter");
  const sent = chat.locator(".user:not(.sending)", { hasText: "/explain the sum" });
  await sent.waitFor();
  await chat.locator("article.text table").waitFor();
  await actor.isIdle();
  assert.doesNotMatch(await sent.innerText(), /Explain what is named above|```/);
  await sent.locator("summary").click();
  await sent.locator(".model-text", { hasText: "Explain what is named above" }).waitFor();
  await sent.locator("summary").click();
  await actor.step("a slash command and its answer");
}

/** Tables wrap between words only, tasks have boxes, and added lines of a diff are green. */
async function markdown(actor) {
  const chat = await actor.chat();
  const answer = chat.locator("article.text").last();
  assert.deepEqual(await answer.locator("table").evaluate(brokenWords), [], "words of table cells on more than one line");
  assert.equal(await answer.locator("li.task").count(), 2);
  assert.doesNotMatch(await answer.innerText(), /\[[x ]\]/);
  await answer.locator(".hljs-addition").first().waitFor();
  const [red, green, blue] = await answer.locator(".hljs-addition").first().evaluate((line) => {
    const context = document.createElement("canvas").getContext("2d");
    context.fillStyle = getComputedStyle(line).color;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  });
  assert.ok(green > red && green > blue, `added lines are green, not rgb(${red}, ${green}, ${blue})`);
}

/** A renamed file is one line, and a narrow prompt has a placeholder that fits. */
async function isReadable(chat) {
  const head = chat.locator(".file .head", { hasText: "Renamed" });
  const { height } = await head.boundingBox();
  assert.ok(height < 40, `the row of the renamed file is ${height} px high`);
  const placeholder = await chat.locator("#composer textarea").getAttribute("placeholder");
  assert.equal(placeholder, "What should change?  (@ /)");
}

/** Returns the words of an element that are broken across lines. */
function brokenWords(table) {
  const walker = document.createTreeWalker(table, NodeFilter.SHOW_TEXT);
  const broken = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) broken.push(word);
    }
  }
  return broken;
}

/** The chat and the status bar display the same cost. */
async function costs(actor) {
  const chat = await actor.chat();
  const shown = (await chat.locator(".meter .spent").textContent()).replace("· ", "");
  assert.match(shown, /^<?\$\d/);
  const bar = actor.page.locator(".statusbar-item", { hasText: "agent-ls" }).first();
  await actor.until(async () => (await bar.innerText()).includes(shown), `the status bar to display ${shown}`);
}

/** A link with a range of lines selects these lines. Code that names a file and a line is such a link. */
async function fileLink(actor) {
  const { workbench } = actor;
  const answer = (await actor.chat()).locator("article.text").last();
  const selected = () => workbench.eval((vscode) => {
    const { document, selection } = vscode.window.activeTextEditor;
    return document.getText(selection);
  });
  await answer.locator("a", { hasText: "its two functions" }).click();
  await actor.until(async () => /^def count\(stock\):\n {4}return .*$/.test(await selected()), "the lines of the link");
  await answer.locator("a", { hasText: "stock.py:12" }).click();
  await actor.until(() => workbench.eval((vscode) => vscode.window.activeTextEditor.selection.active.line === 11), "the line of the code");
  await actor.step("a link to lines");
}

/** The user's own command runs without another question, and the transcript names the command that ran. */
async function ownCommand(actor) {
  const { page } = actor;
  const chat = await actor.chat();
  await actor.say("Move it.");
  const asked = await actor.asked("Run this command?");
  await asked.getByRole("button", { name: "More Answers" }).click();
  await asked.getByRole("menuitem", { name: "Run Another Command Instead" }).click();
  await asked.locator("textarea.command").fill("mv parts.txt nuts.txt && rm -f old.txt");
  await asked.getByRole("button", { name: "Run This Instead" }).click();
  await chat.getByText("It is moved.").first().waitFor();
  await actor.isIdle();
  assert.equal(await actor.ask("questions"), 1, "the user's own command is not asked about");
  const log = await chat.locator(".approval.done").last().innerText();
  assert.match(log, /Ran your command instead: mv parts\.txt nuts\.txt/);
  assert.doesNotMatch(log, /old name/);
  assert.equal(await page.locator(".notification-list-item").count(), 0);
  await isReadable(chat);
  await actor.step("the command of the user");
}

/** After an answer by keys the focus is in the next question, or in the prompt. */
async function focusAfterAnswers(actor) {
  const { page } = actor;
  const chat = await actor.chat();
  const focused = () => chat.evaluate(() => {
    const active = document.activeElement;
    return active?.closest(".approval.pending") ? "question" : active?.closest("#composer") ? "prompt" : active?.tagName;
  });
  await actor.say("Clear up.");
  for (const name of ["bolts.txt", "nuts.txt"]) {
    const asked = await actor.asked(`rm ${name}`);
    await asked.getByRole("button", { name: "Deny", exact: true }).focus();
    await page.keyboard.press("Enter");
    await asked.waitFor({ state: "hidden" });
    assert.ok(["question", "prompt"].includes(await focused()), `the keyboard is in ${await focused()}`);
  }
  await chat.getByText("They stay.").first().waitFor();
  await actor.isIdle();
  assert.equal(await focused(), "prompt");
  await page.keyboard.type("More");
  assert.equal(await chat.locator("#composer textarea").inputValue(), "More");
  await chat.locator("#composer textarea").fill("");
}
