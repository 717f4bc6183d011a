// VS Code's own chat: the participant @agent-ls, and the tool that other chat participants can call. The user answers
// approvals in both chats, and reviews the changes in the editor.
// req: H20, H9, H12
import assert from "node:assert/strict";
import { actUntil } from "./driver.mjs";
import { play } from "./stage.mjs";

const TOOL = "agent-ls_edit";

await play(async (actor) => {
  await actor.workbench.openFile("stock.py");
  await actor.workbench.eval(registerModel);
  await actor.until(() => actor.workbench.eval(selectModel), "the model of VS Code's own chat");
  for (const part of [refuseTool, useTool, askParticipant, continueConversation, failTurn]) await part(actor);
}, { width: 1400, height: 850 });

/** Registers a language model without answers: VS Code's chat calls a participant only if there is a model. */
function registerModel(vscode) {
  const model = { id: "rig", name: "Rig", family: "rig", version: "1", maxInputTokens: 1000, maxOutputTokens: 1000, isUserSelectable: true, capabilities: { toolCalling: true } };
  globalThis.model = vscode.lm.registerLanguageModelChatProvider("rig", {
    provideLanguageModelChatInformation: () => [model],
    provideLanguageModelChatResponse: async () => undefined,
    provideTokenCount: async () => 1,
  });
}

async function selectModel(vscode) {
  const [model] = await vscode.lm.selectChatModels({ vendor: "rig" });
  if (model) await vscode.commands.executeCommand("workbench.action.chat.open", { modelSelector: { vendor: "rig" } });
  return model !== undefined;
}

/** Calls the tool as another extension does. `toolResult` reads the result. */
function callTool({ workbench }, task) {
  return workbench.eval((vscode, name, input) => {
    globalThis.toolResult = undefined;
    vscode.lm.invokeTool(name, { input, toolInvocationToken: undefined }).then(
      ({ content }) => { globalThis.toolResult = content.map(({ value }) => value).join("\n"); },
      (error) => { globalThis.toolResult = `refused: ${error.message}`; },
    );
  }, TOOL, { task });
}

function toolResult({ workbench, until }) {
  return until(() => workbench.eval(() => globalThis.toolResult), "the result of the tool");
}

/** Calls the tool, and answers the question that VS Code asks before it runs a tool. */
async function answerDialog({ page, step }, actor, task, button) {
  const dialog = page.getByRole("dialog", { name: "Give this task to agent-ls?" });
  await dialog.getByText(task).waitFor();
  await step.call(actor, `VS Code asks before the tool runs (${button})`);
  await dialog.getByRole("button", { name: button }).click();
  await dialog.waitFor({ state: "hidden" });
}

async function refuseTool(actor) {
  const tool = await actor.until(() => actor.workbench.eval((vscode, name) => vscode.lm.tools.find((each) => each.name === name), TOOL), "the tool to be listed");
  assert.deepEqual(tool.inputSchema.required, ["task"]);
  await callTool(actor, "Delete all.");
  await answerDialog(actor, actor, "Delete all.", "Cancel");
  assert.match(await toolResult(actor), /^refused: /);
}

/** The approval is given in the agent's own chat; the result names the changed file, and the change is decided there. */
async function useTool(actor) {
  const { workbench } = actor;
  await workbench.runCommand("agent-ls: Open Chat");
  await callTool(actor, "Sum without a list.");
  await answerDialog(actor, actor, "Sum without a list.", "Yes");
  const question = await actor.asked("Make this change?");
  await actor.step("the tool's change needs approval");
  await question.getByRole("button", { name: "Allow Once" }).click();
  assert.equal(await toolResult(actor), "The sum needs no list.\nmodify: stock.py +1 -1 (the user reviews it in the editor)");
  await actor.isIdle();
  await actor.decide("agent 1/1", "Keep");
  await actor.isDecided();
  assert.match(await workbench.text("stock.py"), /return sum\(stock\.values\(\)\)/);
}

/** Opens VS Code's own chat by its key, and sends a message. After an answer the input already has the participant. */
async function sendToChat({ page, workbench }, text) {
  const input = page.locator(".interactive-session .interactive-input-part .monaco-editor").first();
  await actUntil(() => page.keyboard.press("Control+Alt+i"), () => input.isVisible(), "VS Code's own chat");
  await workbench.clickFor(input, ".interactive-input-part");
  await page.keyboard.press("Control+End");
  await page.keyboard.insertText(text);
  await page.keyboard.press("Escape"); // closes the list of participants
  await page.keyboard.press("Enter");
}

/** The last answer of agent-ls in VS Code's own chat. */
function lastAnswer({ page }) {
  return page.locator(".interactive-session .interactive-response").last();
}

/** The approval is given in VS Code's own chat; a button there leads to the change. */
async function askParticipant(actor) {
  const { workbench } = actor;
  await sendToChat(actor, "@agent-ls List the names.");
  const answer = lastAnswer(actor);
  await answer.getByText("agent-ls asks to edit: stock.py").waitFor();
  await answer.locator(".interactive-result-code-block", { hasText: "return list(stock)" }).waitFor();
  await actor.step("the participant's change needs approval");
  await answer.getByRole("button", { name: "Allow Once" }).click();
  await answer.getByText("The names are a list.").waitFor();
  await answer.getByText("stock.py").first().waitFor({ state: "attached" });
  await actor.step("the participant's answer");
  await answer.getByRole("button", { name: "Review Changes" }).click();
  await actor.until(() => workbench.eval((vscode) => vscode.window.activeTextEditor?.selection.active.line === 8), "the cursor at the change");
  await actor.decide("agent 1/1", "Undo");
  await actor.isDecided();
  assert.match(await workbench.text("stock.py"), /return \[name for name in stock\]/);
}

/** The next message of the same chat goes to the same session. */
async function continueConversation(actor) {
  await sendToChat(actor, "And now?");
  await lastAnswer(actor).getByText("Nothing else.").waitFor();
  await actor.isIdle();
  const session = (await actor.chat()).locator("body");
  assert.match(await session.innerText(), /The names are a list\.[^]*Nothing else\./);
}

/** A failed turn shows its reason in VS Code's own chat. */
async function failTurn(actor) {
  await sendToChat(actor, "Fail.");
  await lastAnswer(actor).getByText("credit balance is too low").first().waitFor();
  await actor.step("a failure in VS Code's own chat");
}
